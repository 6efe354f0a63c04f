/** A server over HTTP that wants an authorization: what is said, and how a person gives it. */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { authorizeServer } from '../../../services/mcp/authorize-server.ts';
import { serverFetch } from '../../../services/mcp/server-fetch.ts';
import { callTool, say } from '../../../src/testing/index.ts';
import { type CliBox, openCliBox } from '../../tools/cli.ts';
import { freshFolder, serverFor } from './kit.ts';

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

interface Guard {
  /** Each access token is good for so many requests. */
  readonly goodFor?: number;
  /** What the person says on the page. */
  readonly says?: 'yes' | 'no';
  /** `waits`: no token before two requests were refused, so that two have to renew it at once. */
  readonly tokenEndpoint?: 'answers' | 'hangs' | 'waits';
}

/**
 * An MCP server and its authorization server in one, which checks what it is to check: who asks
 * (client, address of the answer, code verifier), and that each refresh token comes once. One that
 * comes again revokes everything, as the standard wants it.
 */
async function guardedServer({
  goodFor = Number.POSITIVE_INFINITY,
  says = 'yes',
  tokenEndpoint = 'answers',
}: Guard = {}) {
  let issued = 0;
  let left = 0;
  let isRevoked = false;
  const clients = new Map<string, readonly string[]>();
  const codes = new Map<string, { client: string; redirect: string; challenge: string }>();
  const refreshTokens = new Map<string, string>();
  const seen = { refreshes: 0, refused: [] as string[] };
  let unauthorized = 0;
  const grantFor = (wish: URLSearchParams): string | undefined => {
    const client = wish.get('client_id') ?? '';
    if (wish.get('grant_type') === 'refresh_token') {
      const token = wish.get('refresh_token') ?? '';
      const isGood = !isRevoked && refreshTokens.get(token) === client;
      if (!isGood) isRevoked = true;
      refreshTokens.delete(token);
      seen.refreshes += 1;
      return isGood ? client : undefined;
    }
    const code = codes.get(wish.get('code') ?? '');
    codes.delete(wish.get('code') ?? '');
    const verifier = wish.get('code_verifier') ?? '';
    const isGood =
      code?.client === client &&
      code.redirect === wish.get('redirect_uri') &&
      code.challenge === createHash('sha256').update(verifier).digest('base64url');
    return isGood ? client : undefined;
  };
  const rpc = async (request: IncomingMessage, response: ServerResponse, base: string) => {
    const text = await bodyOf(request);
    const isGood =
      !isRevoked && request.headers.authorization === `Bearer token-${issued}` && left-- > 0;
    if (!isGood && request.headers['x-key'] !== 'of no value') {
      if (request.headers.authorization !== undefined) unauthorized += 1;
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
      case '/register': {
        const wish = JSON.parse(await bodyOf(request)) as { redirect_uris: string[] };
        const client_id = `c${clients.size + 1}`;
        clients.set(client_id, wish.redirect_uris);
        return json(response, { ...wish, client_id }, 201);
      }
      case '/authorize': {
        const target = new URL(searchParams.get('redirect_uri') ?? '');
        const client = searchParams.get('client_id') ?? '';
        const isKnown = clients.get(client)?.includes(target.href) ?? false;
        const challenge = searchParams.get('code_challenge') ?? '';
        if (!isKnown || searchParams.get('code_challenge_method') !== 'S256' || !challenge) {
          return response.writeHead(400).end();
        }
        if (says === 'no') target.searchParams.set('error', 'access_denied');
        else {
          const code = randomUUID();
          codes.set(code, { ...{ client, challenge }, redirect: target.href.split('?')[0] ?? '' });
          target.searchParams.set('code', code);
        }
        target.searchParams.set('state', searchParams.get('state') ?? '');
        return response.writeHead(302, { location: target.href }).end();
      }
      case '/token': {
        const wish = new URLSearchParams(await bodyOf(request));
        if (tokenEndpoint === 'hangs') return;
        const isRenewal = wish.get('grant_type') === 'refresh_token';
        while (tokenEndpoint === 'waits' && isRenewal && unauthorized < 2) await sleep(10);
        const client = grantFor(wish);
        if (client === undefined) {
          seen.refused.push(String(wish.get('grant_type')));
          return json(response, { error: 'invalid_grant' }, 400);
        }
        issued += 1;
        left = goodFor;
        isRevoked = false;
        const refresh_token = randomUUID();
        refreshTokens.set(refresh_token, client);
        return json(response, {
          ...{ access_token: `token-${issued}`, token_type: 'Bearer', refresh_token },
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
  const expire = () => {
    left = 0;
  };
  const revoke = () => {
    isRevoked = true;
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    seen,
    expire,
    revoke,
  };
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

/** What comes to the address of the answer, beside the browser's way over the server's page. */
type Browser = (address: string) => Promise<unknown>;
const follow: Browser = (address) => fetch(address);

const login = async (box: CliBox, flags: readonly string[], browse: Browser = follow) => {
  const cli = box.start(['mcp', 'login', 'srv', ...flags]);
  cli.read();
  let address: string | undefined;
  while (address === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    address = /^(http:\S+\/authorize\S+)$/m.exec(cli.stdout)?.[1];
    if (cli.child.exitCode !== null) break;
  }
  if (address !== undefined) await browse(address);
  return cli.ended;
};

const prompt = ['-p', 'go', '--allowedTools=mcp__srv__peek', '--model=claude-sonnet-5-5'];

it('without a grant: the session goes on, and says what to do', async () => {
  const { url } = await guardedServer();
  const { server, told } = serverFor({ type: 'http', url, headers: {} });
  await server.connect();
  expect(server.status).toBe('needs-auth');
  expect(told.join()).toMatch(/asks for an authorization: `escapement mcp login srv` .* header/);
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
  expect(await login(box, flags)).toMatchObject({
    ...{ code: 0, stderr: 'escapement: exchanging the code …\n' },
  });
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
  const { url, seen } = await guardedServer({ goodFor: 3 });
  const { box, flags } = await boxWith(url);
  await login(box, flags);
  const run = await box.run([...prompt, ...flags]);
  expect(run).toMatchObject({ stdout: 'done\n', stderr: '' });
  expect(seen.refreshes).toBeGreaterThan(0);
}, 30_000);

it('two processes that find it run out at the same moment: one renews it, both work', async () => {
  const { url, seen, expire } = await guardedServer({ tokenEndpoint: 'waits' });
  const { box, flags } = await boxWith(url);
  await login(box, flags);
  expire();
  const { box: other } = await boxWith(url);
  const home = { ESCAPEMENT_HOME: box.env.ESCAPEMENT_HOME };
  const runs = await Promise.all([
    box.run([...prompt, ...flags]),
    other.run([...prompt, ...flags], '', home),
  ]);
  const good = { stdout: 'done\n', stderr: '', code: 0 };
  expect(runs).toMatchObject([good, good]);
  for (const { server } of [box, other]) {
    expect(JSON.stringify(server.requests.at(-1)?.body.messages)).toContain('seen');
  }
  // A refresh token that comes twice is a theft: the server would have revoked all.
  expect(seen).toMatchObject({ refreshes: 1, refused: [] });
  const later = await box.run([...prompt, ...flags]);
  expect(later).toMatchObject({ stderr: '', code: 0 });
}, 60_000);

it('a login finds the servers that a run with the same flags has', async () => {
  const box = await openCliBox({ replies: [] });
  closing.push(() => box.close());
  const { url } = await guardedServer();
  const headers = { 'x-key': 'of no value' };
  const entry = (address: string) => ({
    mcpServers: { srv: { type: 'http', url: address, headers } },
  });
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as a person writes it into the file
  writeFileSync(join(box.cwd, '.mcp.json'), JSON.stringify(entry('${TRACKER}')));
  mkdirSync(join(box.cwd, '.claude'));
  const settings = JSON.stringify({ env: { TRACKER: url } });
  writeFileSync(join(box.cwd, '.claude', 'settings.json'), settings);
  const say = (...flags: readonly string[]) => box.run(['mcp', 'login', 'srv', ...flags]);
  const found = { code: 0, stdout: expect.stringContaining(JSON.stringify(url)) };
  const none = { code: 2, stdout: '', stderr: expect.stringContaining('there is no server srv') };
  expect(await say('--trust')).toMatchObject(found);
  expect(await say('--setting-sources=project')).toMatchObject(found);
  expect(await say('--setting-sources=user,local')).toMatchObject(none);
  expect(await say('--trust', '--setting-sources=user')).toMatchObject(none);
  expect(await say('--trust', '--strict-mcp-config')).toMatchObject(none);
  const given = JSON.stringify(entry(url));
  expect(await say('--strict-mcp-config', '--mcp-config', given)).toMatchObject(found);
}, 60_000);

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

const ask = async (
  url: string,
  browse: Browser,
  more: Partial<Parameters<typeof authorizeServer>[0]> = {},
) => {
  const folder = more.folder ?? join(freshFolder(), 'grants');
  let browsed: Promise<unknown> = Promise.resolve();
  const end = await authorizeServer({
    ...{ server: { type: 'http', url, headers: {} }, folder, clientVersion: '1' },
    signal: new AbortController().signal,
    show: ({ href }) => {
      browsed = browse(href);
    },
    ...more,
  });
  await browsed.catch(() => {});
  return { end, folder };
};
const answerAddress = (address: string) => new URL(address).searchParams.get('redirect_uri') ?? '';
const grantIn = (folder: string) =>
  readFileSync(
    join(folder, String(readdirSync(folder).find((name) => /json$/.test(name)))),
    'utf8',
  );

it('junk and answers to another question are none; the right one still counts', async () => {
  const { url } = await guardedServer();
  const statuses: number[] = [];
  const { end } = await ask(url, async (address) => {
    const to = answerAddress(address);
    for (const query of ['?code=x', '?code=x&state=wrong', '?error=e&state=wrong']) {
      statuses.push((await fetch(`${to}${query}`)).status);
    }
    await new Promise<void>((resolve) => {
      const socket = connect(Number(new URL(to).port), '127.0.0.1', () => {
        socket.end('GET // HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
      });
      socket.on('data', (data) => statuses.push(Number(String(data).slice(9, 12))));
      socket.on('close', () => resolve());
    });
    await follow(address);
  });
  expect(statuses).toEqual([404, 404, 404, 404]);
  expect(end).toEqual({ kind: 'granted' });
});

it('a code that was not given to us is refused by the server, and told', async () => {
  const { url, seen } = await guardedServer();
  const { end, folder } = await ask(url, (address) => {
    const state = new URL(address).searchParams.get('state');
    return fetch(`${answerAddress(address)}?code=of-another&state=${state}`);
  });
  expect(end.kind).toBe('failed');
  expect(seen.refused).not.toEqual([]);
  expect(existsSync(folder)).toBe(false);
});

it('a person who refuses is told so on the page and here', async () => {
  const { url } = await guardedServer({ says: 'no' });
  let page = '';
  const { end } = await ask(url, async (address) => {
    page = await (await fetch(address)).text();
  });
  expect(page).toContain('Nothing was granted');
  expect(end).toMatchObject({ kind: 'failed', why: expect.stringMatching(/access_denied/) });
});

it('nobody who answers: it ends with the wait', async () => {
  const { url } = await guardedServer();
  const { end } = await ask(url, async () => {}, { waitMs: 1_500 });
  expect(end).toEqual({ kind: 'failed', why: 'nobody answered within 1.5 s' });
});

it('a token endpoint that hangs has a limit of its own, and the page promised nothing', async () => {
  const { url } = await guardedServer({ tokenEndpoint: 'hangs' });
  const told: string[] = [];
  let page = '';
  const browse: Browser = async (address) => {
    page = await (await fetch(address)).text();
  };
  const { end, folder } = await ask(url, browse, {
    exchangeMs: 300,
    exchanging: () => told.push('exchanging'),
  });
  expect(told).toEqual(['exchanging']);
  expect(page).toContain('the terminal says how it ended');
  expect(page).not.toContain('Done');
  const why = `the code was not exchanged for a token within 0.3 s: the authorization server of ${url} did not answer; say it again`;
  expect(end).toEqual({ kind: 'failed', why });
  expect(existsSync(folder)).toBe(false);
});

it('a server that never answers the first request is named', async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/mcp`;
  const { end } = await ask(url, follow, { waitMs: 500 });
  expect(end).toEqual({ kind: 'failed', why: `${url} did not answer within 0.5 s` });
});

it.each([[['--help']], [['login', '--help']], [['logout', '-h']]])(
  'mcp %j says what there is, and asks nobody',
  async (words) => {
    const box = await openCliBox({ replies: [] });
    closing.push(() => box.close());
    const run = await box.run(['mcp', ...words]);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toMatch(/^Usage: escapement mcp login <name>/);
  },
);

it('a question that is interrupted takes nothing away: the grant is renewed as before', async () => {
  const { url, seen, expire } = await guardedServer();
  const { folder } = await ask(url, follow);
  const before = grantIn(folder);
  expire();
  const ending = new AbortController();
  const { end } = await ask(url, async () => ending.abort(), { folder, signal: ending.signal });
  expect(end).toEqual({ kind: 'failed', why: 'it was interrupted' });
  expect(grantIn(folder)).toBe(before);
  const { server } = serverFor({ type: 'http', url, headers: {} }, { grants: folder });
  await server.connect();
  expect(server.status).toBe('connected');
  expect(seen).toMatchObject({ refreshes: 1, refused: [] });
});

it('sessions that find it run out at once renew it once, and none loses it', async () => {
  const { url, seen, expire } = await guardedServer();
  const { folder } = await ask(url, follow);
  expire();
  const servers = Array.from({ length: 4 }, () =>
    serverFor({ type: 'http', url, headers: {} }, { grants: folder }),
  );
  await Promise.all(servers.map(({ server }) => server.connect()));
  expect(servers.map(({ server }) => server.status)).toEqual(Array(4).fill('connected'));
  expect(seen).toMatchObject({ refreshes: 1, refused: [] });
});

it('a grant that the server has taken back is forgotten', async () => {
  const { url, revoke } = await guardedServer();
  const { folder } = await ask(url, follow);
  revoke();
  const { server } = serverFor({ type: 'http', url, headers: {} }, { grants: folder });
  await server.connect();
  expect(server.status).toBe('needs-auth');
  expect(readdirSync(folder).filter((name) => /json$/.test(name))).toEqual([]);
});

it('a file that holds no grant is none', async () => {
  const { url } = await guardedServer();
  const { folder } = await ask(url, follow);
  const [file] = readdirSync(folder);
  writeFileSync(join(folder, String(file)), JSON.stringify({ url, tokens: { access_token: 7 } }));
  const { server } = serverFor({ type: 'http', url, headers: {} }, { grants: folder });
  await server.connect();
  expect(server.status).toBe('needs-auth');
});

it('the headers of an entry go to no other origin', async () => {
  const others: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    others.push(request.headers['x-key'] as string | undefined);
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  closing.push(() => other.close());
  const { port } = other.address() as AddressInfo;
  const reach = serverFetch({
    type: 'http',
    url: 'http://127.0.0.1:1/mcp',
    headers: { 'x-key': 'k' },
  });
  await reach(`http://127.0.0.1:${port}/token`);
  const same = serverFetch({
    type: 'http',
    url: `http://127.0.0.1:${port}/mcp`,
    headers: { 'x-key': 'k' },
  });
  await same(`http://127.0.0.1:${port}/token`);
  expect(others).toEqual([undefined, 'k']);
});

it('the project’s own file is read only with --trust, and the address is said first', async () => {
  const box = await openCliBox({ replies: [] });
  closing.push(() => box.close());
  const { url } = await guardedServer();
  const servers = {
    mcpServers: { srv: { type: 'http', url, headers: { 'x-key': 'of no value' } } },
  };
  writeFileSync(join(box.cwd, '.mcp.json'), JSON.stringify(servers));
  const untrusted = await box.run(['mcp', 'login', 'srv']);
  expect(untrusted).toMatchObject({ code: 2, stdout: '' });
  expect(untrusted.stderr).toContain('--trust');
  const trusted = await box.run(['mcp', 'login', 'srv', '--trust']);
  expect(trusted.code).toBe(0);
  expect(trusted.stdout).toMatch(/^srv is at "http:/);
});
