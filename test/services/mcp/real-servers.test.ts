/** The protocol's own reference servers, over a pipe and over HTTP. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { HttpServer } from '../../../services/mcp/server-config.ts';
import {
  call,
  connected,
  context,
  everything,
  everythingFile,
  filesystem,
  freshFolder,
  serverFor,
  textOf,
} from './kit.ts';

describe('server-everything over stdio', () => {
  let shared: Awaited<ReturnType<typeof connected>>;
  beforeAll(async () => {
    shared = await connected(everything, { isShared: true });
  });
  afterAll(() => shared.server.close());

  it('tools, structured results, images, errors in its own words', async () => {
    const { server, call, told } = shared;
    expect(server.tools.map(({ name }) => name)).toContain('mcp__srv__get-sum');
    expect(textOf(await call('echo', { message: 'hi' }))).toBe('Echo: hi');
    const structured = await call('get-structured-content', { location: 'Chicago' });
    expect(structured.data).toMatchObject({ conditions: expect.any(String) });
    expect(textOf(await call('get-tiny-image'))).toContain('(image)');
    expect(await call('echo')).toMatchObject({ isError: true });
    expect(told).toEqual([]);
  });

  it('progress goes to the one who waits', async () => {
    const { call } = shared;
    const gists: string[] = [];
    const input = { duration: 0.3, steps: 3 };
    await call('trigger-long-running-operation', input, { progress: (gist) => gists.push(gist) });
    expect(gists.slice(0, 2)).toEqual(['1/3', '2/3']);
  });

  it('is told the folders that it may work in', async () => {
    const folder = freshFolder();
    const { call } = await connected(everything, { roots: () => [folder] });
    expect(textOf(await call('get-roots-list'))).toContain(`file://${folder}`);
  });

  it('asks the person through the host; without one it knows that nobody answers', async () => {
    const asked: unknown[] = [];
    const { call } = await connected(everything, {
      elicit: async (question) => {
        asked.push(question);
        return { action: 'accept', content: { name: 'Ada' } };
      },
    });
    expect(textOf(await call('trigger-elicitation-request'))).toContain('Name: Ada');
    expect(asked).toMatchObject([{ serverName: 'srv', mode: 'form', requestedSchema: {} }]);
    const alone = await connected(everything);
    expect(alone.server.tools.some(({ name }) => name.includes('elicitation'))).toBe(false);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('no screen'))],
    ['answers nonsense', async () => 'yes'],
  ])('an elicitation whose host %s is declined', async (_, elicit) => {
    const { call } = await connected(everything, { elicit });
    expect(textOf(await call('trigger-elicitation-request'))).toMatch(/declin/i);
  });

  it('its prompts are commands', async () => {
    const { server } = shared;
    const find = (name: string) => server.commands.find((one) => one.name.endsWith(name));
    expect(find('args-prompt')?.name).toBe('mcp__srv__args-prompt');
    expect(await find('args-prompt')?.expand('Paris Texas')).toContain('Paris, Texas');
    await expect(find('args-prompt')?.expand('')).rejects.toThrow('the argument city is missing');
  });

  it('has resources to list and to read', async () => {
    const { resourceTools } = await import('../../../services/mcp/resources.ts');
    const { server } = shared;
    const tools = resourceTools(() => [server]);
    const list = textOf(await call({ tools }, 'ListMcpResources'));
    const uri = /^(demo:\S+)/m.exec(list)?.[1] ?? '';
    const [, read] = tools;
    const output = await read?.call({ server: 'srv', uri }, context());
    expect(output && textOf(output).length).toBeGreaterThan(10);
    expect(await call({ tools }, 'ReadMcpResource', { server: 'other', uri })).toMatchObject({
      isError: true,
      content: expect.stringContaining('Those with some: srv'),
    });
    expect(await read?.parse({ uri: 1 })).toEqual({
      ok: false,
      message: 'server is missing, uri is no text',
    });
  });
});

describe('server-filesystem over stdio', () => {
  it('works in its roots and refuses what is outside', async () => {
    const folder = freshFolder();
    writeFileSync(join(folder, 'a.txt'), 'inside');
    const { server, call } = await connected(filesystem(folder), { roots: () => [folder] });
    expect(server.resources).toBeUndefined();
    const read = server.tools.find(({ name }) => name === 'mcp__srv__read_text_file');
    expect(read?.isReadOnly({})).toBe(true);
    expect(textOf(await call('read_text_file', { path: join(folder, 'a.txt') }))).toBe('inside');
    const outside = freshFolder();
    mkdirSync(join(outside, 'x'));
    const refused = await call('read_text_file', { path: join(outside, 'x') });
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toMatch(/denied|outside/);
  });
});

describe('server-everything over streamable HTTP', () => {
  const running: ChildProcess[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map(stop));
  });
  const stop = async (child: ChildProcess) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  const start = async (port: number) => {
    const env = { PATH: process.env.PATH ?? '', PORT: String(port) };
    const child = spawn(process.execPath, [everythingFile, 'streamableHttp'], { env });
    running.push(child);
    for await (const said of child.stderr) if (String(said).includes('listening')) break;
    return child;
  };
  const freePort = async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    server.close();
    await once(server, 'close');
    return typeof address === 'object' && address ? address.port : 0;
  };
  const at = (port: number): HttpServer => ({
    ...{ type: 'http', url: `http://127.0.0.1:${port}/mcp`, headers: {} },
  });

  it('is called, and called again after it was started anew', async () => {
    const port = await freePort();
    const first = await start(port);
    const { server, call } = await connected(at(port));
    expect(textOf(await call('echo', { message: 'a' }))).toBe('Echo: a');
    await stop(first);
    await expect(call('echo', { message: 'b' })).rejects.toThrow(/ECONNREFUSED.*Nothing was run/);
    const second = await start(port);
    expect(textOf(await call('echo', { message: 'c' }))).toBe('Echo: c');
    await stop(second);
    await start(port);
    // The new server does not know the session: nothing was run, so it is simply asked again.
    expect(textOf(await call('echo', { message: 'd' }))).toBe('Echo: d');
    expect(server.status).toBe('connected');
  });

  it('a server that is not there is a status and a warning', async () => {
    const { server, told } = serverFor(at(await freePort()));
    await server.connect();
    expect(server.status).toBe('failed');
    expect(told).toEqual([expect.stringMatching(/^MCP server srv cannot be used: .*ECONNREFUSED/)]);
  });
});
