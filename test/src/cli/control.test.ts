import { describe, expect, it } from 'vitest';
import { canUseToolOver, sendToHostServer } from '../../../src/cli/bindings.ts';
import { ControlChannel, type ControlHandler, type Fields } from '../../../src/cli/control.ts';
import { configures, readInitialize } from '../../../src/cli/initialize.ts';

/** A channel whose host is the test. */
function open(handlers: Record<string, ControlHandler> = {}) {
  const sent: Fields[] = [];
  const warnings: string[] = [];
  const channel = new ControlChannel({
    write: async (message) => {
      sent.push(message);
    },
    warn: (text) => warnings.push(text),
    handlers,
  });
  const answer = (response: Fields) =>
    channel.hear({
      type: 'control_response',
      response: { subtype: 'success', request_id: sent.at(-1)?.request_id, response },
    });
  return { channel, sent, warnings, answer };
}
const asks = (subtype: string, more: Fields = {}, requestId = 'r1') => ({
  type: 'control_request',
  request_id: requestId,
  request: { subtype, ...more },
});
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('requests of the host', () => {
  it('are answered under their id', async () => {
    const { channel, sent } = open({ hello: async ({ name }) => ({ to: name }) });
    expect(channel.hear(asks('hello', { name: 'you' }))).toBe(true);
    await turn();
    expect(sent).toEqual([
      {
        type: 'control_response',
        response: { subtype: 'success', request_id: 'r1', response: { to: 'you' } },
      },
    ]);
  });

  it.each(['no_such_request', 'constructor', 'toString', undefined])(
    'an unknown one (%s) gets an error',
    async (subtype) => {
      const { channel, sent } = open({ hello: () => ({}) });
      channel.hear({ type: 'control_request', request_id: 'r2', request: { subtype } });
      await turn();
      expect(sent).toMatchObject([
        { response: { subtype: 'error', request_id: 'r2', error_code: 'unsupported_request' } },
      ]);
    },
  );

  it('a handler that throws gives an error with its words', async () => {
    const { channel, sent } = open({
      hello: () => {
        throw new Error('not today');
      },
    });
    channel.hear(asks('hello'));
    await turn();
    expect(sent).toMatchObject([{ response: { subtype: 'error', error: 'not today' } }]);
  });

  it('can be taken back', async () => {
    let signal: AbortSignal | undefined;
    const { channel } = open({
      slow: (_body, given) => {
        signal = given;
        return new Promise(() => {});
      },
    });
    channel.hear(asks('slow'));
    channel.hear({ type: 'control_cancel_request', request_id: 'r1' });
    expect(signal?.aborted).toBe(true);
  });

  it.each([
    { type: 'control_request' },
    { type: 'control_request', request_id: 'x' },
    { type: 'control_request', request_id: 'x', request: 'hello' },
    { type: 'control_response' },
    { type: 'control_response', response: [] },
    { type: 'control_response', response: { request_id: 'never-asked', subtype: 'success' } },
    { type: 'control_cancel_request' },
  ])('garbage does no harm: %j', (message) => {
    const { channel } = open();
    expect(channel.hear(message)).toBe(true);
  });

  it('leaves other messages to others', () => {
    expect(open().channel.hear({ type: 'user' })).toBe(false);
  });
});

describe('our requests', () => {
  it('an abort takes the question back, and a late answer is ignored', async () => {
    const { channel, sent, answer } = open();
    const abort = new AbortController();
    const asking = channel.request({ subtype: 'can_use_tool' }, abort.signal);
    const requestId = sent[0]?.request_id;
    abort.abort();
    await expect(asking).rejects.toThrow(/aborted/);
    expect(sent.at(-1)).toEqual({ type: 'control_cancel_request', request_id: requestId });
    answer({});
  });

  it('fail at once when the host can no longer answer', async () => {
    const { channel } = open();
    const asking = channel.request({ subtype: 'x' });
    channel.close('the host has closed its end');
    await expect(asking).rejects.toThrow('the host has closed its end');
    await expect(channel.request({ subtype: 'y' })).rejects.toThrow('closed its end');
  });
});

