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
/** A code for a token: one request, which no person is part of. */
const EXCHANGE_MS = 30_000;

export interface AuthorizeOptions {
  readonly server: HttpServer;
  /** Of all grants. */
  readonly folder: string;
  readonly clientVersion: string;
  /** The address to open. */
  readonly show: (address: URL) => void;
  /** The browser has come back, and the server is asked for the token. */
  readonly exchanging?: () => void;
  readonly signal: AbortSignal;
  readonly waitMs?: number;
  /** Counts from the answer of the browser, whatever is left of the wait. */
  readonly exchangeMs?: number;
}

export type Authorized =
  | { readonly kind: 'granted' }
  | { readonly kind: 'notNeeded' }
  | { readonly kind: 'failed'; readonly why: string };

/** What is waited for, and how long. */
interface Wait {
  readonly of: 'server' | 'person' | 'token';
  readonly ms: number;
  readonly ending: AbortSignal;
}

/** *Contract:* never rejects, and listens no longer than it waits. */
export async function authorizeServer(options: AuthorizeOptions): Promise<Authorized> {
  const { server, signal, waitMs = WAIT_MS } = options;
  const waits = new Waits(signal, waitMs);
  const listener = createServer();
  try {
    return await ask(options, listener, waits);
  } catch (error) {
    if (signal.aborted) return { kind: 'failed', why: 'it was interrupted' };
    if (waits.now.ending.aborted) return { kind: 'failed', why: overdue(waits.now, server.url) };
    const { kind, why } = failureOf(error, signal);
    return { kind: 'failed', why: kind === 'timeout' ? `${server.url}: ${why}` : why };
  } finally {
    listener.close();
    listener.closeAllConnections();
  }
}

class Waits {
  readonly #signal: AbortSignal;
  now: Wait;

  constructor(signal: AbortSignal, ms: number) {
    this.#signal = signal;
    this.now = { of: 'server', ms, ending: this.#within(ms) };
  }

  /** The person has what the server has left. */
  forPerson(): void {
    this.now = { ...this.now, of: 'person' };
  }

  forToken(ms: number): void {
    this.now = { of: 'token', ms, ending: this.#within(ms) };
  }

  #within(ms: number): AbortSignal {
    return AbortSignal.any([this.#signal, AbortSignal.timeout(ms)]);
  }
}

function overdue({ of, ms }: Wait, url: string): string {
  const within = `within ${ms / 1_000} s`;
  switch (of) {
    case 'server':
      return `${url} did not answer ${within}`;
    case 'person':
      return `nobody answered ${within}`;
    case 'token':
      return `the code was not exchanged for a token ${within}: the authorization server of ${url} did not answer; say it again`;
  }
}

async function ask(options: AuthorizeOptions, listener: Server, waits: Waits): Promise<Authorized> {
  const { server, folder, show, clientVersion, exchangeMs = EXCHANGE_MS } = options;
  const { ending } = waits.now;
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
      waits.forPerson();
      show(address);
    },
  });
  const answered = answerTo(listener, state, ending);
  answered.catch(() => {}); // nobody may have been asked
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const transport = new StreamableHTTPClientTransport(new URL(server.url), {
    authProvider: authorization,
    fetch: (address, init) => serverFetch(server, waits.now.ending)(address, init),
  });
  const client = new Client({ name: 'escapement', version: clientVersion }, { capabilities: {} });
  try {
    await client.connect(transport, { signal: ending });
    return { kind: 'notNeeded' };
  } catch (error) {
    if (!isShown) throw error;
    const answer = await answered;
    waits.forToken(exchangeMs);
    options.exchanging?.();
    await transport.finishAuth(answer);
    return { kind: 'granted' };
  } finally {
    await transport.close();
  }
}

/** Granted is not yet done: the code may still come to nothing, and the page is gone by then. */
const pages = {
  granted: 'You can close this window: the terminal says how it ended.\n',
  refused: 'Nothing was granted. Close this window.\n',
} as const;

/** The browser comes back. An answer to another question than ours (`state`) is none. */
function answerTo(listener: Server, state: string, ending: AbortSignal): Promise<URLSearchParams> {
  return new Promise((resolve, reject) => {
    ending.addEventListener('abort', () => reject(ending.reason), { once: true });
    listener.on('request', (request, response) => {
      const params = answerIn(request.url, state);
      const isGranted = params?.has('code') ?? false;
      response.writeHead(params ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8' });
      if (!params) response.end('Nothing is here.\n');
      else response.end(isGranted ? pages.granted : pages.refused);
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
