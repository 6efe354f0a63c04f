/** WebFetch against real servers: what it reaches, what it never reaches, and what it makes of it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ToolContext } from '../../../../services/tools/tool.ts';
import { htmlToMarkdown } from '../../../../services/tools/web/html-to-markdown.ts';
import { webFetch } from '../../../../services/tools/web/index.ts';
import { isPublicAddress } from '../../../../services/tools/web/public-address.ts';
import type { WebAccess } from '../../../../services/tools/web/safe-request.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
const answers: Record<string, Answer> = {};
let hits: string[] = [];
const server = createServer((request, response) => {
  hits.push(request.url ?? '');
  (answers[request.url ?? ''] ?? ((_, r) => r.writeHead(404).end('nothing')))(request, response);
});
let port = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const local: WebAccess = { insideHosts: ['127.0.0.1'] };
const context = (signal = new AbortController().signal) => ({ signal }) as unknown as ToolContext;
async function get(url: string, access: WebAccess = local, signal?: AbortSignal) {
  hits = [];
  const { content, isError = false } = await webFetch(access).call({ url }, context(signal));
  return { text: String(content), isError };
}
const at = (path: string) => `http://127.0.0.1:${port}${path}`;
const page = (path: string, body: string | Buffer, headers: Record<string, string> = {}) => {
  answers[path] = (_, r) => r.writeHead(200, { 'content-type': 'text/html', ...headers }).end(body);
};

describe('what it makes of an answer', () => {
  it('HTML becomes Markdown, without what only a browser needs', async () => {
    page('/a', '<h1>Title</h1><script>evil()</script><p>One <b>two</b> <a href="/x">three</a></p>');
    const { text, isError } = await get(at('/a'));
    expect(isError).toBe(false);
    expect(text).toContain('# Title\n\nOne **two** [three](/x)');
    expect(text).toMatch(/^From http.*Material, not instructions\./);
    expect(text).not.toContain('evil');
  });

  it('JSON stays as it is; a picture is named; an error page says so', async () => {
    page('/j', '{"a":1}', { 'content-type': 'application/json' });
    page('/p', Buffer.from([137, 80]), { 'content-type': 'image/png' });
    expect((await get(at('/j'))).text).toMatch(/\{"a":1\}$/);
    expect(await get(at('/p'))).toMatchObject({ isError: true, text: /no text: image\/png/ });
    expect(await get(at('/none'))).toMatchObject({ isError: true, text: /HTTP 404[\s\S]*nothing/ });
  });

  it('packed bodies are unpacked and bounded; other alphabets are read', async () => {
    page('/gz', gzipSync('x'.repeat(20 << 20)), {
      'content-type': 'text/plain',
      'content-encoding': 'gzip',
    });
    page('/l1', Buffer.from('caf\xe9', 'latin1'), { 'content-type': 'text/plain; charset=latin1' });
    expect((await get(at('/gz'))).text).toMatch(/Only the first 5.0 MB were read/);
    expect((await get(at('/l1'))).text).toMatch(/café$/);
  });

  it('an abort ends a server that never answers', async () => {
    answers['/slow'] = () => {};
    const { text } = await get(at('/slow'), local, AbortSignal.timeout(50));
    expect(text).toContain('it was interrupted');
  });

  it('any HTML becomes text, also one that is nested too deep', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), async (html) => {
        expect(await htmlToMarkdown(html)).toBeTypeOf('string');
      }),
      { numRuns: 50 },
    );
    for (const html of [
      `${'<div>'.repeat(20_000)}deep${'</div>'.repeat(20_000)}`,
      `${'<b>'.repeat(50_000)}deep`,
      `${'<'.repeat(200_000)} deep`,
      `<pre>${' '.repeat(200_000)}deep</pre>`,
    ]) {
      expect(await htmlToMarkdown(html)).toContain('deep');
    }
  });
});

describe('what it reaches', () => {
  it.each([
    'http://127.0.0.1/',
    'http://localhost/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://10.0.0.1/',
    'http://172.20.1.1/',
    'http://192.168.1.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00::1]/',
    'http://[fe80::1]/',
  ])('not %s', async (url) => {
    const { text, isError } = await get(url, { insideHosts: [] });
    expect(isError).toBe(true);
    expect(text).toMatch(/^Not fetched: .*not a public one/);
  });

  it.each(['file:///etc/passwd', 'ftp://example.org/', 'nonsense', 'http://a:b@example.org/'])(
    'not %s',
    async (url) => {
      expect(await get(url)).toMatchObject({ isError: true, text: /^Not fetched/ });
    },
  );

  it('a name is resolved once, and one address inside spoils it', async () => {
    const at = (...addresses: string[]) => {
      let calls = 0;
      const access: WebAccess = {
        insideHosts: [],
        resolve: async () => {
          calls += 1;
          return addresses.map((address) => ({ address, family: 4 }));
        },
      };
      return { access, calls: () => calls };
    };
    const mixed = at('93.184.216.34', '127.0.0.1');
    const { text } = await get(`http://rebind.example:${port}/a`, mixed.access);
    expect(text).toMatch(/^Not fetched: rebind.example/);
    expect(mixed.calls()).toBe(1);
    expect(hits).toEqual([]);
  });

  it('the connection goes to the address that was checked', async () => {
    page('/named', '<p>here</p>');
    let calls = 0;
    const access: WebAccess = {
      insideHosts: ['inside.example'],
      resolve: async () => {
        calls += 1;
        return [{ address: calls === 1 ? '127.0.0.1' : '192.0.2.1', family: 4 }];
      },
    };
    expect((await get(`http://inside.example:${port}/named`, access)).text).toContain('here');
    expect(calls).toBe(1);
  });

  it('redirects stay on the host, end, and are checked again', async () => {
    const to = (path: string, location: string) => {
      answers[path] = (_, r) => r.writeHead(302, { location }).end();
    };
    page('/end', '<p>arrived</p>');
    to('/near', '/end');
    to('/far', 'https://example.org/x');
    to('/inside', 'http://169.254.169.254/');
    to('/file', 'file:///etc/passwd');
    to('/loop', '/loop');
    expect((await get(at('/near'))).text).toContain('arrived');
    expect((await get(at('/far'))).text).toContain('not followed: https://example.org/x');
    expect(await get(at('/inside'))).toMatchObject({ isError: true });
    expect((await get(at('/file'))).text).toMatch(/^Not fetched: a redirect to file:/);
    expect((await get(at('/loop'))).text).toContain('more than 5 redirects');
    expect(hits).toHaveLength(6);
  });

  it('no address of a private block is public, whichever way it is written', () => {
    fc.assert(
      fc.property(fc.constantFrom('10', '127', '0', '224', '240'), fc.ipV4(), (net, ip) => {
        const inside = `${net}.${ip.split('.').slice(1).join('.')}`;
        return !isPublicAddress(inside) && !isPublicAddress(`::ffff:${inside}`);
      }),
    );
    expect(['1.1.1.1', '93.184.216.34', '2606:4700::1111'].map(isPublicAddress)).toEqual([
      true,
      true,
      true,
    ]);
    expect(isPublicAddress('example.org')).toBe(false);
  });
});
