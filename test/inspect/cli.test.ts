/** `--inspect` and `escapement inspect`, as processes. */
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { callTool, say } from '../../src/testing/replies.ts';
import { type CliBox, type CliProcess, openCliBox } from '../tools/cli.ts';
import { openPage } from './page.ts';

let box: CliBox;
afterEach(() => box?.close());

const ADDRESS = /http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\//;

/** Its first words, on whichever stream they come. */
async function addressOf(run: CliProcess): Promise<string> {
  run.read();
  const { child } = run;
  let text = '';
  return new Promise((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (part: string) => {
        text += part;
        const [url] = ADDRESS.exec(text) ?? [];
        if (url !== undefined) resolve(url);
      });
    }
  });
}

/** Long enough for a process that has nothing to do to be over. */
const nextTurns = () => new Promise((resolve) => setTimeout(() => resolve('it lives'), 1_000));

it('says where to look; a page that stays open hears the end and keeps nobody alive', async () => {
  box = await openCliBox({
    replies: [callTool('Bash', { command: 'sleep 1' }), say('all is well')],
  });
  const run = box.start(['--inspect', '-p', 'do it', '--dangerously-skip-permissions']);
  const url = await addressOf(run);
  const page = openPage(url);
  run.end('');
  const { code } = await run.ended;
  expect(code).toBe(0);
  await page.ended;
  expect(page.all('message').at(-1)).toMatchObject({ effect: 'ends' });
  expect(page.all('instance').at(-1)).toMatchObject({ status: 'done', reason: 'completed' });
  page.close();
}, 40_000);

it('a run that is held lives, however little is left to do, and ends when it is let go', async () => {
  box = await openCliBox({
    replies: [callTool('Bash', { command: 'sleep 2' }), say('all is well')],
  });
  const args = ['--inspect', '--inspect-control', '-p', 'do it', '--dangerously-skip-permissions'];
  const run = box.start(args);
  const url = await addressOf(run);
  const page = openPage(url);
  run.end('');
  const { origin, pathname } = new URL(url);
  const command = async (what: 'hold' | 'go') => {
    const answer = await fetch(`${url}command`, {
      method: 'POST',
      headers: {
        ...{ origin, 'content-type': 'application/json', connection: 'close' },
        'x-inspector-token': pathname.split('/')[1] ?? '',
      },
      body: JSON.stringify({ do: what }),
    });
    expect(await answer.json()).toEqual({ ok: true });
  };
  await page.until(() => page.all('service').some(({ name }) => name === 'toolExecutor'));
  await command('hold');
  // The command has ended, its answer waits to be heard, and nothing else is under way.
  await page.until(() => (page.controls.at(-1)?.held?.waiting.length ?? 0) > 0);
  expect(await Promise.race([run.ended, nextTurns()])).toBe('it lives');
  await command('go');
  expect(await run.ended).toMatchObject({ code: 0, stdout: 'all is well\n' });
  page.close();
}, 40_000);

it('the prompt after --inspect is the prompt, and stdout belongs to the messages', async () => {
  box = await openCliBox({ replies: [say('four')] });
  const run = await box.run(['--inspect', 'two and two', '-p']);
  expect(run).toMatchObject({ code: 0, stdout: 'four\n' });
  expect(run.stderr).toMatch(/^escapement: inspector: http/);
  expect(JSON.stringify(box.server.requests[0]?.body.messages)).toContain('two and two');
}, 40_000);

it('a port that is taken, and a flag that misses another, are said before anything runs', async () => {
  box = await openCliBox({ replies: [] });
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as AddressInfo;
  const run = await box.run([`--inspect=${port}`, '-p', 'x']);
  taken.close();
  expect(run).toMatchObject({ code: 2, stdout: '' });
  expect(run.stderr).toContain(`127.0.0.1:${port} (EADDRINUSE): name another port`);
  const other = await box.run(['--inspect-control', '-p', 'x']);
  expect(other.stderr).toContain('need --inspect');
  expect(box.server.requests).toEqual([]);
}, 40_000);

