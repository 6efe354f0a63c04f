/** Servers that are slow, silent, loud, or die. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isAlive } from '../../tools/cli.ts';
import { call, connected, freshFolder, odd, serverFor, textOf } from './kit.ts';

describe('MCP-04 a server that hangs or dies in a call', () => {
  it.each([
    ['sleep', {}],
    ['half', {}],
  ])('%s: an error in time, and other servers go on', async (name, input) => {
    const { call } = await connected(odd(), { toolMs: 300 });
    const other = await connected(odd());
    const hanging = call(name, input);
    const failure = expect(hanging).rejects.toThrow(/no answer within 0.3 s.*not known/);
    expect(textOf(await other.call('echo', { a: 1 }))).toBe('echo {"a":1}');
    await failure;
  });

  it('1 MB for a server that does not read: an error in time', async () => {
    const { call } = await connected(odd(), { toolMs: 300 });
    await expect(call('deaf')).rejects.toThrow(/no answer/);
    await expect(call('echo', { big: 'x'.repeat(1_000_000) })).rejects.toThrow(/no answer/);
  });

  it('a server that dies: an error at once, and the next call has a new one', async () => {
    const pidFile = join(freshFolder(), 'pids');
    const { server, call, told } = await connected(odd({ pidFile }));
    const dying = call('die');
    await expect(dying).rejects.toThrow(/ended during the call \(exit code 1\)\. Whether the call/);
    expect(server).toMatchObject({ status: 'failed', error: 'exit code 1' });
    expect(server.tools.length).toBeGreaterThan(0);
    expect(told).toEqual([expect.stringMatching(/has ended \(exit code 1\): it is started again/)]);
    expect(textOf(await call('echo'))).toBe('echo {}');
    expect(server.status).toBe('connected');
    expect(readFileSync(pidFile, 'utf8').trim().split('\n')).toHaveLength(2);
  });

  it('a server that dies at each call is not started for ever', async () => {
    const pidFile = join(freshFolder(), 'pids');
    const { call } = await connected(odd({ pidFile }));
    let last: unknown;
    for (let tries = 0; tries < 8; tries++) {
      await call('die').catch((error: unknown) => {
        last = error;
      });
    }
    expect(String(last)).toMatch(/has ended 5 times in a row and is not started again/);
    expect(readFileSync(pidFile, 'utf8').trim().split('\n')).toHaveLength(6);
  });

  it('an abort ends the call at once, and the server is told', async () => {
    const { call } = await connected(odd());
    const controller = new AbortController();
    const sleeping = call('sleep', {}, { signal: controller.signal });
    setTimeout(() => controller.abort(), 50);
    await expect(sleeping).rejects.toThrow('The call was cancelled.');
    expect(JSON.parse(textOf(await call('cancelled')))).toHaveLength(1);
  });

  it('log lines and garbage on stdout do not end the connection', async () => {
    const { call, debug } = await connected(odd({ noise: true }));
    expect(textOf(await call('echo'))).toBe('echo {}');
    expect(debug.join('\n')).toContain('INFO got a message');
  });

  it.each([
    ['short lines', 'yes'],
    ['empty lines', "yes ''"],
    ['what begins like a message', "yes '{'"],
    ['a line without an end', 'cat /dev/zero'],
    ['a message without an end', `printf '{"a":"'; cat /dev/zero`],
  ])('garbage without end ends the server, and it is said why: %s', async (_, line) => {
    const pidFile = join(freshFolder(), 'pid');
    const script = `echo $$ > ${pidFile}; trap '' TERM; ${line}`;
    const { server, told } = serverFor({ ...odd(), command: 'sh', args: ['-c', script] });
    await server.connect();
    const why =
      /cannot be used: it did not start: it has printed \d+ lines \(\d+ KiB\) without a message/;
    expect(told).toEqual([expect.stringMatching(why)]);
    expect(isAlive(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
  });

  it.each([
    ['notifications', `yes '{"jsonrpc":"2.0","method":"notifications/nobody-knows"}'`],
    ['questions', `yes '{"jsonrpc":"2.0","id":1,"method":"nobody/knows"}'`],
    ['answers to nobody', `yes '{"jsonrpc":"2.0","id":1,"result":{}}'`],
    ['lines of log on stderr', 'yes >&2'],
  ])('%s without end leave time for everybody else', async (_, line) => {
    const { server } = serverFor({ ...odd(), command: 'sh', args: ['-c', line] }, { waitMs: 300 });
    await server.connect();
    await server.close();
    expect(server.status).toBe('failed');
  });

  it('the words of an error of the protocol reach the model', async () => {
    const { call } = await connected(odd());
    await expect(call('throw')).rejects.toThrow('MCP error -32000: disk on fire');
  });
});

describe('MCP-06 answers that are huge', () => {
  it('50 MB on one line: the text is in a file, all of it, and the next call works', async () => {
    const { call } = await connected(odd());
    const chars = 25_000_000; // of two bytes each
    const said = textOf(await call('sized', { chars: [chars] }));
    expect(said.length).toBeLessThan(3_000);
    expect(said).toMatch(/^\(A text of 25,000,000 characters\. All of it is in the file \//);
    const [path = ''] = /\/\S+\.txt/.exec(said) ?? [];
    const whole = readFileSync(path, 'utf8');
    expect(whole).toHaveLength(chars);
    expect(whole).toMatch(/^begin é+ end$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(textOf(await call('echo'))).toBe('echo {}');
  }, 60_000);

  it('many texts that are too much together: what does not fit is in files', async () => {
    const { call } = await connected(odd());
    const { content } = await call('sized', { chars: [5_000_000, 4_000_000, 20] });
    const blocks = content as readonly { readonly text: string }[];
    expect(blocks.map(({ text }) => text.length)).toEqual([5_000_000, expect.any(Number), 20]);
    expect(blocks[1]?.text).toMatch(/^\(A text of 4,000,000 characters\. All of it is in the file/);
  });

  it('more than a line may have: an error at once that says so, and the server lives', async () => {
    const { call, server } = await connected(odd());
    const call70 = call('sized', { chars: [35_000_000] });
    await expect(call70).rejects.toThrow(/the answer has 70\d+ bytes, and more than 67108864/);
    expect(server.status).toBe('connected');
    expect(textOf(await call('echo'))).toBe('echo {}');
  }, 60_000);
});

describe('a server that does not come', () => {
  it('a missing program is a status with its cause', async () => {
    const { server, told } = serverFor({ ...odd(), command: 'no-such-program-at-all' });
    await server.connect();
    expect(server.status).toBe('failed');
    expect(told).toEqual([
      'MCP server srv cannot be used: it did not start: no-such-program-at-all was not found',
    ]);
    await server.close();
  });

  it('one that ends at once says how; its stderr is for whoever looks for the fault', async () => {
    const { server, debug } = serverFor(odd({ refuse: true }));
    await server.connect();
    expect(server.error).toBe('it did not start: exit code 3');
    expect(debug.join('\n')).toContain('no licence');
  });

  it('a slow one holds nobody up, and its tools come later', async () => {
    const { server, told } = serverFor(odd({ start: 1_500 }), { waitMs: 100 });
    await server.connect();
    expect([server.status, server.tools]).toEqual(['pending', []]);
    expect(told[0]).toMatch(/is not ready after 0.1 s \(MCP_TIMEOUT\)/);
    await expect.poll(() => server.status, { timeout: 8_000 }).toBe('connected');
    expect(told.at(-1)).toMatch(/is ready now: \d+ tools/);
    expect(textOf(await call(server, 'echo'))).toBe('echo {}');
  });

  it('one that never answers goes with the session', async () => {
    const { server } = serverFor(odd({ start: -1 }), { waitMs: 50 });
    await server.connect();
    await server.close();
  });
});

describe('a list that changes', () => {
  it('is known when the call that changed it has its answer', async () => {
    const { server, call } = await connected(odd());
    await call('grow');
    expect(server.tools.map(({ name }) => name)).toContain('mcp__srv__grown');
    expect(textOf(await call('grown'))).toBe('grown {}');
  });
});

describe('what a server sees', () => {
  it('is what it was given, and no key of ours', async () => {
    const config = odd();
    const { call } = await connected(
      { ...config, env: { OWN: 'given' } },
      { env: { PATH: process.env.PATH, HOME: '/h', ANTHROPIC_API_KEY: 'secret', LC_ALL: 'C' } },
    );
    const env = JSON.parse(textOf(await call('env')));
    expect(env).toMatchObject({ OWN: 'given', HOME: '/h', LC_ALL: 'C' });
    expect(env).not.toHaveProperty('ANTHROPIC_API_KEY');
  });
});
