/** A host's first word over the pipe: obeyed as a whole, or refused; never half of its guards. */
import { afterEach, describe, expect, it } from 'vitest';
import { callTool, forever, say } from '../../../src/testing/index.ts';
import { type CliBox, openCliBox, streamFlags, userLine } from '../../tools/cli.ts';

let box: CliBox;
afterEach(() => box?.close());
const flags = [...streamFlags, '--model=claude-sonnet-5-5', '--allowedTools=Bash'];
const initialize = (body: object, request_id = 'r1') => ({
  type: 'control_request',
  request_id,
  request: { subtype: 'initialize', ...body },
});
const hooks = { PreToolUse: [{ hookCallbackIds: ['x'], timeout: 2 }] };

it.each<[object, string]>([
  [{ hooks: { PreToolUse: { hookCallbackIds: ['x'] } } }, 'initialize.hooks.PreToolUse'],
  [{ hooks: { PreToolUse: [{ matcher: '(', hookCallbackIds: ['x'] }] } }, 'no regular expression'],
  [{ agents: 5 }, 'initialize.agents'],
])('%j with a prompt right behind it: an error, and nothing is begun', async (body, words) => {
  box = await openCliBox({ replies: [callTool('Bash', { command: 'touch ran' }), say('ok')] });
  const input = [initialize(body), userLine('go')].map((line) => JSON.stringify(line)).join('\n');
  const run = await box.run(flags, input);
  expect(run.messages).toMatchObject([
    {
      type: 'control_response',
      response: { subtype: 'error', request_id: 'r1', error: expect.stringContaining(words) },
    },
  ]);
  expect(run.code).toBe(2);
  expect(box.server.requests).toHaveLength(0);
});

describe('behind the first prompt', () => {
  const begun = async () => {
    box = await openCliBox({ replies: forever(say('ok'), 3) });
    const cli = box.start(flags);
    cli.read();
    cli.send(userLine('go'));
    await cli.until(({ type }) => type === 'result');
    return cli;
  };

  it('what it says of the session is refused; the session goes on', async () => {
    const cli = await begun();
    cli.send(initialize({ hooks }));
    const { response } = await cli.until(({ type }) => type === 'control_response');
    expect(response).toMatchObject({
      subtype: 'error',
      error: expect.stringContaining('too late'),
    });
    cli.send(userLine('more'));
    cli.end();
    const run = await cli.ended;
    expect(run.results).toHaveLength(2);
    expect(run.code).toBe(0);
  });

  it('one that only asks what there is gets its answer', async () => {
    const cli = await begun();
    cli.send(initialize({ hooks: {}, systemPrompt: null }));
    const { response } = await cli.until(({ type }) => type === 'control_response');
    expect(response).toMatchObject({ subtype: 'success', response: { commands: [{}] } });
    cli.end();
    expect((await cli.ended).code).toBe(0);
  });
});

it('the official SDK may say it twice: the first counts, and the second is told so', async () => {
  box = await openCliBox({ replies: [] });
  const cli = box.start(flags);
  cli.read();
  cli.send(initialize({ hooks }));
  const first = await cli.until(({ type }) => type === 'control_response');
  expect(first.response).toMatchObject({ subtype: 'success', response: { hooks_applied: true } });
  cli.send(initialize({ hooks }, 'r2'));
  const second = await cli.until(
    ({ response }) => (response as { request_id?: string } | undefined)?.request_id === 'r2',
  );
  expect(second.response).toMatchObject({ subtype: 'success', response: { hooks_applied: false } });
  cli.end();
  expect((await cli.ended).code).toBe(0);
});

it.each<[string, object, string]>([
  ['set_permission_mode', { mode: 'Plan' }, 'unknown permission mode'],
  ['set_permission_mode', { mode: 5 }, 'unknown permission mode'],
  ['set_model', { model: 5 }, 'name a model'],
  ['set_model', { model: '' }, 'unknown model'],
])('%s %j is refused', async (subtype, body, words) => {
  box = await openCliBox({ replies: [] });
  const cli = box.start(flags);
  cli.read();
  cli.send({ type: 'control_request', request_id: 'r1', request: { subtype, ...body } });
  const { response } = await cli.until(({ type }) => type === 'control_response');
  expect(response).toMatchObject({ subtype: 'error', error: expect.stringContaining(words) });
  cli.end();
  await cli.ended;
});
