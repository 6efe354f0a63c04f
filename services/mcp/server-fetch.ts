/** How a server over HTTP is reached: its own headers go to it alone. */
import type { FetchLike } from '@modelcontextprotocol/client';
import { LINE_BYTES_MAX } from './json-lines.ts';
import type { HttpServer } from './server-config.ts';

/**
 * The SDK asks others as well, for an authorization: whose addresses the server names. The headers
 * of its entry are keys more often than not, so they do not go there.
 * @param signal ends every request. Absent: only their own do.
 * @param lineBytesMax bytes of an answer without a line feed.
 */
export function serverFetch(
  { url, headers }: HttpServer,
  signal?: AbortSignal,
  lineBytesMax = LINE_BYTES_MAX,
): FetchLike {
  const server = new URL(url);
  return async (address, init = {}) => {
    const signals = [init.signal, signal].filter((one) => one !== undefined && one !== null);
    const sent = new Headers(init.headers);
    if (isOfServer(server, new URL(address))) {
      for (const [name, value] of Object.entries(headers ?? {})) {
        if (!sent.has(name)) sent.set(name, value);
      }
    }
    const response = await fetch(address, {
      ...{ ...init, headers: sent },
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
    });
    return withinLines(response, lineBytesMax);
  };
}

const NEWLINE = 0x0a;

/**
 * An answer is one line, as JSON or as an event of a stream. One that never ends must not fill our
 * memory; a stream of many may go on for days.
 */
function withinLines(response: Response, bytesMax: number): Response {
  if (!response.body) return response;
  let size = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      const end = bytes.lastIndexOf(NEWLINE);
      size = end < 0 ? size + bytes.length : bytes.length - end - 1;
      if (size <= bytesMax) controller.enqueue(bytes);
      else controller.error(new Error(`an answer of more than ${bytesMax} bytes is not taken`));
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers });
}

/** The same origin, or the same host after it has led from http to https. */
const isOfServer = (server: URL, { protocol, host, hostname, port, origin }: URL): boolean =>
  origin === server.origin ||
  (server.protocol === 'http:' &&
    protocol === 'https:' &&
    hostname === server.hostname &&
    host === hostname &&
    port + server.port === '');
