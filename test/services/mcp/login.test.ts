/** A server over HTTP that wants an authorization: what is said, and how a person gives it. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { callTool, say } from '../../../src/testing/index.ts';
import { type CliBox, openCliBox } from '../../tools/cli.ts';
import { serverFor } from './kit.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const part of request) text += String(part);
  return text;
};
const json = (response: ServerResponse, value: unknown, status = 200) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
};

/** An MCP server and its authorization server in one; each token is good for `goodFor` calls. */
async function guardedServer(goodFor = Number.POSITIVE_INFINITY) {
  let issued = 0;
  let left = 0;
  const seen = { refreshes: 0 };
  const rpc = async (request: IncomingMessage, response: ServerResponse, base: string) => {
    const text = await bodyOf(request);
    const isGood = request.headers.authorization === `Bearer token-${issued}` && left-- > 0;
    if (!isGood && request.headers['x-key'] !== 'of no value') {
      response.writeHead(401, {
        'www-authenticate': `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource"`,
      });
      return response.end();
    }
    if (request.method !== 'POST') return response.writeHead(405).end();
    const { id, method } = JSON.parse(text) as { id?: number; method: string };
    const results: Record<string, unknown> = {
      initialize: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'guarded', version: '1' },
      },
      'tools/list': { tools: [{ name: 'peek', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'seen' }] },
    };
    if (id === undefined) return response.writeHead(202).end();
    json(response, { jsonrpc: '2.0', id, result: results[method] ?? {} });
  };
  const server = createServer(async (request, response) => {
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { pathname, searchParams } = new URL(request.url ?? '/', base);
    switch (pathname) {
      case '/mcp':
        return rpc(request, response, base);
      case '/.well-known/oauth-protected-resource':
        return json(response, { resource: `${base}/mcp`, authorization_servers: [base] });
      case '/.well-known/oauth-authorization-server':
        return json(response, {
          issuer: base,
          authorization_endpoint: `${base}/authorize`,
          token_endpoint: `${base}/token`,
          registration_endpoint: `${base}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
        });
      case '/register':
        return json(response, { ...JSON.parse(await bodyOf(request)), client_id: 'c1' }, 201);
      case '/authorize': {
        const target = new URL(searchParams.get('redirect_uri') ?? '');
        target.searchParams.set('code', 'code-1');
        target.searchParams.set('state', searchParams.get('state') ?? '');
        return response.writeHead(302, { location: target.href }).end();
      }
      case '/token': {
        const wish = new URLSearchParams(await bodyOf(request));
        if (wish.get('grant_type') === 'refresh_token') seen.refreshes += 1;
        issued += 1;
        left = goodFor;
        return json(response, {
          ...{ access_token: `token-${issued}`, token_type: 'Bearer' },
          refresh_token: 'again',
        });
      }
      default:
        return response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, seen };
}

const boxWith = async (url: string): Promise<{ box: CliBox; flags: readonly string[] }> => {
  const box = await openCliBox({
    replies: [
      callTool('mcp__srv__peek', {}),
      say('done'),
      callTool('mcp__srv__peek', {}),
      say('x'),
    ],
  });
  closing.push(() => box.close());
  writeFileSync(join(box.cwd, 's.json'), JSON.stringify({ srv: { type: 'http', url } }));
  return { box, flags: ['--mcp-config', 's.json'] };
};

const login = async (box: CliBox, flags: readonly string[]) => {
  const cli = box.start(['mcp', 'login', 'srv', ...flags]);
  cli.read();
  let address: string | undefined;
  while (address === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    address = /^(http:\S+\/authorize\S+)$/m.exec(cli.stdout)?.[1];
    if (cli.child.exitCode !== null) break;
  }
  if (address !== undefined) await fetch(address); // what a browser does
  return cli.ended;
};

const prompt = ['-p', 'go', '--allowedTools=mcp__srv__peek', '--model=claude-sonnet-5-5'];

it('without a grant: the session goes on, and says what to do', async () => {
  const { url } = await guardedServer();
  const { server, told } = serverFor({ type: 'http', url, headers: {} });
  await server.connect();
  expect(server.status).toBe('needs-auth');
  expect(told.join()).toMatch(/asks for an authorization: `escapement mcp login <name>` .* header/);
});

it('a header of the entry is enough', async () => {
  const { url } = await guardedServer();
  const { server } = serverFor({ type: 'http', url, headers: { 'x-key': 'of no value' } });
  await server.connect();
  expect(server.tools.map(({ name }) => name)).toEqual(['mcp__srv__peek']);
});

it('a person grants it once; sessions use it, and it is forgotten when that is wanted', async () => {
  const { url } = await guardedServer();
  const { box, flags } = await boxWith(url);
  expect(await login(box, flags)).toMatchObject({ code: 0, stderr: '' });
  const folder = join(box.home, '.escapement', 'mcp-grants');
  const [file] = readdirSync(folder);
  expect(statSync(join(folder, String(file))).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder, String(file)), 'utf8')).toContain('token-1');
  const run = await box.run([...prompt, ...flags]);
  expect(run).toMatchObject({ stdout: 'done\n', stderr: '', code: 0 });
  expect(JSON.stringify(box.server.requests.at(-1)?.body.messages)).toContain('seen');
  expect(await box.run(['mcp', 'logout', 'srv', ...flags])).toMatchObject({ code: 0 });
  expect(readdirSync(folder)).toEqual([]);
  const after = await box.run([...prompt, ...flags]);
  expect(after.stderr).toContain('asks for an authorization');
}, 30_000);

it('a grant that has run out is renewed without anybody', async () => {
  const { url, seen } = await guardedServer(3);
  const { box, flags } = await boxWith(url);
  await login(box, flags);
  const run = await box.run([...prompt, ...flags]);
  expect(run).toMatchObject({ stdout: 'done\n', stderr: '' });
  expect(seen.refreshes).toBeGreaterThan(0);
}, 30_000);

it.each([
  [['mcp'], /say escapement mcp login <name>/],
  [['mcp', 'login'], /say escapement mcp login <name>/],
  [['mcp', 'login', 'svr', '--mcp-config', '{"srv":{"url":"http://x"}}'], /did you mean srv\?/],
  [['mcp', 'login', 'p', '--mcp-config', '{"p":{"command":"x"}}'], /program of this machine/],
])('%j is wrong usage', async (args, expected) => {
  const box = await openCliBox({ replies: [] });
  closing.push(() => box.close());
  const run = await box.run(args);
  expect(run).toMatchObject({ code: 2, stdout: '' });
  expect(run.stderr).toMatch(expected);
});
