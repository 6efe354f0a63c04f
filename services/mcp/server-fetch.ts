/** How a server over HTTP is reached: its own headers go to it alone. */
import type { FetchLike } from '@modelcontextprotocol/client';
import type { HttpServer } from './server-config.ts';

/**
 * The SDK asks others as well, for an authorization: whose addresses the server names. The headers
 * of its entry are keys more often than not, so they do not go there.
 * @param signal ends every request. Absent: only their own do.
 */
export function serverFetch({ url, headers }: HttpServer, signal?: AbortSignal): FetchLike {
  const server = new URL(url);
  return (address, init = {}) => {
    const signals = [init.signal, signal].filter((one) => one !== undefined && one !== null);
    const sent = new Headers(init.headers);
    if (isOfServer(server, new URL(address))) {
      for (const [name, value] of Object.entries(headers ?? {})) {
        if (!sent.has(name)) sent.set(name, value);
      }
    }
    return fetch(address, {
      ...{ ...init, headers: sent },
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
    });
  };
}

/** The same origin, or the same host after it has led from http to https. */
const isOfServer = (server: URL, { protocol, host, hostname, port, origin }: URL): boolean =>
  origin === server.origin ||
  (server.protocol === 'http:' &&
    protocol === 'https:' &&
    hostname === server.hostname &&
    host === hostname &&
    port + server.port === '');
