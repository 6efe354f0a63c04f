/** A server in the host's process, reached by JSON-RPC messages: what it offers and what it answers. */
import { mkdtemp, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Elicitation } from '../../../services/mcp/elicitation.ts';
import {
  createInProcessMcp,
  type InProcessMcpOptions,
  type JsonRpcMessage,
} from '../../../services/mcp/in-process.ts';
import { externalToolName } from '../../../services/mcp/names.ts';
import { acceptSchema } from '../../../services/mcp/schema.ts';
import type { Tool, ToolContext } from '../../../services/tools/tool.ts';

type Handler = (params: Readonly<Record<string, unknown>>) => unknown;

/** A small server as the SDK of a host would make it: answers requests, notes notifications. */
function server(handlers: Record<string, Handler>) {
  const heard: JsonRpcMessage[] = [];
  const send = async (message: JsonRpcMessage): Promise<JsonRpcMessage> => {
    heard.push(message);
    const { id, method = '', params = {} } = message;
    if (id === undefined) return { jsonrpc: '2.0', id: 0, result: {} };
    const handler = handlers[method];
    if (!handler) return { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } };
    return { jsonrpc: '2.0', id, result: await handler(params) };
  };
  return { heard, send };
}
const lists = (...tools: unknown[]): Record<string, Handler> => ({
  initialize: () => ({ protocolVersion: '2025-06-18', capabilities: {}, serverInfo: {} }),
  'tools/list': () => ({ tools }),
});
const connect = async (
  handlers: Record<string, Handler>,
  more: Partial<InProcessMcpOptions> = {},
) => {
  const { heard, send } = server(handlers);
  const warnings: string[] = [];
  const mcp = await createInProcessMcp({
    ...{ serverName: 'srv', send, clientVersion: '1', onWarning: (text) => warnings.push(text) },
    ...more,
  });
  return { mcp, heard, warnings };
};
const context = async (signal = new AbortController().signal): Promise<ToolContext> => ({
  sessionId: 's',
  toolUseId: 't1',
  idempotencyKey: 's:t1',
  cwd: '/',
  setCwd: () => {},
  additionalDirectories: [],
  resultsFolder: join(await mkdtemp(join(tmpdir(), 'mcp-')), 'results'),
  signal,
  env: {},
  state: { get: (_, make) => make() },
  progress: () => {},
});
const only = (tools: readonly Tool[]): Tool => {
  const [tool] = tools;
  if (!tool || tools.length > 1) throw new Error(`${tools.length} tools`);
  return tool;
};
const png = `${Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64').replaceAll('=', '')}AAAA`;

