/** Wrong words on the command line and on stdin: said, and not paid for. */
import { afterEach, describe, expect, it } from 'vitest';
import { say } from '../../../src/testing/index.ts';
import { type CliBox, openCliBox, streamFlags, userLine } from '../../tools/cli.ts';

let box: CliBox;
afterEach(() => box?.close());
const model = '--model=claude-sonnet-5-5';
const one = () => openCliBox({ replies: [say('ok'), say('more')] });

describe('a command that there is not', () => {
  it('is a question, not a prompt', async () => {
    box = await one();
    const run = await box.run(['docter']);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain('did you mean doctor? As a prompt: escapement -p docter');
    expect(box.server.requests).toHaveLength(0);
  });

  it.each([[['memo']], [['-p', 'docter']], [['docter', 'who?']]])(
    '%j is a prompt',
    async (args) => {
      box = await one();
      const run = await box.run([...args, model].slice(0, args[0] === 'memo' ? 1 : undefined));
      expect(run).toMatchObject({ code: 0, stdout: 'ok\n' });
    },
  );
});

it.each<[readonly string[], RegExp]>([
  [['-p', 'x', '--fork-session'], /--fork-session needs the session/],
  [['-p', 'x', '--resume', 'nope'], /there is no session nope for \S+: nor any other/],
])('%j is wrong usage', async (args, expected) => {
  box = await one();
  const run = await box.run([...args, model]);
  expect(run).toMatchObject({ code: 2, stdout: '' });
  expect(run.stderr).toMatch(expected);
});

it('a session that there is not: those that there are are named', async () => {
  box = await one();
  const first = await box.run(['-p', 'x', '--output-format=json', model]);
  const id = String(first.messages[0]?.session_id);
  const run = await box.run(['-p', 'x', '--resume', 'nope', model]);
  expect(run.stderr).toContain(`the newest here: ${id} (--continue goes on with the first)`);
  expect(await box.run(['-p', 'x', '--continue', '--fork-session', model])).toMatchObject({
    code: 0,
  });
});

describe('lines on stdin', () => {
  const line = (uuid: string, message: unknown) =>
    `${JSON.stringify({ type: 'user', uuid, message })}\n`;

  it.each<[string, unknown, RegExp]>([
    [
      'the role assistant',
      { role: 'assistant', content: 'I said' },
      /has the role .{1,2}assistant/,
    ],
    ['no content', { role: 'user' }, /has no content/],
    [
      'a block that no person says',
      { role: 'user', content: [{ type: 'text', text: 'x' }, { type: 'hologram' }] },
      /content\[1\] of a user message has the type .{1,2}hologram/,
    ],
  ])('%s: a result that says so, and no request', async (_, message, expected) => {
    box = await one();
    const run = await box.run([...streamFlags, model], line('u-1', message));
    expect(run.code).toBe(1);
    expect(run.results).toMatchObject([
      { terminal_reason: 'turn_setup_failed', is_error: true, user_message_uuids: ['u-1'] },
    ]);
    expect(JSON.stringify(run.results[0]?.errors)).toMatch(expected);
    expect(box.server.requests).toHaveLength(0);
  });

  it('a prompt that is sent again is asked once, and named by one result', async () => {
    box = await one();
    const cli = box.start([...streamFlags, model]);
    cli.read();
    const again = { ...userLine('go'), uuid: 'u-1' };
    cli.send(again);
    await cli.until(({ type }) => type === 'result');
    cli.send(again);
    await cli.until((message) => message.type === 'user' && message.isReplay === true);
    cli.end();
    const run = await cli.ended;
    const named = run.results.flatMap(({ user_message_uuids: uuids }) => uuids as string[]);
    expect(named).toEqual(['u-1']);
    expect(box.server.requests).toHaveLength(1);
    expect(run.code).toBe(0);
  });
});

it('costs are numbers without noise', async () => {
  box = await openCliBox({
    replies: [say('ok', { usage: { input_tokens: 3, output_tokens: 7 } })],
  });
  const run = await box.run(['-p', 'x', '--output-format=json', '--model=claude-haiku-4-5']);
  expect(String(run.results[0]?.total_cost_usd)).toMatch(/^\d\.?\d{0,8}(e-\d)?$/);
});
