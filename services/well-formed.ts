/**
 * No lone surrogate leaves this process: the API refuses a body that has one, and then the whole
 * session with it (rule S10). They come from models that are cut inside of a character, and from
 * tools that cut text by UTF-16 units.
 */

/** Deeper than any sensible input; `JSON.stringify` of the request would overflow the stack. */
const DEPTH_MAX = 200;

/** Under the `u` flag a pair is one character: this finds only surrogates without a partner. */
const LONE = /\p{Surrogate}/gu;

/** The text with U+FFFD for each lone surrogate. The same string when there is none. */
export const wellFormed = (text: string): string => text.replace(LONE, '\uFFFD');

/** Whether a text can be sent as it is. */
export const isWellFormed = (text: string): boolean => wellFormed(text) === text;

/**
 * A JSON value with every string and key well formed. The same reference when nothing changed.
 * @throws RangeError beyond `DEPTH_MAX` levels.
 */
export function deepWellFormed<T>(value: T, depth = 0): T {
  if (typeof value === 'string') return wellFormed(value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH_MAX) throw new RangeError(`nested deeper than ${DEPTH_MAX} levels`);
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => deepWellFormed(item, depth + 1));
    return items.some((item, at) => item !== value[at]) ? (items as T) : value;
  }
  // Base64 is ASCII, and long.
  if ('type' in value && value.type === 'base64') return value;
  let changed = false;
  const entries = Object.entries(value).map(([key, item]) => {
    const entry = [wellFormed(key), deepWellFormed(item as unknown, depth + 1)] as const;
    changed ||= entry[0] !== key || entry[1] !== item;
    return entry;
  });
  return changed ? (Object.fromEntries(entries) as T) : value;
}