describe('the tools of a server', () => {
  it('are listed after a handshake, page by page', async () => {
    const { mcp, heard } = await connect({
      ...lists(),
      'tools/list': ({ cursor }) =>
        cursor === 'p2'
          ? { tools: [{ name: 'b', annotations: { readOnlyHint: true } }] }
          : { tools: [{ name: 'a', inputSchema: { type: 'object' } }], nextCursor: 'p2' },
    });
    expect(heard.map(({ method }) => method)).toEqual([
      ...['initialize', 'notifications/initialized', 'tools/list', 'tools/list'],
    ]);
    const [a, b] = mcp.tools();
    expect([a?.name, b?.name]).toEqual(['mcp__srv__a', 'mcp__srv__b']);
    expect([a?.isReadOnly({}), b?.isReadOnly({})]).toEqual([false, true]);
    expect([a?.isConcurrencySafe({}), b?.isConcurrencySafe({})]).toEqual([false, true]);
    expect([a?.isExternal, b?.isExternal]).toEqual([true, true]);
  });

  it('are none when the server fails or does not answer, and that is said', async () => {
    const failing = await connect({});
    expect([failing.mcp.status, failing.mcp.tools()]).toEqual(['failed', []]);
    expect(failing.warnings[0]).toMatch(/srv cannot be used: MCP error -32601/);
    const silent = await connect({ initialize: () => new Promise(() => {}) }, { connectMs: 20 });
    expect(silent.mcp.failure).toMatch(/no answer to initialize/);
  });

  it('are listed again when the server says so', async () => {
    const names = ['old'];
    const { mcp } = await connect({
      ...lists(),
      'tools/list': () => ({ tools: names.map((name) => ({ name })) }),
    });
    names.push('new');
    await mcp.receive({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    expect(mcp.tools().map(({ name }) => name)).toEqual(['mcp__srv__old', 'mcp__srv__new']);
    expect(await mcp.receive({ jsonrpc: '2.0', id: 7, method: 'ping' })).toMatchObject({
      result: {},
    });
  });

  it('MCP-01 have names that the API accepts, and calls go back to their own', async () => {
    const odd = [
      'Docker file scan',
      'a.b/c',
      'ünï',
      'x'.repeat(200),
      `${'x'.repeat(200)}y`,
      'good',
      'a_b/c',
    ];
    const { mcp, heard } = await connect(
      { ...lists(...odd.map((name) => ({ name }))), 'tools/call': () => ({ content: [] }) },
      { serverName: 'my srv' },
    );
    const names = mcp.tools().map(({ name }) => name);
    expect(new Set(names).size).toBe(odd.length);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(names).toContain('mcp__my_srv__good');
    await mcp.tools()[0]?.call({}, await context());
    expect(heard.at(-1)?.params).toMatchObject({ name: 'Docker file scan' });
  });

  it('MCP-01 names are legal and always the same (property)', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary', maxLength: 90 }),
        (s, t) => {
          const name = externalToolName(s, t);
          expect(name).toMatch(/^mcp__[a-zA-Z0-9_-]{1,59}$/);
          expect(externalToolName(s, t)).toBe(name);
        },
      ),
    );
  });

  it('MCP-02 have schemas that the API accepts; one that takes no objects is left out by name', async () => {
    const object = (name: string, ...required: string[]) => ({
      ...{ type: 'object', properties: { [name]: { type: 'string' } } },
      ...(required.length ? { required } : {}),
    });
    const { mcp, warnings } = await connect(
      lists(
        { name: 'good', inputSchema: object('x', 'x') },
        {
          name: 'top_anyof',
          inputSchema: { anyOf: [object('a', 'a', 'c'), object('b', 'b', 'c')] },
        },
        { name: 'text', inputSchema: { type: 'string' } },
        { name: 'none' },
        { name: 'ref', inputSchema: { $ref: '#/$defs/In', $defs: { In: object('r', 'r') } } },
        { name: 'circle', inputSchema: { $ref: '#/$defs/A', $defs: { A: { $ref: '#/$defs/A' } } } },
        {
          name: 'huge',
          inputSchema: {
            type: 'object',
            properties: { q: { type: 'string', description: 'd'.repeat(300_000) } },
          },
        },
        { name: 'odd', inputSchema: object('naïve key') },
      ),
    );
    const schemas = Object.fromEntries(
      mcp.tools().map((tool) => [tool.name.slice(10), tool.inputSchema]),
    );
    expect(Object.keys(schemas)).toEqual([
      'good',
      'top_anyof',
      'none',
      'ref',
      'circle',
      'huge',
      'odd',
    ]);
    for (const schema of Object.values(schemas)) {
      expect(schema.type).toBe('object');
      for (const word of ['anyOf', 'oneOf', 'allOf']) expect(schema).not.toHaveProperty(word);
      expect(JSON.stringify(schema).length).toBeLessThan(100_000);
    }
    expect(schemas.top_anyof).toMatchObject({ required: ['c'] });
    expect(Object.keys(schemas.top_anyof?.properties ?? {})).toEqual(['a', 'b']);
    expect(schemas.ref).toMatchObject({ required: ['r'], properties: { r: { type: 'string' } } });
    expect(warnings.join('\n')).toMatch(/"text": left out, its input is of type "string"/);
    expect(warnings).toHaveLength(3);
  });

  it('MCP-02 a legal schema comes back as it is (property)', () => {
    const schema = fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(
        fc.stringMatching(/^[a-z]{1,8}$/),
        fc.record({ type: fc.constantFrom('string', 'number') }),
      ),
    });
    fc.assert(
      fc.property(schema, (given) => {
        expect(acceptSchema(given)).toEqual({ ok: true, schema: given, warnings: [] });
      }),
    );
  });

  it('TOOL-05 name the missing parameter before anybody is asked', async () => {
    const { mcp } = await connect(
      lists({ name: 't', inputSchema: { type: 'object', required: ['q'] } }),
    );
    expect(await only(mcp.tools()).parse({})).toEqual({ ok: false, message: 'missing: "q"' });
    expect(await only(mcp.tools()).parse('text')).toMatchObject({ ok: false });
  });
});

