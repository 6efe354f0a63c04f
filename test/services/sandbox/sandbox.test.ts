/** The fence around shell commands, with the real bubblewrap. Skipped, visibly, where it is not. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SandboxPolicy, sandboxState } from '../../../services/sandbox/sandbox.ts';
import { builtInTools } from '../../../services/tools/built-in.ts';
import type { ToolContext } from '../../../services/tools/tool.ts';
import { SessionToolState } from '../../../src/session.ts';

const found = await sandboxState();
const bash = builtInTools().find(({ name }) => name === 'Bash');

describe.skipIf(!found.isThere)('a fenced command (needs bubblewrap)', () => {
  let root: string;
  let work: string;
  const state = new SessionToolState();

  beforeAll(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'fence-')));
    work = join(root, 'work');
    await mkdir(join(work, '.git/hooks'), { recursive: true });
    await mkdir(join(work, '.claude'));
    await mkdir(join(work, 'sub'));
    await writeFile(join(work, '.git/config'), '[core]\n');
    await writeFile(join(root, 'secret'), 'do-not-show');
    await mkdir(join(root, 'keys'));
    await writeFile(join(root, 'keys/id'), 'do-not-show');
  });
  afterAll(async () => {
    await state.dispose();
    await rm(root, { recursive: true, force: true });
  });

  async function run(command: string, more: Partial<SandboxPolicy> = {}, cwd = work) {
    let moved = cwd;
    const context: ToolContext = {
      ...{ sessionId: 's', toolUseId: 't', idempotencyKey: 'k', cwd, additionalDirectories: [] },
      setCwd: (to) => {
        moved = to;
      },
      ...{ resultsFolder: join(root, 'results'), signal: new AbortController().signal },
      ...{ env: process.env, state, progress: () => {} },
      sandbox: { isRequired: true, hasNetwork: false, writable: [work], hidden: [], ...more },
    };
    const output = await bash?.call({ command }, context);
    return { text: String(output?.content), isError: output?.isError === true, moved };
  }

  it('runs, writes where it works and into a temporary folder that stays for the session', async () => {
    const first = await run('echo in > inside && echo tmp > /tmp/kept && cd sub && pwd');
    expect(first).toMatchObject({ isError: false, moved: join(work, 'sub') });
    expect(await readFile(join(work, 'inside'), 'utf8')).toBe('in\n');
    expect((await run('cat /tmp/kept')).text).toContain('tmp');
    // From a folder below, the whole of the session's folder is still there to be written.
    expect((await run('echo x > ../again', {}, join(work, 'sub'))).isError).toBe(false);
  });

  it.each([
    ['the real temporary folder', () => `ls ${root}/secret && echo x > ${root}/secret`],
    ['a hook of git', () => 'echo x > .git/hooks/pre-commit'],
    ['the configuration of git', () => 'echo x > .git/config'],
    ['the folder of git, put aside', () => 'mv .git old'],
    ['settings', () => 'echo {} > .claude/settings.json'],
    ['the folder of settings, put aside', () => 'mv .claude old'],
    ['a mount', () => 'mount -t tmpfs none sub'],
  ])('cannot change %s', async (_, command) => {
    expect((await run(command())).isError).toBe(true);
    expect(await readFile(join(work, '.git/config'), 'utf8')).toBe('[core]\n');
    expect(await readFile(join(root, 'secret'), 'utf8')).toBe('do-not-show');
  });

  it('does not see what other processes were started with', async () => {
    const others = spawn('sleep', ['60'], { env: { ...process.env, A_KEY: 'key-of-another' } });
    try {
      const own = 'cat /proc/self/environ | tr "\\0" "\\n" | head -c 1';
      const all = 'cat /proc/*/environ | tr "\\0" "\\n"; ls -d /proc/[0-9]*';
      expect((await run(own)).isError).toBe(false);
      const { text } = await run(
        `${all}; cat /proc/$PPID/environ; cat /proc/${others.pid}/environ`,
      );
      expect(text).not.toContain('key-of-another');
      expect(text).not.toContain(`/proc/${others.pid}\n`);
      expect(text).toMatch(/\/proc\/1\b/);
    } finally {
      others.kill('SIGKILL');
    }
  });

  it('leaves nothing beside the folder, nor elsewhere', async () => {
    await run(
      `echo x > ${root}/beside; echo x > /etc/escapement-test; echo x > ~/.escapement-test`,
    );
    const places = [
      join(root, 'beside'),
      '/etc/escapement-test',
      `${process.env.HOME}/.escapement-test`,
    ];
    expect(places.filter((path) => existsSync(path))).toEqual([]);
  });

  it('sees neither what is hidden nor other processes', async () => {
    const hidden = [join(root, 'keys'), join(root, 'secret'), join(root, 'not-there')];
    // The whole of the temporary folder is another one inside, so it is shown on purpose here.
    const { text } = await run(`cat ${root}/keys/id ${root}/secret; ls /proc`, {
      ...{ hidden, writable: [work, root] },
    });
    expect(text).not.toContain('do-not-show');
    expect(text.split('\n')).not.toContain(String(process.pid));
  });

  it('reaches a server only where the network is on', async () => {
    const server = createServer((_, response) => response.end('reached'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const ask = `exec 9<>/dev/tcp/127.0.0.1/${port} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&9 && cat <&9`;
    expect((await run(ask)).text).not.toContain('reached');
    expect((await run(ask, { hasNetwork: true })).text).toContain('reached');
    server.close();
  });

  it('ends at its timeout, with all that it has started', async () => {
    const marker = `sleep 4${process.pid}`;
    const context = { command: `${marker} & ${marker}`, timeout: 300 };
    const base = {
      ...{ sessionId: 's', toolUseId: 't', idempotencyKey: 'k', cwd: work },
      ...{ additionalDirectories: [], setCwd: () => {}, resultsFolder: join(root, 'results') },
      ...{ signal: new AbortController().signal, env: process.env, state, progress: () => {} },
      sandbox: { isRequired: true, hasNetwork: false, writable: [work], hidden: [] },
    };
    expect(String((await bash?.call(context, base))?.content)).toContain('Timed out');
    const alive = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
    expect(alive.split('\n').filter((line) => line.trim() === marker)).toEqual([]);
  });
});

it.runIf(!found.isThere)('says why there is no sandbox here', () => {
  expect(found).toMatchObject({ isThere: false, why: expect.stringMatching(/\w/) });
});
