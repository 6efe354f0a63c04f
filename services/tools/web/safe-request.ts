/**
 * One HTTP request to a public address. The name is resolved once, every address is checked, and
 * the connection goes to an address that was checked: a name that changes its mind in between (DNS
 * rebinding) finds nothing.
 */
import type { LookupAddress } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { isPublicAddress } from './public-address.ts';

export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

export interface WebAccess {
  /** Hosts that may be reached although they are inside, as they stand in a URL, in lower case. */
  readonly insideHosts: readonly string[];
  /** Default: the system's resolver. */
  readonly resolve?: Resolve;
}

/** The request is not made. */
export class RefusedError extends Error {}

/** @throws RefusedError when the address is not public; else what the connection throws. */
export async function safeRequest(
  url: URL,
  access: WebAccess,
  options: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<IncomingMessage> {
  const host = hostOf(url);
  const isAllowed = access.insideHosts.includes(host);
  if (isIP(host) !== 0 && !isAllowed && !isPublicAddress(host)) throw refusal(host);
  const { request } =
    url.protocol === 'https:' ? await import('node:https') : await import('node:http');
  const lookup = lookupFor(access.resolve ?? systemResolve, (address) =>
    isAllowed ? true : isPublicAddress(address),
  );
  return new Promise((resolve, reject) => {
    // An agent of its own: no connection of somebody else is used again.
    const sent = request(url, { ...options, lookup, agent: false }, resolve);
    sent.on('error', reject);
    sent.end();
  });
}

/** Without brackets, without the dot at the end. */
export const hostOf = (url: URL): string =>
  url.hostname
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase();

const refusal = (host: string) =>
  new RefusedError(`${host} is an address inside of this machine or its network, not a public one`);

const systemResolve: Resolve = async (host) => {
  const { lookup } = await import('node:dns/promises');
  return lookup(host, { all: true });
};

/** One address that is inside spoils the name: whoever made it up knows why. */
function lookupFor(resolve: Resolve, isAllowed: (address: string) => boolean): LookupFunction {
  return (host, options, callback) => {
    resolve(host).then(
      (addresses) => {
        const [first] = addresses;
        if (!first) return callback(new Error(`${host} has no address`), '', 4);
        if (!addresses.every(({ address }) => isAllowed(address))) {
          return callback(refusal(host), '', 4);
        }
        if (options.all) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, '', 4),
    );
  };
}
