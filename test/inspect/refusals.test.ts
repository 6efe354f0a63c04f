/** Who may not look, and not command: a test for each refusal. */
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createActor, createMachine } from 'xstate';
import { type Inspector, startInspector } from '../../src/inspect/start-inspector.ts';

const lamp = createMachine({
  id: 'lamp',
  initial: 'off',
  states: { off: { on: { press: 'on' } }, on: { on: { press: 'off' } } },
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

function ask(url: string, { method = 'GET', path, headers = {}, body }: Asked = {}) {
  const { port, pathname, host } = new URL(url);
  return new Promise<Answer>((resolve, reject) => {
    const asked = request(
      {
        ...{ port, host: '127.0.0.1', method, path: path ?? pathname, agent: false },
        headers: { host, ...headers },
        setHost: false,
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        );
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

let looking: Inspector;
let commanding: Inspector;
const actor = createActor(lamp);
beforeAll(async () => {
  actor.start();
  looking = await startInspector(actor);
  commanding = await startInspector(actor, { send: true, hold: true });
});
afterAll(async () => {
  await looking.close();
  await commanding.close();
});

describe('what is refused', () => {
  const tokenOf = (url: string) => new URL(url).pathname;
  const port = () => new URL(looking.url).port;
  const cases: Readonly<Record<string, () => readonly [Asked, number]>> = {
    'DNS rebinding: a foreign name that leads here': () => [
      { headers: { host: `evil.example:${port()}` } },
      421,
    ],
    'our name without the port': () => [{ headers: { host: '127.0.0.1' } }, 421],
    'our name with another port': () => [{ headers: { host: '127.0.0.1:1' } }, 421],
    'a foreign name that begins like ours': () => [
      { headers: { host: `127.0.0.1.evil.example:${port()}` } },
      421,
    ],
    'a foreign origin': () => [{ headers: { origin: 'https://evil.example' } }, 403],
    'the origin of a file or a sandbox': () => [{ headers: { origin: 'null' } }, 403],
    'another program on this machine': () => [{ headers: { origin: 'http://127.0.0.1:1' } }, 403],
    'a request for another site': () => [{ headers: { 'sec-fetch-site': 'cross-site' } }, 403],
    'a request for a site beside': () => [{ headers: { 'sec-fetch-site': 'same-site' } }, 403],
    'no token': () => [{ path: '/' }, 404],
    'a wrong token': () => [{ path: `/${'A'.repeat(32)}/` }, 404],
    'a token that is too long': () => [{ path: `${tokenOf(looking.url).slice(0, -1)}A/` }, 404],
    'a way up': () => [{ path: `${tokenOf(looking.url)}../etc/passwd` }, 404],
    'an encoded way up': () => [{ path: `${tokenOf(looking.url)}%2e%2e%2fpackage.json` }, 404],
    'an unknown route': () => [{ path: `${tokenOf(looking.url)}nothing` }, 404],
    'a path that is none': () => [{ path: `${tokenOf(looking.url)}context?path={"a":1}` }, 400],
    'a command, when nobody has allowed any': () => [
      { method: 'POST', path: `${tokenOf(looking.url)}command` },
      405,
    ],
    'a POST to the page': () => [{ method: 'POST' }, 405],
    'another method': () => [{ method: 'DELETE' }, 405],
    OPTIONS: () => [{ method: 'OPTIONS' }, 405],
  };
  for (const [name, make] of Object.entries(cases)) {
    it(name, async () => {
      const [asked, status] = make();
      const answer = await ask(looking.url, asked);
      expect(answer.status).toBe(status);
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    });
  }
});

describe('a command', () => {
  const good = () => {
    const { origin, pathname } = new URL(commanding.url);
    const [, token = ''] = pathname.split('/');
    return {
      ...{ method: 'POST', path: `${pathname}command`, body: '{"do":"go"}' },
      headers: {
        ...{ origin, 'content-type': 'application/json', 'content-length': '11' },
        'x-inspector-token': token,
      },
    };
  };
  const without = (header: keyof ReturnType<typeof good>['headers']) => {
    const { [header]: _, ...headers } = good().headers;
    return { ...good(), headers };
  };
  it('is taken from the page', async () => {
    const { status, body } = await ask(commanding.url, good());
    expect([status, JSON.parse(body)]).toEqual([200, { ok: false, why: 'nothing is held' }]);
  });
  const refused: Readonly<Record<string, () => readonly [Asked, number]>> = {
    'without an origin': () => [without('origin'), 403],
    'without the token in a header': () => [without('x-inspector-token'), 403],
    'with a wrong token': () => [
      { ...good(), headers: { ...good().headers, 'x-inspector-token': 'A' } },
      403,
    ],
    'as a form of another page would send it': () => [
      { ...good(), headers: { ...good().headers, 'content-type': 'text/plain' } },
      415,
    ],
    'without a length': () => [
      {
        ...without('content-length'),
        headers: { ...without('content-length').headers, 'transfer-encoding': 'chunked' },
      },
      411,
    ],
    'that is too long': () => [
      {
        ...good(),
        headers: { ...good().headers, 'content-length': '70000' },
        body: 'x'.repeat(70_000),
      },
      413,
    ],
    'by GET': () => [{ ...good(), method: 'GET', body: '' }, 405],
  };
  for (const [name, make] of Object.entries(refused)) {
    it(`is refused ${name}`, async () => {
      const [asked, status] = make();
      expect((await ask(commanding.url, asked)).status).toBe(status);
    });
  }
  const said: Readonly<Record<string, readonly [unknown, string]>> = {
    'that is no command': [{ do: 'dance' }, 'this is no command'],
    'to an instance that does not run': [
      { do: 'send', instance: 'x', event: { type: 'press' } },
      'x does not run',
    ],
    'with an event that the machine does not know': [
      { do: 'send', instance: 'lamp', event: { type: 'pull' } },
      'pull is no event of this machine',
    ],
    'with an event of XState itself': [
      { do: 'send', instance: 'lamp', event: { type: 'xstate.stop' } },
      'this is no command',
    ],
    'with a breakpoint where there is no state': [
      { do: 'break', state: 'lamp.broken', on: true },
      'there is no state lamp.broken',
    ],
  };
  for (const [name, [command, why]] of Object.entries(said)) {
    it(`${name} is answered with a reason`, async () => {
      const text = JSON.stringify(command).replace('"lamp"', `"${actor.id}#1"`);
      const { headers, ...rest } = good();
      const length = String(Buffer.byteLength(text));
      const asked = { ...rest, headers: { ...headers, 'content-length': length }, body: text };
      const answer = JSON.parse((await ask(commanding.url, asked)).body);
      expect(answer.ok).toBe(false);
      expect(answer.why).toContain(why);
    });
  }
  it('sends an event of the alphabet, and only then the machine moves', async () => {
    const text = JSON.stringify({
      do: 'send',
      instance: `${actor.id}#1`,
      event: { type: 'press' },
    });
    const { headers, ...rest } = good();
    const asked = {
      ...{ ...rest, body: text },
      headers: { ...headers, 'content-length': String(Buffer.byteLength(text)) },
    };
    expect(actor.getSnapshot().value).toBe('off');
    expect(JSON.parse((await ask(commanding.url, asked)).body)).toEqual({ ok: true });
    expect(actor.getSnapshot().value).toBe('on');
  });
});

it('the page may not be framed, loads nothing from elsewhere and runs only our script', async () => {
  const { headers, body } = await ask(looking.url);
  const policy = String(headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  const [, nonce] = /script-src 'nonce-([^']+)'/.exec(policy) ?? [];
  expect(body).toContain(`nonce="${nonce}"`);
  expect(policy).not.toContain('unsafe');
  expect((await ask(looking.url)).headers['content-security-policy']).not.toBe(policy);
  expect(headers).toMatchObject({
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
});

it('an upgrade is refused like anything else, and its socket does not hold up the end', async () => {
  const inspector = await startInspector(actor);
  const { port, pathname } = new URL(inspector.url);
  const socket = connect(Number(port), '127.0.0.1');
  const closed = new Promise((resolve) => socket.once('close', () => resolve('closed')));
  socket.write(
    `GET ${pathname}xstate-inspect HTTP/1.1\r\nHost: evil.example:${port}\r\n` +
      'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  );
  const answer = await new Promise<string>((resolve) =>
    socket.once('data', (part) => resolve(String(part))),
  );
  expect(answer).toMatch(/^HTTP\/1.1 421 /);
  await inspector.close();
  expect(await closed).toBe('closed');
});

it('is listened for on this machine only', async () => {
  const { port } = new URL(looking.url);
  const { networkInterfaces } = await import('node:os');
  const other = Object.values(networkInterfaces())
    .flat()
    .find((one) => one && !one.internal && one.family === 'IPv4');
  if (!other) return; // a machine without a network: there is nobody to ask from
  const outcome = await new Promise((resolve) => {
    const socket = connect(Number(port), other.address);
    socket.once('connect', () => resolve('connected'));
    socket.once('error', ({ message }) => resolve(message));
  });
  expect(outcome).toContain('ECONNREFUSED');
});
