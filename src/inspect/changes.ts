/**
 * What differs between two immutable values. Parts that are the same object are the same and are
 * not looked into, so that the cost is that of the change and not of the value. Changes hold
 * references: they can be applied again, and are cut only when they are shown.
 */
import { type Caps, preview, stepCaps } from './preview.ts';
import { DIFF_OPS_MAX, type DiffOp, type Path } from './protocol.ts';

export type Change =
  | { readonly op: 'set'; readonly path: Path; readonly from: unknown; readonly to: unknown }
  | { readonly op: 'add'; readonly path: Path; readonly to: unknown }
  | { readonly op: 'remove'; readonly path: Path; readonly from: unknown }
  | {
      readonly op: 'append';
      readonly path: Path;
      readonly from: number;
      readonly items: readonly unknown[];
    }
  | { readonly op: 'truncate'; readonly path: Path; readonly from: number; readonly to: number };

/** Deeper than this a part is replaced as a whole. */
const DEPTH_MAX = 6;
/** Items of one array that are looked into; with more of them the array is replaced. */
const ITEMS_MAX = 8;

type Same = (one: unknown, other: unknown) => boolean;

/**
 * @param same by default the same object. With `sameContent` values that were made anew are
 * compared, too, which costs their size.
 * @returns nothing for the same value. What was changed in place is not seen.
 */
export function changesBetween(
  before: unknown,
  after: unknown,
  same: Same = Object.is,
): readonly Change[] {
  const changes: Change[] = [];
  compare(before, after, [], { changes, same });
  return changes;
}

interface Comparison {
  readonly changes: Change[];
  readonly same: Same;
}

function compare(before: unknown, after: unknown, path: Path, out: Comparison): void {
  if (out.same(before, after)) return;
  if (path.length < DEPTH_MAX) {
    if (Array.isArray(before) && Array.isArray(after)) {
      items(before, after, path, out);
      return;
    }
    if (isPlain(before) && isPlain(after)) {
      fields(before, after, path, out);
      return;
    }
  }
  out.changes.push({ op: 'set', path, from: before, to: after });
}

type Fields = Readonly<Record<string, unknown>>;

function fields(before: Fields, after: Fields, path: Path, out: Comparison): void {
  for (const key of Object.keys(after)) {
    if (!Object.hasOwn(before, key)) {
      out.changes.push({ op: 'add', path: [...path, key], to: after[key] });
    } else if (before[key] !== after[key]) compare(before[key], after[key], [...path, key], out);
  }
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) {
      out.changes.push({ op: 'remove', path: [...path, key], from: before[key] });
    }
  }
}

function items(
  before: readonly unknown[],
  after: readonly unknown[],
  path: Path,
  { changes, same }: Comparison,
): void {
  const common = Math.min(before.length, after.length);
  const differing: number[] = [];
  for (let at = 0; at < common && differing.length <= ITEMS_MAX; at += 1) {
    if (!same(before[at], after[at])) differing.push(at);
  }
  if (differing.length > ITEMS_MAX) {
    changes.push({ op: 'set', path, from: before, to: after });
    return;
  }
  for (const at of differing) compare(before[at], after[at], [...path, at], { changes, same });
  if (after.length > common) {
    changes.push({ op: 'append', path, from: common, items: after.slice(common) });
  } else if (before.length > common) {
    changes.push({ op: 'truncate', path, from: before.length, to: common });
  }
}

function isPlain(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The same JSON, whoever has made it. */
export function sameContent(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, at) => sameContent(item, other[at]));
  }
  if (!isPlain(one) || !isPlain(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && sameContent(one[key], other[key]))
  );
}

/** The value after the changes. Parts that were not changed are shared with the value before. */
export function applyChanges(before: unknown, changes: readonly Change[]): unknown {
  let value = before;
  for (const change of changes) value = changed(value, change, 0);
  return value;
}

function changed(value: unknown, change: Change, at: number): unknown {
  const key = change.path[at];
  if (key === undefined) return replaced(value, change);
  const copy = (Array.isArray(value) ? [...value] : { ...(value as Fields) }) as Fields;
  if (change.op === 'remove' && at === change.path.length - 1) {
    Reflect.deleteProperty(copy, key);
    return copy;
  }
  const before = Object.hasOwn(copy, key) ? copy[key] : undefined;
  // defined, not assigned: a key `__proto__` is a field like any other, and no prototype
  return Object.defineProperty(copy, key, {
    ...{ value: changed(before, change, at + 1), enumerable: true },
    ...{ configurable: true, writable: true },
  });
}

function replaced(value: unknown, change: Change): unknown {
  switch (change.op) {
    case 'set':
    case 'add':
      return change.to;
    case 'append':
      return [...(value as readonly unknown[]), ...change.items];
    case 'truncate':
      return (value as readonly unknown[]).slice(0, change.to);
    case 'remove':
      return undefined;
  }
}

const fromCaps: Caps = { ...stepCaps, depth: 2 };
const toCaps: Caps = { ...stepCaps, depth: 3 };
/** Of an array that has grown, the first new items. */
const APPENDED_SHOWN = 3;

/** For the page: at most `max` of them, cut. */
export function shownChanges(
  changes: readonly Change[],
  max = DIFF_OPS_MAX,
): { readonly ops: readonly DiffOp[]; readonly more: number } {
  return { ops: changes.slice(0, max).map(opOf), more: Math.max(0, changes.length - max) };
}

function opOf(change: Change): DiffOp {
  const { op, path } = change;
  switch (op) {
    case 'set':
      return { op, path, from: preview(change.from, fromCaps), to: preview(change.to, toCaps) };
    case 'add':
      return { op, path, to: preview(change.to, toCaps) };
    case 'remove':
      return { op, path, from: preview(change.from, fromCaps) };
    case 'append': {
      const { from, items: added } = change;
      const first = added.slice(0, APPENDED_SHOWN).map((one) => preview(one, toCaps));
      return { op, path, from, to: from + added.length, items: first };
    }
    case 'truncate':
      return { op, path, from: change.from, to: change.to };
  }
}
