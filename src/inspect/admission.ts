/**
 * Who may look. The server listens on this machine only, but any page in a browser of this machine
 * can send requests to it, and by DNS rebinding even under a name of its own. So the address must
 * hold a secret, the name must be ours, and the browser must say that the request comes from us.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { routes, TOKEN_HEADER } from './protocol.ts';

const TOKEN_BYTES = 24;
/** A command is small. */
export const COMMAND_BYTES_MAX = 64 * 1024;

export interface Asked {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}
export interface Refusal {
  readonly status: 403 | 404 | 405 | 411 | 413 | 415 | 421;
  readonly why: string;
}
/** Admitted: the route below the token. */
export interface Admitted {
  readonly route: string;
  readonly query: URLSearchParams;
  /** A page of another site: it may look on, never more. */
  readonly isGuest: boolean;
}

export class Admission {
  readonly token = randomBytes(TOKEN_BYTES).toString('base64url');
  readonly #hash = hashOf(this.token);
  /** POST is refused unless somebody has opted in. */
  readonly #allowsCommands: boolean;
  #port = 0;

  constructor(allowsCommands: boolean) {
    this.#allowsCommands = allowsCommands;
  }

  /** As soon as it is known. */
  set port(port: number) {
    this.#port = port;
  }

  /**
   * Looks at nothing but the request line and the headers: also for an upgrade.
   * @param guests other origins that are welcome, if they know the secret.
   */
  check(asked: Asked, guests: readonly string[] = []): Admitted | Refusal {
    const { headers, method } = asked;
    const hosts = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${this.#port}`);
    // DNS rebinding: the browser believes that it talks to somebody else
    if (!hosts.includes(headers.host ?? '')) {
      return { status: 421, why: 'this server is only known as 127.0.0.1 and localhost' };
    }
    const { origin } = headers;
    const isGuest = origin !== undefined && guests.includes(origin);
    if (origin !== undefined && !isGuest && !hosts.some((host) => origin === `http://${host}`)) {
      return { status: 403, why: 'another origin' };
    }
    const site = headers['sec-fetch-site'];
    if (!isGuest && site !== undefined && site !== 'same-origin' && site !== 'none') {
      return { status: 403, why: 'asked for by another site' };
    }
    const place = placeOf(asked.url);
    if (!place || !this.#isToken(place.token)) return { status: 404, why: 'not found' };
    const admitted = { route: place.route, query: place.query, isGuest };
    if (method === 'GET') return admitted;
    if (method !== 'POST' || place.route !== routes.command || !this.#allowsCommands) {
      return { status: 405, why: 'only GET' };
    }
    if (isGuest) return { status: 403, why: 'a guest may look on, and nothing else' };
    return this.#refusalOfCommand(headers) ?? admitted;
  }

  /** A form of another page can send neither this header nor JSON, and no page without an origin. */
  #refusalOfCommand(headers: IncomingHttpHeaders): Refusal | undefined {
    const token = headers[TOKEN_HEADER];
    if (typeof token !== 'string' || !this.#isToken(token) || headers.origin === undefined) {
      return { status: 403, why: `a command needs its Origin and ${TOKEN_HEADER}` };
    }
    if (!/^application\/json\s*(;|$)/.test(headers['content-type'] ?? '')) {
      return { status: 415, why: 'a command is JSON' };
    }
    const length = headers['content-length'];
    if (length === undefined) return { status: 411, why: 'a command says its length' };
    if (!(Number(length) <= COMMAND_BYTES_MAX))
      return { status: 413, why: 'no command is so long' };
    return undefined;
  }

  #isToken(text: string): boolean {
    return timingSafeEqual(hashOf(text), this.#hash);
  }
}

export const isRefused = (answer: Admitted | Refusal): answer is Refusal => 'status' in answer;

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** `/<token>/<route>?<query>`. No decoding of the path, no way up. */
function placeOf(url: string | undefined) {
  const [path = '', query = ''] = (url ?? '').split('?', 2);
  const [, token, route] = /^\/([A-Za-z0-9_-]+)\/([a-z.-]*)$/.exec(path) ?? [];
  if (token === undefined || route === undefined) return undefined;
  return { token, route, query: new URLSearchParams(query) };
}