it('escapement inspect: the newest session, one by the begin of its id, a recording, an export', async () => {
  box = await openCliBox({ replies: [say('first'), say('second')] });
  const none = await box.run(['inspect']);
  expect(none).toMatchObject({ code: 2, stdout: '' });
  expect(none.stderr).toMatch(/there is no session of .*: run escapement here first/);
  await box.run(['-p', 'one']);
  await box.run(['-p', 'two']);
  const listed = await box.run(['inspect', '--all']);
  expect(
    listed.stdout
      .trim()
      .split('\n')
      .map((line) => line.split('  ').at(-1)),
  ).toEqual(['two', 'one']);
  const older = listed.stdout.trim().split('\n')[1]?.split(' ')[0] ?? '';
  const file = path.join(box.home, 'one.jsonl');
  const exported = await box.run(['inspect', older.slice(0, 8), '--export', file]);
  expect(exported).toMatchObject({ code: 0, stdout: `${file}\n`, stderr: '' });
  expect(readFileSync(file, 'utf8')).toContain('first');
  for (const words of [[], [file]]) {
    const served = box.start(['inspect', ...words]);
    const page = openPage(await addressOf(served));
    await page.ended;
    expect(page.all('message').map(({ gist }) => gist)).toContain(
      words.length > 0 ? 'first' : 'second',
    );
    expect((await page.hello()).source).toBe(words.length > 0 ? 'recording' : 'journal');
    page.close();
    served.child.kill('SIGINT');
    expect((await served.ended).code).toBe(0);
  }
  const whole = readFileSync(file, 'utf8');
  writeFileSync(file, whole.slice(0, -20));
  const cut = await box.run(['inspect', file, '--export', path.join(box.home, 'cut.html')]);
  expect(cut).toMatchObject({ code: 0 });
  expect(cut.stderr).toBe(
    `escapement: ${file}: was cut: what came after its last whole line is not shown\n`,
  );
  writeFileSync(file, '{"no":"recording"}\n');
  const wrong = await box.run(['inspect', file]);
  expect(wrong.stderr).toContain(`${file}:1: is no recording of an inspector`);
  const unknown = await box.run(['inspect', 'ffffffff']);
  expect(unknown.stderr).toContain('escapement inspect --all lists them');
  expect(readdirSync(box.cwd)).toEqual([]);
}, 60_000);

it('an export over a file that others could read is for its owner alone', async () => {
  box = await openCliBox({ replies: [say('first')] });
  await box.run(['-p', 'one']);
  const file = path.join(box.home, 'one.jsonl');
  writeFileSync(file, 'longer than nothing\n'.repeat(100_000));
  chmodSync(file, 0o644);
  const exported = await box.run(['inspect', '--export', file]);
  expect(exported).toMatchObject({ code: 0, stderr: '' });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, 'utf8')).not.toContain('longer than nothing');
}, 40_000);

it.each([
  [['inspect', '--all', '--export', 'x.jsonl'], /--all lists sessions and --export writes one/],
  [['inspect', '--all', '3f2a'], /--all lists every session: leave it out to open 3f2a/],
  [['inspect', '--coverage', '/nope'], /--coverage \/nope: there is no such file/],
  [
    ['--inspect', '--inspect-coverage', '/nope', '-p', 'x'],
    /--inspect-coverage \/nope: there is no such file/,
  ],
])(
  '%j is wrong usage, said before anything is opened',
  async (args, expected) => {
    box = await openCliBox({ replies: [] });
    const run = await box.run(args);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toMatch(expected);
    expect(run.stderr).not.toContain('inspector:');
    expect(readdirSync(box.cwd)).toEqual([]);
  },
  40_000,
);

it('an address of a model that is none is said before there is a page', async () => {
  box = await openCliBox({ replies: [] });
  const run = await box.run(['--inspect', '-p', 'x'], '', { ANTHROPIC_BASE_URL: 'nowhere' });
  expect(run).toMatchObject({ code: 2, stdout: '' });
  expect(run.stderr).toBe('escapement: ANTHROPIC_BASE_URL is no URL: nowhere\n');
}, 40_000);
