/**
 * Asks a person for the grant that a server over HTTP wants: shows an address, and waits on this
 * machine for the browser to come back from it.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Authorization } from './authorization.ts';
import { failureOf } from './failure.ts';
import { GrantFile } from './grant-file.ts';
import type { HttpServer } from './server-config.ts';
import { serverFetch } from './server-fetch.ts';

/** A person who logs in elsewhere first needs minutes. */
const WAIT_MS = 10 * 60_000;

export interface AuthorizeOptions {
  readonly server: HttpServer;
  /** Of all grants. */
  readonly folder: string;
  readonly clientVersion: string;
  /** The address to open. */
  readonly show: (address: URL) => void;
  readonly signal: AbortSignal;
  readonly waitMs?: number;
}

export type Authorized =
  | { readonly kind: 'granted' }
  | { readonly kind: 'notNeeded' }
  | { readonly kind: 'failed'; readonly why: string };

/** *Contract:* never rejects, and listens no longer than it waits. */
export async function authorizeServer(options: AuthorizeOptions): Promise<Authorized> {
  const { signal, waitMs = WAIT_MS } = options;
  const ending = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
  const listener = createServer();
  try {
    return await ask(options, listener, ending);
  } catch (error) {
    if (signal.aborted) return { kind: 'failed', why: 'it was interrupted' };
    if (ending.aborted)
      return { kind: 'failed', why: `nobody answered within ${waitMs / 1_000} s` };
    return { kind: 'failed', why: failureOf(error, signal).why };
  } finally {
    listener.close();
    listener.closeAllConnections();
  }
}

async function ask(
  options: AuthorizeOptions,
  listener: Server,
  ending: AbortSignal,
): Promise<Authorized> {
  const { server, folder, show, clientVersion } = options;
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject).listen(0, '127.0.0.1', () => resolve());
  });
  const { port } = listener.address() as AddressInfo;
  const state = randomBytes(16).toString('hex');
  const redirectUrl = `http://127.0.0.1:${port}/callback`;
  let isShown = false;
  const authorization = new Authorization(new GrantFile(folder, server.url), {
    ...{ redirectUrl, state },
    show: (address) => {
      isShown = true;
      show(address);
    },
  });
  const answered = answerTo(listener, state, ending);
  answered.catch(() => {}); // nobody may have been asked
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const transport = new StreamableHTTPClientTransport(new URL(server.url), {
    authProvider: authorization,
    fetch: serverFetch(server, ending),
  });
  const client = new Client({ name: 'escapement', version: clientVersion }, { capabilities: {} });
  try {
    await client.connect(transport, { signal: ending });
    return { kind: 'notNeeded' };
  } catch (error) {
    if (!isShown) throw error;
    await transport.finishAuth(await answered);
    return { kind: 'granted' };
  } finally {
    await transport.close();
  }
}

/** The browser comes back. An answer to another question than ours (`state`) is none. */
function answerTo(listener: Server, state: string, ending: AbortSignal): Promise<URLSearchParams> {
  return new Promise((resolve, reject) => {
    ending.addEventListener('abort', () => reject(ending.reason), { once: true });
    listener.on('request', (request, response) => {
      const params = answerIn(request.url, state);
      const isGranted = params?.has('code') ?? false;
      response.writeHead(params ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8' });
      if (!params) response.end('Nothing is here.\n');
      else response.end(`${isGranted ? 'Done' : 'Nothing was granted'}. Close this window.\n`);
      if (params && isGranted) resolve(params);
      else if (params) reject(new Error(refusalIn(params)));
    });
  });
}

/** Anybody on this machine can send anything here. */
function answerIn(url: string | undefined, state: string): URLSearchParams | undefined {
  if (url === undefined || !URL.canParse(url, 'http://127.0.0.1')) return undefined;
  const { pathname, searchParams } = new URL(url, 'http://127.0.0.1');
  const isOurs = pathname === '/callback' && searchParams.get('state') === state;
  return isOurs ? searchParams : undefined;
}

function refusalIn(params: URLSearchParams): string {
  const code = params.get('error') ?? '';
  const why = /^[\w.-]{1,64}$/.test(code) ? ` (${code})` : '';
  return `nothing was granted to us${why}: say it again, and agree on the page`;
}