describe('the result of a call', () => {
  const outputOf = async (result: unknown) => {
    const { mcp } = await connect({ ...lists({ name: 't' }), 'tools/call': () => result });
    return only(mcp.tools()).call({}, await context());
  };

  it('keeps a text byte by byte, and an error as one', async () => {
    expect(await outputOf({ content: [{ type: 'text', text: ' a\n' }] })).toEqual({
      content: ' a\n',
    });
    expect(await outputOf({ content: [{ type: 'text', text: 'no' }], isError: true })).toEqual({
      ...{ content: 'no', isError: true },
    });
    expect(await outputOf({ content: [] })).toEqual({ content: '' });
  });

  it('gives structured content to the host, and to the model when there is nothing else', async () => {
    const structuredContent = { n: 1 };
    expect(await outputOf({ content: [], structuredContent })).toEqual({
      ...{ content: '{"n":1}', data: structuredContent },
    });
  });

  it('MCP-06 shows images by their real type, saves what the API does not take, survives the rest', async () => {
    const { content } = await outputOf({
      content: [
        { type: 'image', data: png, mimeType: 'image/jpeg' },
        { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'f://x', text: 'inside' } },
        { type: 'resource_link', name: 'n', uri: 'f://y' },
        { type: 'hologram', depth: 3 },
        'bare',
      ],
    });
    if (typeof content === 'string') throw new Error('blocks expected');
    expect(content[0]).toMatchObject({ type: 'image', source: { media_type: 'image/png' } });
    const saved = content[1]?.type === 'text' ? /saved as (\S+)\)/.exec(content[1].text)?.[1] : '';
    expect([...(await readFile(saved ?? ''))]).toEqual([0, 0, 0]);
    expect((await stat(saved ?? '')).mode & 0o777).toBe(0o600);
    expect(content.slice(2).map((block) => (block.type === 'text' ? block.text : ''))).toEqual([
      'Resource f://x:\ninside',
      'Resource n at f://y',
      '{"type":"hologram","depth":3}',
      '"bare"',
    ]);
  });

  it('MCP-06 holds twenty images at most', async () => {
    const image = { type: 'image', data: png, mimeType: 'image/png' };
    const { content } = await outputOf({ content: Array.from({ length: 30 }, () => image) });
    if (typeof content === 'string') throw new Error('blocks expected');
    expect(content.filter(({ type }) => type === 'image')).toHaveLength(20);
    expect(content).toHaveLength(30);
  });

  it('is an error in words when the server refuses', async () => {
    const { mcp } = await connect(lists({ name: 't' }));
    await expect(only(mcp.tools()).call({}, await context())).rejects.toThrow(/MCP error -32601/);
  });

  it('is not waited for after an abort, and the server is told', async () => {
    const controller = new AbortController();
    const { mcp, heard } = await connect({
      ...lists({ name: 't' }),
      'tools/call': () => new Promise(() => {}),
    });
    const call = only(mcp.tools()).call({}, await context(controller.signal));
    controller.abort();
    await expect(call).rejects.toThrow('The call was cancelled.');
    const asked = heard.find(({ method }) => method === 'tools/call');
    expect(heard.at(-1)).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: asked?.id },
    });
  });
});

it.each(['notifications/cancelled', 'close'])('a question ends with %s', async (how) => {
  let signal: AbortSignal | undefined;
  const elicitation = new Elicitation('srv', (_, given) => {
    signal = given;
    return new Promise(() => {});
  });
  const mcp = await createInProcessMcp({
    ...{ serverName: 'srv', clientVersion: '1', elicitation, onWarning: () => {} },
    send: async ({ id, method }) => ({
      ...{ jsonrpc: '2.0', id: id ?? 0 },
      result: method === 'tools/list' ? { tools: [] } : {},
    }),
  });
  const params = { message: 'Which one?' };
  const answer = mcp.receive({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params });
  expect(signal?.aborted).toBe(false);
  if (how === 'close') mcp.close();
  else await mcp.receive({ jsonrpc: '2.0', method: how, params: { requestId: 'q' } });
  expect(await answer).toMatchObject({ id: 'q', result: { action: 'cancel' } });
  expect(signal?.aborted).toBe(true);
});
