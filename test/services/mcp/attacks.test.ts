/** Servers that mean harm, or are broken as if they did. */
import { describe, expect, it } from 'vitest';
import { externalTools } from '../../../services/mcp/external-tool.ts';
import { acceptSchema } from '../../../services/mcp/schema.ts';
import { say, toolNames } from '../../../src/testing/index.ts';
import { tell } from '../../tools/story.ts';
import { connected, odd, serverFor, textOf } from './kit.ts';

describe('the handshake and the lists', () => {
  it.each(['initialize', 'tools/list'])('a server that dies at %s is a status', async (method) => {
    const { server, told } = serverFor(odd({ dieAt: method }));
    await server.connect();
    expect(server.status).toBe('failed');
    expect(server.error).toMatch(/exit code 9|connection was closed/);
    expect(told).toHaveLength(1);
  });

  it.each(['initialize', 'tools/list'])('one that hangs at %s holds nobody up', async (method) => {
    const { server, told } = serverFor(odd({ hangAt: method }), { waitMs: 100 });
    await server.connect();
    expect(server.status).toBe('pending');
    expect(told[0]).toMatch(/is not ready after 0.1 s/);
    await server.close();
    expect(server.status).toBe('failed');
  });

  it.each([
    ['nothing', null],
    ['a list of anything', { tools: [null, 7, 'x', {}, { name: 5 }, { name: 'good' }] }],
    ['a list for ever', { tools: [], nextCursor: 'again' }],
  ])('%s instead of tools breaks nothing', async (_, answer) => {
    const { server } = serverFor(odd({ answers: { 'tools/list': answer } }));
    await server.connect();
    const names = server.tools.map(({ name }) => name);
    expect([server.status, names]).toEqual(
      answer === null
        ? ['failed', []]
        : ['connected', answer.tools.length > 0 ? ['mcp__srv__good'] : []],
    );
  });
});

describe('what it sends unasked', () => {
  it('notifications and answers about nothing, thousands of them: the calls go on', async () => {
    const { server, call } = await connected(odd({ storm: 2_000 }));
    expect(textOf(await call('echo'))).toBe('echo {}');
    expect(server.status).toBe('connected');
  });

  it('a list that has changed each time it is told is not asked for without end', async () => {
    const { call } = await connected(odd({ storm: 1 }));
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    // 50 ms, 100, 200, 400, 800: without a pause it would be hundreds
    expect(Number(textOf(await call('lists')))).toBeLessThan(12);
  });

  it('a flood on stderr is not kept', async () => {
    const { call, debug } = await connected(odd());
    expect(textOf(await call('flood', { times: 50 }))).toBe('flooded');
    const kept = debug.reduce((sum, text) => sum + text.length, 0);
    expect(kept).toBeLessThan(1 << 20);
  });
});

describe('schemas', () => {
  const wide = (ref: string) => Array.from({ length: 20 }, () => ({ $ref: ref }));

  it.each([
    ['itself', { $ref: '#' }],
    ['itself, many times', { allOf: wide('#') }],
    [
      'one that refers to one that refers …',
      {
        $defs: {
          a: { allOf: wide('#/$defs/b') },
          b: { anyOf: wide('#/$defs/c') },
          c: { oneOf: wide('#/$defs/d') },
          d: { allOf: wide('#/$defs/e') },
          e: { anyOf: wide('#/$defs/a') },
        },
        $ref: '#/$defs/a',
      },
    ],
  ])('that refer to %s are flattened, and not for ever', (_, schema) => {
    expect(acceptSchema(schema)).toMatchObject({ ok: true, schema: { type: 'object' } });
  });

  it('nested deeper than the stack: left out by name, the others stay', async () => {
    const { server, told } = await connected(odd({ nested: 200_000 }));
    expect(server.tools.map(({ name }) => name)).toContain('mcp__srv__echo');
    expect(told.join()).toMatch(/tool "deep": left out, .* nested too deep/);
  });
});

describe('servers whose names are one for the API', () => {
  const tools = [{ name: 'look', inputSchema: { type: 'object' } }];

  it('are refused: a rule for one would mean the other', async () => {
    const options = { mcpServers: { 'a b': odd({ tools }), a_b: odd({ tools }) } };
    await expect(tell({ script: { replies: [] }, options })).rejects.toThrow(
      /mcpServers: "a b" and "a_b" have the same name in the names of their tools \(mcp__a_b__\): rename one/,
    );
  });

  it('of the host’s own: each tool is sent once, and the other is told', async () => {
    const own = (name: string) => ({
      ...{ name, status: 'connected' as const, close: async () => {} },
      tools: externalTools(name, tools, async () => ({ content: [] }), 1_000).tools,
    });
    const told = await tell({
      script: { replies: [say('ok'), say('again')] },
      prompts: ['one', 'two'],
      options: { mcpClients: [own('a b'), own('a_b')] },
    });
    const names = told.requests[0] ? toolNames(told.requests[0]) : [];
    expect(names.filter((name) => name.startsWith('mcp__'))).toEqual(['mcp__a_b__look']);
    const warnings = told.lines.filter((line) => line.includes('mcp__a_b__look'));
    expect(warnings).toEqual([expect.stringMatching(/a_b.*mcp__a_b__look.*left out/)]);
  });
});