describe('can_use_tool', () => {
  const ask = (channel: ControlChannel) =>
    canUseToolOver(channel)(
      'Bash',
      { command: 'ls' },
      { signal: new AbortController().signal, toolUseID: 't1', decisionReason: 'no rule' },
    );

  it('asks with name, input and id, and takes an edited input', async () => {
    const { channel, sent, answer } = open();
    const asking = ask(channel);
    expect(sent[0]?.request).toEqual({
      subtype: 'can_use_tool',
      tool_name: 'Bash',
      input: { command: 'ls' },
      tool_use_id: 't1',
      decision_reason: 'no rule',
    });
    answer({ behavior: 'allow', updatedInput: { command: 'pwd' }, toolUseID: 't1' });
    expect(await asking).toEqual({ behavior: 'allow', updatedInput: { command: 'pwd' } });
  });

  it('a denial keeps its message', async () => {
    const { channel, answer } = open();
    const asking = ask(channel);
    answer({ behavior: 'deny', message: 'not here', interrupt: true });
    expect(await asking).toEqual({ behavior: 'deny', message: 'not here', interrupt: true });
  });

  it.each([{}, { behavior: 'maybe' }, { behavior: true }])(
    'an answer that is none (%j) is no permission',
    async (response) => {
      const { channel, answer } = open();
      const asking = ask(channel);
      answer(response);
      await expect(asking).rejects.toThrow(/neither allow nor deny/);
    },
  );
});

