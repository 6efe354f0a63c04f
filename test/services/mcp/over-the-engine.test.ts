/** External servers as the model and the host see them, through the real engine and real HTTP. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { externalToolName } from '../../../services/mcp/names.ts';
import { configFromOptions } from '../../../src/options.ts';
import { callTool, callTools, say, toolNames, toolResults } from '../../../src/testing/index.ts';
import { UsageError } from '../../../src/usage-error.ts';
import { tell } from '../../tools/story.ts';
import { everything, freshFolder, odd } from './kit.ts';

const listed = (...tools: readonly unknown[]) => odd({ tools });
const object = { type: 'object', properties: {} };
const initOf = (messages: readonly unknown[]) =>
  messages.find((message) => (message as { subtype?: unknown }).subtype === 'init');
const warningsOf = (messages: readonly unknown[]) =>
  messages.flatMap((message) => {
    const { subtype, content } = message as { subtype?: unknown; content?: unknown };
    return subtype === 'informational' ? [String(content)] : [];
  });

describe('MCP-01 names that the API refuses', () => {
  it('are mapped, and calls go back to the original', async () => {
    const names = ['Docker file scan', 'a.b/c', 'ünï', 'x'.repeat(200), 'good'];
    const sent = externalToolName('my srv', 'Docker file scan');
    const told = await tell({
      script: { replies: [callTool(sent, {}), say('ok')] },
      options: {
        mcpServers: { 'my srv': listed(...names.map((name) => ({ name, inputSchema: object }))) },
        // The form of rules that is written down: the name that the model sees.
        permissionMode: 'default',
        allowedTools: ['mcp__my_srv__Docker_file_scan'],
      },
    });
    const [first, second] = told.requests;
    const offered = first ? toolNames(first) : [];
    expect(offered).toContain('mcp__my_srv__good');
    expect(offered.filter((name) => name.startsWith('mcp__my_srv__'))).toHaveLength(names.length);
    expect(second && toolResults(second)[0]).toMatchObject({ text: 'Docker file scan {}' });
    expect(told.last.result).toBe('ok');
  });
});

describe('MCP-02 schemas that the API refuses', () => {
  it('are fixed or left out by name, and the good one is called', async () => {
    const anyOf = [object, { ...object, required: ['a'] }];
    const tools = [
      { name: 'good', inputSchema: object },
      { name: 'top_anyof', inputSchema: { anyOf } },
      { name: 'text', inputSchema: { type: 'string' } },
      { name: 'none' },
      { name: 'ref', inputSchema: { $ref: '#/$defs/In', $defs: { In: object } } },
      { name: 'huge', inputSchema: { ...object, description: 'd'.repeat(3) }, times: 100_000 },
    ];
    const told = await tell({
      script: { replies: [callTool('mcp__srv__good', {}), say('ok')] },
      options: { mcpServers: { srv: listed(...tools) } },
    });
    const [first, second] = told.requests;
    const own = (first ? toolNames(first) : []).filter((name) => name.startsWith('mcp__srv__'));
    expect(own.map((name) => name.slice(10))).toEqual(['good', 'top_anyof', 'none', 'ref', 'huge']);
    expect(second && toolResults(second)[0]).toMatchObject({ text: 'good {}' });
    expect(warningsOf(told.messages)).toEqual([
      expect.stringMatching(
        /^MCP server srv, tool "text": left out, its input is of type "string"/,
      ),
      expect.stringMatching(/^MCP server srv, tool "huge": .*reduced/),
    ]);
  });
});

describe('MCP-06 huge results', () => {
  it('are within the budget, whole on disk, and errors stay errors', async () => {
    const calls = ['big', 'bigError', 'images', 'odd', 'echo'];
    await tell({
      script: {
        replies: [
          callTools(calls.map((name) => [`mcp__srv__${name}`, { a: 1 }] as const)),
          say('ok'),
        ],
      },
      options: { mcpServers: { srv: odd() } },
      check: ({ requests, last }) => {
        expect(last.result).toBe('ok');
        const results = requests[1] ? toolResults(requests[1]) : [];
        const texts = results.map((result) => JSON.stringify(result));
        expect(Math.max(texts[0]?.length ?? 0, texts[1]?.length ?? 0)).toBeLessThan(20_000);
        const path = /(\/\S+\.txt)/.exec(texts[0] ?? '')?.[1] ?? '';
        expect(statSync(path).size).toBe(2_000_000);
        expect(results[1]).toMatchObject({ isError: true });
        expect(texts[3]).toContain('hologram');
        expect(results[4]).toMatchObject({ text: 'echo {"a":1}' });
      },
    });
  });
});

describe('MCP-04 through the engine', () => {
  it('a call without an answer ends in time, beside one that has its answer', async () => {
    const told = await tell({
      script: {
        replies: [
          callTools([
            ['mcp__hangs__sleep', {}],
            ['mcp__fine__echo', {}],
          ]),
          say('ok'),
        ],
      },
      options: { mcpServers: { hangs: odd(), fine: odd() } },
      environment: { MCP_TOOL_TIMEOUT: '500' },
    });
    const [slow, fast] = told.requests[1] ? toolResults(told.requests[1]) : [];
    expect(slow).toMatchObject({ isError: true, text: expect.stringMatching(/0\.5 s/) });
    expect(fast).toMatchObject({ text: 'echo {}' });
  });

  it('a server that does not come is told, and the turn goes on', async () => {
    const told = await tell({
      script: { replies: [say('ok')] },
      options: {
        mcpServers: { slow: odd({ start: -1 }), gone: odd({ refuse: true }), fine: odd() },
      },
      environment: { MCP_TIMEOUT: '2500' },
    });
    expect(initOf(told.messages)).toMatchObject({
      mcp_servers: [
        { name: 'slow', status: 'pending' },
        { name: 'gone', status: 'failed', error: 'it did not start: exit code 3' },
        { name: 'fine', status: 'connected' },
      ],
    });
    expect(warningsOf(told.messages).join('\n')).toMatch(
      /gone cannot be used.*\n.*slow is not ready/,
    );
  });
});

describe('what a session is offered', () => {
  it('resources come as two tools, prompts as commands', async () => {
    const told = await tell({
      script: { replies: [callTool('ListMcpResources', {}), say('ok')] },
      prompts: ['/mcp__srv__args-prompt Oslo'],
      options: { mcpServers: { srv: everything } },
    });
    const [first, second] = told.requests;
    expect(JSON.stringify(first?.body.messages)).toContain("What's weather in Oslo?");
    expect(JSON.stringify(second && toolResults(second)[0])).toContain('srv: ');
    expect(initOf(told.messages)).toMatchObject({
      slash_commands: expect.arrayContaining(['mcp__srv__args-prompt']),
    });
  });

  it('a project is asked for its servers only where it is trusted', async () => {
    const offered = async (settingSources: readonly 'project'[], more = {}) => {
      const told = await tell({
        script: { replies: [say('ok')] },
        prepare: ({ cwd }) =>
          writeFileSync(
            join(cwd, '.mcp.json'),
            JSON.stringify({ mcpServers: { own: odd({ tools: [{ name: 't' }] }) } }),
          ),
        options: { settingSources, ...more },
      });
      return told.requests[0] ? toolNames(told.requests[0]) : [];
    };
    expect(await offered(['project'])).toContain('mcp__own__t');
    expect(await offered([])).not.toContain('mcp__own__t');
    expect(await offered(['project'], { strictMcpConfig: true })).not.toContain('mcp__own__t');
  });

  it('a server that lives in the host, as an instance', async () => {
    let transport: { onmessage?: (message: unknown) => void; send(message: unknown): unknown };
    const instance = {
      async connect(given: typeof transport) {
        transport = given;
        given.onmessage = (message) => {
          const { id, method, params } = message as {
            id?: number;
            method: string;
            params: unknown;
          };
          if (id === undefined) return;
          const results: Record<string, unknown> = {
            initialize: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: {} },
            'tools/list': { tools: [{ name: 'ask' }] },
            'tools/call': { content: [{ type: 'text', text: JSON.stringify(params) }] },
          };
          void transport.send({ jsonrpc: '2.0', id, result: results[method] });
        };
      },
    };
    const told = await tell({
      script: { replies: [callTool('mcp__host__ask', { q: 1 }), say('ok')] },
      options: { mcpServers: { host: { type: 'sdk', name: 'host', instance } } },
    });
    const [result] = told.requests[1] ? toolResults(told.requests[1]) : [];
    expect(JSON.stringify(result)).toContain('\\"q\\":1');
  });
});

describe('a configuration that is wrong', () => {
  const wrong = (mcpServers: Record<string, unknown>) =>
    configFromOptions(
      { cwd: freshFolder(), mcpServers, settingSources: [] },
      { ANTHROPIC_API_KEY: 'k', ESCAPEMENT_HOME: freshFolder() },
    );

  it.each([
    [{ a: 1 }, /mcpServers: a is no object/],
    [{ a: {} }, /mcpServers: a\.command is missing/],
    [{ a: { command: 'x', args: 'y' } }, /a\.args is no list of texts/],
    [{ a: { command: 'x', env: { K: 1 } } }, /a\.env is no object of texts/],
    [
      { a: { type: 'sse', url: 'http://x' } },
      /a\.type "sse" .*not supported: use .*"type": "http"/,
    ],
    [{ a: { type: 'carrier pigeon' } }, /a\.type is "carrier pigeon": "stdio", "http" and "sdk"/],
    [{ a: { type: 'http', url: 'ftp://x' } }, /a\.url is no http\(s\) address/],
    [
      { a: { type: 'http', url: 'http://x', headers: { 'a b': 'c' } } },
      /a\.headers\.a b is no legal/,
    ],
    [
      { a: { command: 'x', args: [`\${NOT_SET_ANYWHERE}`] } },
      /a\.args\[0\] needs .*NOT_SET_ANYWHERE/,
    ],
    [{ '': { command: 'x' } }, /a server is named ""/],
  ])('%j is refused by its place', async (mcpServers, words) => {
    const failure = await wrong(mcpServers).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UsageError);
    expect(String(failure)).toMatch(words);
  });

  it('names the file of a project', async () => {
    const cwd = freshFolder();
    const file = join(cwd, '.mcp.json');
    const load = () =>
      configFromOptions(
        { cwd, settingSources: ['project'] },
        { ANTHROPIC_API_KEY: 'k', ESCAPEMENT_HOME: cwd },
      );
    writeFileSync(file, '{"mcpServers":');
    await expect(load()).rejects.toThrow(`${file}: not JSON`);
    writeFileSync(file, '{"servers":{}}');
    await expect(load()).rejects.toThrow(`${file}: holds no "mcpServers" object`);
    writeFileSync(file, '{"mcpServers":{"a":{"command":""}}}');
    await expect(load()).rejects.toThrow(`${file}: a.command is missing`);
    expect(readFileSync(file, 'utf8')).not.toBe('');
  });
});
