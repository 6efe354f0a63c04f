/** Text that survives UTF-8: a lone half of a surrogate pair makes the API refuse the request. */

/** With the `u` flag a surrogate only matches when its other half is missing. */
const LONE = /\p{Surrogate}/u;
const EVERY_LONE = /\p{Surrogate}/gu;

/** Replaces lone surrogates by U+FFFD in all strings and keys; the same value when there are none. */
export function wellFormed<T>(value: T): T {
  if (typeof value === 'string') {
    return (LONE.test(value) ? value.replace(EVERY_LONE, '\uFFFD') : value) as T;
  }
  if (Array.isArray(value)) {
    const items = value.map(wellFormed);
    return (items.some((item, at) => item !== value[at]) ? items : value) as T;
  }
  if (value === null || typeof value !== 'object') return value;
  let changed = false;
  const fields = Object.entries(value).map(([key, field]) => {
    const clean = [wellFormed(key), wellFormed(field)] as const;
    changed ||= clean[0] !== key || clean[1] !== field;
    return clean;
  });
  return changed ? (Object.fromEntries(fields) as T) : value;
}