describe('servers in the host', () => {
  it('the handshake is answered from the manifest, once; calls go to the host', async () => {
    const { channel, sent, answer } = open();
    const send = sendToHostServer(channel, 'probe', {
      initializeResult: { protocolVersion: '2025-11-25', capabilities: {} },
      toolsListResult: { tools: [{ name: 'ro' }] },
    });
    expect(await send({ jsonrpc: '2.0', id: 1, method: 'initialize' })).toMatchObject({ id: 1 });
    await send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const listed = await send({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
    expect(listed).toEqual({ jsonrpc: '2.0', id: 2, result: { tools: [{ name: 'ro' }] } });
    expect(sent).toEqual([]);
    // A list that is asked for again has changed.
    const again = send({ jsonrpc: '2.0', id: 3, method: 'tools/list' });
    expect(sent).toHaveLength(1);
    answer({ mcp_response: { jsonrpc: '2.0', id: 3, result: { tools: [] } } });
    expect(await again).toMatchObject({ result: { tools: [] } });
  });
});

describe('initialize', () => {
  const read = (body: Fields) =>
    readInitialize({ subtype: 'initialize', ...body }, async (id) => ({ reason: id }));

  it('binds hooks to their ids and confirms what the host relies on', async () => {
    const { options, confirmations, warnings } = read({
      hooks: {
        Stop: [
          { matcher: 'a', hookCallbackIds: ['hook_0', 'hook_1'], timeout: 5, onFailure: 'block' },
        ],
        Elsewhere: [{ hookCallbackIds: ['hook_2'] }],
      },
      systemPrompt: ['one', 'two'],
      settings: { model: 'x' },
    });
    const [matcher] = options.hooks?.Stop ?? [];
    expect(matcher).toMatchObject({ matcher: 'a', timeout: 5, onFailure: 'block' });
    const call = matcher?.hooks[1];
    const signal = new AbortController().signal;
    expect(await call?.({} as never, undefined, { signal })).toEqual({ reason: 'hook_1' });
    expect(options.systemPrompt).toBe('one\n\ntwo');
    expect(confirmations).toEqual({
      hook_on_failure_supported: true,
      hooks_applied: false, // not all of them
      settings_applied: true,
    });
    expect(warnings).toEqual([expect.stringContaining('Elsewhere')]);
  });

  it('what is not read is left alone: a host may be newer', () => {
    const { options, servers, warnings } = read({
      ...{ hooks: null, toolAliases: 5, later: {}, systemPrompt: 'one text' },
      agents: { a: { description: 'd', prompt: 'p', disallowedTools: ['Bash'], observer: 5 } },
      sdkMcpServers: ['s'],
      sdkMcpServerManifests: { s: { initializeResult: 'x' } },
    });
    expect(options).toEqual({
      systemPrompt: 'one text',
      agents: { a: { description: 'd', prompt: 'p', disallowedTools: ['Bash'] } },
    });
    expect([...servers]).toEqual([['s', undefined]]);
    expect(warnings).toEqual([]);
  });

  it('null says nothing, wherever something may be left out', () => {
    const { options, confirmations } = read({
      ...{ systemPrompt: null, settings: null, mcpServers: null, managedSettings: null },
      hooks: { PreToolUse: null, Stop: [{ hookCallbackIds: ['x'], matcher: null }] },
      agents: {
        a: { description: 'd', prompt: 'p', tools: null, model: null, maxTurns: null },
        b: null,
      },
    });
    expect(options.agents).toEqual({ a: { description: 'd', prompt: 'p' } });
    expect(Object.keys(options.hooks ?? {})).toEqual(['Stop']);
    expect(Object.keys(options).sort()).toEqual(['agents', 'hooks']);
    expect(confirmations).toEqual({ hook_on_failure_supported: true, hooks_applied: true });
    expect(configures({ subtype: 'initialize', hooks: { Stop: null } })).toBe(false);
  });

  it('null within a schema or settings is a value', () => {
    const jsonSchema = { type: 'object', properties: { a: { const: null } } };
    const { options } = read({ jsonSchema, settings: { model: null } });
    expect(options.outputFormat?.schema).toEqual(jsonSchema);
    expect(options.settings).toEqual({ model: null });
  });

  it.each<[Fields, string]>([
    [
      { hooks: { PreToolUse: { hookCallbackIds: ['x'] } } },
      'initialize.hooks.PreToolUse: expected a list of matchers, not an object',
    ],
    [{ hooks: { PreToolUse: [{ hookCallbackIds: 'x' }] } }, '[0].hookCallbackIds: expected a list'],
    [{ hooks: { PreToolUse: [{}] } }, '[0].hookCallbackIds: expected a list of texts'],
    [{ hooks: { PreToolUze: [] } }, 'did you mean "PreToolUse"?'],
    [
      { hooks: { PermissionRequest: [{ hookCallbackIds: ['x'] }] } },
      'initialize.hooks.PermissionRequest: this event does not exist here',
    ],
    [
      { hooks: { SubagentStart: [{ hookCallbackIds: ['x'], onFailure: 'block' }] } },
      'initialize.hooks.SubagentStart: this event does not exist here',
    ],
    [{ hooks: 5 }, 'initialize.hooks: expected an object, not 5'],
    [{ agents: 5 }, 'initialize.agents: expected an object of agents by name, not 5'],
    [{ agents: { a: { description: 'd' } } }, 'initialize.agents.a.prompt: expected a text'],
    [
      { agents: { a: { description: 'd', prompt: null } } },
      'initialize.agents.a.prompt: expected a text',
    ],
    [{ systemPrompt: 5 }, 'initialize.systemPrompt: expected a list of texts, not 5'],
    [{ systemPrompt: [5] }, 'initialize.systemPrompt[0]: expected a text, not 5'],
    [{ sdkMcpServers: 5 }, 'initialize.sdkMcpServers: expected a list of texts, not 5'],
    [{ mcpServers: [] }, 'initialize.mcpServers: expected an object of servers by name'],
    [{ settings: 'x' }, 'initialize.settings: expected an object, not "x"'],
    [{ disallowedTools: 'Bash' }, 'initialize.disallowedTools: expected a list of texts'],
    [{ jsonSchema: 'x' }, 'initialize.jsonSchema: expected an object, not "x"'],
  ])('%j has the wrong shape: nothing is made of it', (body, words) => {
    expect(() => read(body)).toThrow(words);
  });
});
