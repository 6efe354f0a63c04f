import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { callTool, httpError, message, say, text, toolUse } from '../../../src/testing/index.ts';
import {
  type CliBox,
  cliPath,
  isAlive,
  openCliBox,
  streamFlags,
  userLine,
} from '../../tools/cli.ts';

let box: CliBox;
afterEach(() => box?.close());

const modelFlag = '--model=claude-sonnet-5-5';
const slowly = { timeout: 15_000 };
const megabytes = (count: number) => 'All work and no play. '.repeat((count * 1e6) / 22);
const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

describe('HEAD-02 stdout on a pipe that nobody reads for a while', () => {
  it.each(['json', 'stream-json'])('3 MB of %s arrive whole', async (format) => {
    box = await openCliBox({ replies: [say(megabytes(3))] });
    const child = box.start(['-p', 'go', '--output-format', format, modelFlag]);
    child.end();
    await wait(1_500);
    child.read();
    const run = await child.ended;
    expect(run.messages.includes(undefined)).toBe(false);
    expect(run.results).toHaveLength(1);
    expect(String(run.results[0]?.result).length).toBe(megabytes(3).length);
    expect(run.code).toBe(0);
  });

  it('the same with an error exit', async () => {
    box = await openCliBox({
      replies: [
        message([text(megabytes(3)), toolUse('Bash', { command: 'true' })]),
        { ...httpError(403, 'permission_error', 'no more'), times: 'always' },
      ],
    });
    const child = box.start([...streamFlags]);
    child.send(userLine('go'));
    child.end();
    await wait(1_500);
    child.read();
    const run = await child.ended;
    expect(run.messages.includes(undefined)).toBe(false);
    expect(run.stdout.length).toBeGreaterThan(megabytes(3).length);
    expect(run.messages.at(-1)).toMatchObject({ type: 'result', is_error: true });
    expect(run.code).toBe(1);
  });

  it('5,000 lines arrive in order', async () => {
    const words = Array.from({ length: 5_000 }, (_, index) => `word${index} `).join('');
    box = await openCliBox({ replies: [message([text(words, { pieces: 5_000 })])] });
    const child = box.start([...streamFlags, '--include-partial-messages']);
    child.send(userLine('go'));
    child.end();
    await wait(800);
    child.read();
    const run = await child.ended;
    const deltas = run.messages.flatMap((line) => {
      const event = line?.event as { delta?: { text?: string } } | undefined;
      return event?.delta?.text ?? [];
    });
    expect(deltas.join('')).toBe(words);
    expect(run.code).toBe(0);
  });

  it('a reader that closes early ends the run and its children, without a stack trace', async () => {
    box = await openCliBox({
      replies: [callTool('Bash', { command: 'echo $$ > pid; exec sleep 30' }), say('never')],
    });
    const command = `"$0" "$@" | head -c 10 >/dev/null; echo "\${PIPESTATUS[0]}" > code`;
    const args = ['-c', command, process.execPath, cliPath(), ...streamFlags];
    const shell = spawn('bash', args, {
      cwd: box.cwd,
      env: box.env,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    let stderr = '';
    shell.stderr.on('data', (part) => {
      stderr += part;
    });
    const ended = new Promise((resolve) => shell.on('close', resolve));
    shell.stdin.end(`${JSON.stringify(userLine('go'))}\n`);
    await ended;
    expect(stderr).not.toMatch(/EPIPE|\n\s+at /);
    expect(readFileSync(path.join(box.cwd, 'code'), 'utf8').trim()).not.toBe('0');
    const pidFile = path.join(box.cwd, 'pid');
    if (existsSync(pidFile)) expect(isAlive(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
    expect(box.server.requests.length).toBeLessThanOrEqual(1);
  });
});

describe('HEAD-07 SIGINT, SIGTERM, SIGHUP, SIGQUIT', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGQUIT', 131],
  ] as const)('%s: one result, exit code %i, no child left', async (signal, code) => {
    box = await openCliBox({
      replies: [
        message([text('start'), toolUse('Bash', { command: 'echo $$ > pid; exec sleep 90' })]),
      ],
    });
    const child = box.start([...streamFlags]);
    child.read();
    child.send(userLine('go'));
    const pidFile = path.join(box.cwd, 'pid');
    await expect
      .poll(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8'), slowly)
      .toMatch(/\d/);
    child.kill(signal);
    const run = await child.ended;
    expect(run.results).toMatchObject([{ terminal_reason: 'aborted_tools', is_error: true }]);
    expect(run.code).toBe(code);
    expect(isAlive(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
  });

  it('a signal that two hands send at once is one: the result is written', async () => {
    box = await openCliBox({ replies: [{ kind: 'silent', times: 'always' }] });
    const child = box.start([...streamFlags]);
    child.read();
    child.send(userLine('go'));
    await expect.poll(() => box.server.requests.length, slowly).toBe(1);
    child.kill('SIGTERM');
    await wait(15); // later than the first was heard, before the turn has ended
    child.kill('SIGTERM');
    const run = await child.ended;
    expect(run.results).toMatchObject([{ terminal_reason: 'aborted_streaming', is_error: true }]);
    expect(run.code).toBe(143);
  });

  it('-p: the result is written, too', async () => {
    box = await openCliBox({ replies: [{ kind: 'silent', times: 'always' }] });
    const child = box.start(['-p', 'go', '--output-format', 'json', modelFlag]);
    child.read();
    child.end();
    await expect.poll(() => box.server.requests.length, slowly).toBe(1);
    child.kill('SIGTERM');
    const run = await child.ended;
    expect(run.results).toMatchObject([{ terminal_reason: 'aborted_streaming', is_error: true }]);
    expect(run.code).toBe(143);
  });
});

it('no prompt at all is wrong usage', async () => {
  box = await openCliBox({ replies: [say('never')] });
  const run = await box.run([...streamFlags]);
  expect(run).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('no prompt') });
  expect(box.server.requests).toHaveLength(0);
});

it('garbage on stdin is named, what was meant as a prompt in a result; the prompts around it are answered', async () => {
  box = await openCliBox({ replies: [say('one'), say('two')] });
  const uuids = [crypto.randomUUID(), crypto.randomUUID()] as const;
  const lines = [
    JSON.stringify(userLine('first', uuids[0])),
    'not json',
    '[1]',
    '{"type":"keep_alive"}',
    '{"type":"user","message":{"role":"user"}}',
    '{"type":"control_request","request_id":"r","request":{"subtype":"no_such_thing"}}',
    JSON.stringify(userLine([{ type: 'text', text: 'second' }], uuids[1])),
  ];
  const run = await box.run([...streamFlags], `${lines.join('\n')}\n`);
  expect(run.code).toBe(0);
  const [first, unusable, second] = run.results;
  expect(first).toMatchObject({ result: 'one', user_message_uuids: [uuids[0]] });
  expect(unusable).toMatchObject({ terminal_reason: 'turn_setup_failed', is_error: true });
  expect(second).toMatchObject({ result: 'two', user_message_uuids: [uuids[1]] });
  expect(run.results).toHaveLength(3);
  expect(run.messages.find((line) => line?.type === 'control_response')).toMatchObject({
    response: { subtype: 'error', request_id: 'r' },
  });
  expect(run.stderr.trim().split('\n')).toHaveLength(2);
});

it('a prompt beside a running turn is folded in or becomes the next turn: named exactly once', async () => {
  const slow = message([toolUse('Bash', { command: 'sleep 0.5' })]);
  box = await openCliBox({ replies: [slow, say('done'), say('also done')] });
  const child = box.start([...streamFlags]);
  child.read();
  const uuids = [crypto.randomUUID(), crypto.randomUUID()];
  child.send(userLine('first', uuids[0]));
  await child.until((line) => line.type === 'assistant');
  child.send(userLine('second', uuids[1]));
  child.end();
  const run = await child.ended;
  expect(run.results.flatMap((result) => result.user_message_uuids as string[]).sort()).toEqual(
    [...uuids].sort(),
  );
  const sent = box.server.requests.map(({ body }) => JSON.stringify(body.messages)).at(-1);
  expect(sent).toContain('second');
});

it('HEAD-07 a signal while nobody reads: it still ends, with its code', async () => {
  box = await openCliBox({ replies: [say(megabytes(3))] });
  const child = box.start(['-p', 'go', '--output-format', 'stream-json', modelFlag]);
  child.end();
  await expect
    .poll(() => box.server.log.some((entry) => entry.type === 'answered'), slowly)
    .toBe(true);
  await wait(500);
  child.kill('SIGTERM');
  const [code] = await once(child.child, 'exit');
  expect(code).toBe(143);
});

it('HEAD-07 prompts that wait when the signal comes get their result, too', async () => {
  box = await openCliBox({ replies: [{ kind: 'silent', times: 'always' }] });
  const child = box.start([...streamFlags]);
  child.read();
  const uuids = ['first', 'second', 'third'].map((text) => {
    const line = userLine(text);
    child.send(line);
    return line.uuid;
  });
  await expect.poll(() => box.server.requests.length, slowly).toBe(1);
  child.kill('SIGINT');
  const run = await child.ended;
  expect(run.results.map((result) => result.terminal_reason)).toEqual(
    uuids.map(() => 'aborted_streaming'),
  );
  expect(run.results.flatMap((result) => result.user_message_uuids)).toEqual(uuids);
  expect(box.server.requests).toHaveLength(1);
  expect(run.code).toBe(130);
});
