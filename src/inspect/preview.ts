/** Any value, cut to a size that can be shown. Never throws, never larger than its caps allow. */
import type { Cut, Path, Preview } from './protocol.ts';

export interface Caps {
  /** Of a text, before only its begin is shown. */
  readonly chars: number;
  /** Of an array: the last ones are shown. */
  readonly items: number;
  readonly keys: number;
  readonly depth: number;
}

/** For what comes with every step. */
export const stepCaps: Caps = { chars: 240, items: 20, keys: 40, depth: 4 };
/** For what a person has asked to see. */
export const pieceCaps: Caps = { chars: 4_000, items: 50, keys: 100, depth: 3 };

export function preview(value: unknown, caps: Caps = stepCaps): Preview {
  return shown(value, caps, caps.depth, []);
}

const cut = (what: Cut): Preview => ({ $: what as unknown as Preview });

function shown(value: unknown, caps: Caps, depth: number, above: readonly object[]): Preview {
  switch (typeof value) {
    case 'string':
      return value.length <= caps.chars ? value : cut(headOf(value, caps.chars));
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : cut({ is: 'number', text: String(value) });
    case 'undefined':
      return cut({ is: 'undefined' });
    case 'bigint':
    case 'symbol':
      return cut({ is: typeof value as 'bigint', text: String(value).slice(0, caps.chars) });
    case 'function':
      return cut({ is: 'function', text: value.name });
    default:
      return value === null ? null : ofObject(value as object, caps, depth, above);
  }
}

const headOf = (text: string, chars: number): Cut => ({
  is: 'string',
  length: text.length,
  // not the first half of a pair: what is sent must be well formed
  head: text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, ''),
});

function ofObject(value: object, caps: Caps, depth: number, above: readonly object[]): Preview {
  if (above.includes(value)) return cut({ is: 'cycle' });
  try {
    return ofKind(value, caps, depth, [...above, value]);
  } catch (error) {
    // a getter or a proxy that throws
    return cut({ is: 'error', name: 'unreadable', message: String(error).slice(0, caps.chars) });
  }
}

function ofKind(value: object, caps: Caps, depth: number, above: readonly object[]): Preview {
  const inner = (one: unknown) => shown(one, caps, depth - 1, above);
  if (value instanceof Error) {
    const { name, message } = value;
    return cut({ is: 'error', name, message: String(message).slice(0, caps.chars) });
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return cut({ is: 'bytes', length: value.byteLength });
  }
  if (isActor(value)) return cut({ is: 'actor', text: value.id });
  if (value instanceof Map || value instanceof Set) {
    const head = depth <= 0 ? [] : [...value].slice(0, caps.items).map(inner);
    return cut({ is: value instanceof Map ? 'map' : 'set', size: value.size, head });
  }
  if (Array.isArray(value)) {
    if (value.length === 0) return [];
    if (depth <= 0) return cut({ is: 'array', length: value.length, tail: [] });
    if (value.length <= caps.items) return value.map(inner);
    return cut({ is: 'array', length: value.length, tail: value.slice(-caps.items).map(inner) });
  }
  return ofRecord(value as Record<string, unknown>, caps, depth, inner);
}

function ofRecord(
  value: Record<string, unknown>,
  caps: Caps,
  depth: number,
  inner: (one: unknown) => Preview,
): Preview {
  const keys = Object.keys(value);
  if (keys.length === 0) return {};
  if (depth <= 0) return cut({ is: 'object', size: keys.length });
  const head: Record<string, Preview> = {};
  for (const key of keys.slice(0, caps.keys)) {
    const said = inner(value[key]);
    // `__proto__` as an own key must stay one
    Object.defineProperty(head, safeKey(key), { value: said, enumerable: true });
  }
  return keys.length <= caps.keys ? head : cut({ is: 'object', size: keys.length, head });
}

/** `$` is ours: a key of nothing but `$` gets one more. */
const safeKey = (key: string) => (/^\$+$/.test(key) ? `${key}$` : key);

const isActor = (value: object): value is { id: string; sessionId: string } =>
  'sessionId' in value &&
  'send' in value &&
  typeof value.send === 'function' &&
  'id' in value &&
  typeof value.id === 'string';

/** What lies at a place of a value that was cut: by the places of the whole one. */
export function previewAt(shown: Preview, path: Path): Preview | undefined {
  let at: unknown = shown;
  for (const key of path) {
    const what = cutIn(at);
    if (what?.is === 'array') at = what.tail[Number(key) - what.length + what.tail.length];
    else if (what?.is === 'map' || what?.is === 'set') at = what.head[Number(key)];
    else if (what)
      at = what.is === 'object' ? valueAt(what.head, [safeKey(String(key))]) : undefined;
    else at = valueAt(at, [typeof key === 'string' ? safeKey(key) : key]);
  }
  return at as Preview | undefined;
}

const cutIn = (value: unknown): Cut | undefined =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, '$')
    ? (value as { $: Cut }).$
    : undefined;

/** What lies at a place of a value. `undefined` where there is nothing. Own fields only. */
export function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    if (at instanceof Map || at instanceof Set) at = [...at][Number(key)];
    else if (Object.hasOwn(at, key)) at = (at as Record<string | number, unknown>)[key];
    else return undefined;
  }
  return at;
}
