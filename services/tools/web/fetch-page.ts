/** Fetches what stands at an address: bounded in time, bytes and redirects. */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { hostOf, RefusedError, safeRequest, type WebAccess } from './safe-request.ts';

/** The text of the longest page that anybody reads, and room for its markup. */
const BODY_BYTES_MAX = 5 << 20;
const REDIRECTS_MAX = 5;

export interface Page {
  /** After redirects. */
  readonly url: string;
  readonly status: number;
  /** In lower case, without parameters; '' when the server does not say. */
  readonly mediaType: string;
  readonly charset: string | undefined;
  readonly bytes: Buffer;
  readonly isCut: boolean;
}

export type Fetched =
  | { readonly kind: 'page'; readonly page: Page }
  /** To a host that nobody was asked about: not followed. */
  | { readonly kind: 'elsewhere'; readonly url: string }
  | { readonly kind: 'refused'; readonly why: string };

/** *Contract:* operating errors of the network reject; what we do not do resolves. */
export async function fetchPage(
  address: string,
  access: WebAccess,
  signal: AbortSignal,
): Promise<Fetched> {
  const first = checkedUrl(address);
  if (typeof first === 'string') return { kind: 'refused', why: first };
  let url = first;
  for (let hop = 0; hop <= REDIRECTS_MAX; hop += 1) {
    const response = await requestOrRefuse(url, access, signal);
    if (response instanceof RefusedError) return { kind: 'refused', why: response.message };
    const target = redirectOf(response, url);
    if (target === undefined) return { kind: 'page', page: await pageOf(response, url) };
    response.destroy();
    const next = checkedUrl(target);
    if (typeof next === 'string') return { kind: 'refused', why: `a redirect to ${next}` };
    if (hostOf(next) !== hostOf(url) || isDowngrade(url, next)) {
      return { kind: 'elsewhere', url: next.href };
    }
    url = next;
  }
  return { kind: 'refused', why: `more than ${REDIRECTS_MAX} redirects` };
}

const isDowngrade = (from: URL, to: URL) => from.protocol === 'https:' && to.protocol === 'http:';

/** @returns the URL, or what is wrong with it. */
function checkedUrl(text: string): URL | string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url) return `${text} is no URL`;
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return `${url.protocol} is not fetched: only http and https`;
  }
  if (url.username !== '' || url.password !== '')
    return 'a URL with a password in it is not fetched';
  url.hash = '';
  return url;
}

async function requestOrRefuse(url: URL, access: WebAccess, signal: AbortSignal) {
  const headers = {
    accept: 'text/markdown, text/html;q=0.9, text/*;q=0.8, application/json;q=0.8, */*;q=0.1',
    'accept-encoding': 'gzip, br, deflate',
    'user-agent': 'escapement',
  };
  try {
    return await safeRequest(url, access, { headers, signal });
  } catch (error) {
    if (error instanceof RefusedError) return error;
    throw error;
  }
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage, url: URL): string | undefined {
  const { location } = headers;
  if (![301, 302, 303, 307, 308].includes(statusCode) || location === undefined) return undefined;
  return URL.canParse(location, url.href) ? new URL(location, url).href : location;
}

async function pageOf(response: IncomingMessage, url: URL): Promise<Page> {
  const type = response.headers['content-type'] ?? '';
  const body = await unpacked(response);
  const chunks: Buffer[] = [];
  let size = 0;
  let isCut = false;
  // Bytes are counted after unpacking: a bomb is small on the wire.
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk.subarray(0, BODY_BYTES_MAX - size));
    size += chunk.length;
    if (size > BODY_BYTES_MAX) {
      isCut = true;
      break;
    }
  }
  response.destroy();
  return {
    url: url.href,
    status: response.statusCode ?? 0,
    mediaType: (type.split(';')[0] ?? '').trim().toLowerCase(),
    charset: /charset\s*=\s*"?([\w-]+)/i.exec(type)?.[1],
    bytes: Buffer.concat(chunks),
    isCut,
  };
}

async function unpacked(response: IncomingMessage): Promise<Readable> {
  const { createBrotliDecompress, createGunzip, createInflate } = await import('node:zlib');
  const { pipeline } = await import('node:stream');
  const unpack = {
    gzip: createGunzip,
    'x-gzip': createGunzip,
    br: createBrotliDecompress,
    deflate: createInflate,
  };
  const encoding = (response.headers['content-encoding'] ?? '').trim().toLowerCase();
  const make = unpack[encoding as keyof typeof unpack];
  if (!make) return response;
  // An error of either reaches the reader; the callback keeps it from being nobody's.
  return pipeline(response, make(), () => {});
}
