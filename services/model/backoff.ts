/**
 * When a failed request may be sent again. The chart waits (0.5 s × 2ⁿ ≤ 8 s, or as long as the
 * server says); here only what it cannot know is worked out: the server's wish, and the dice.
 */

/** Either way. Enough to spread a fleet of workers that were refused at the same moment. */
const JITTER = 0.25;

/** What a response's headers look like: `Headers` of the SDK, a record of another client's. */
export type HeadersLike =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A share of the wait to add, in [-0.25, 0.25]. @param random in [0, 1). */
export const jitter = (random: number): number => (random * 2 - 1) * JITTER;

/**
 * How long the server wants us to wait, in ms: `retry-after-ms`, else `retry-after` as seconds or
 * as an HTTP date. Garbage, the past and nothing are all `undefined`.
 * @param nowMs for dates, ms since 1970.
 */
export function retryAfterMs(headers: HeadersLike | undefined, nowMs: number): number | undefined {
  const exact = positive(headerOf(headers, 'retry-after-ms'));
  if (exact !== undefined) return Math.round(exact);
  const text = headerOf(headers, 'retry-after');
  const seconds = positive(text);
  if (seconds !== undefined) return Math.round(seconds * 1_000);
  // A date names its month. `Date.parse` alone would take a lone number for a year.
  if (text === undefined || !/[a-z]{3}/i.test(text)) return undefined;
  const wait = Date.parse(text) - nowMs;
  return wait > 0 ? wait : undefined;
}

/** `x-should-retry: false`: the server knows that another try is pointless. */
export const forbidsRetry = (headers: HeadersLike | undefined): boolean =>
  headerOf(headers, 'x-should-retry')?.trim().toLowerCase() === 'false';

/** One header of either kind, `undefined` when it is absent. */
function headerOf(headers: HeadersLike | undefined, name: string): string | undefined {
  if (!headers) return undefined;
  if ('get' in headers && typeof headers.get === 'function') return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : undefined;
}

function positive(text: string | undefined): number | undefined {
  if (text === undefined || !/^\s*\d+(\.\d+)?\s*$/.test(text)) return undefined;
  const value = Number(text);
  // Above this a number is no longer exact, and no wait anyway.
  return value > 0 && value <= Number.MAX_SAFE_INTEGER / 1_000 ? value : undefined;
}
