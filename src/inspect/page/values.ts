/** Values that were cut to a size: as one line, as a tree that opens piece by piece, as a diff. */
import type { Cut, DiffOp, Path, Piece, Preview } from '../protocol.ts';
import { el, lazyDetails } from './dom.ts';
import { count } from './words.ts';

type Keyed = { readonly [key: string]: Preview };
const isObject = (value: Preview): value is Keyed =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** `{ $: … }` says what stood there. */
function cutOf(value: Preview): Cut | undefined {
  if (!isObject(value) || Object.keys(value).length !== 1) return undefined;
  const said: unknown = value.$;
  return typeof said === 'object' && said !== null && 'is' in said ? (said as Cut) : undefined;
}
/** An own key `$` is sent as `$$`. */
const keyText = (key: string) => key.replace(/^\$\$/, '$');

function cutText(cut: Cut): string {
  switch (cut.is) {
    case 'undefined':
      return 'undefined';
    case 'cycle':
      return '↻ seen above';
    case 'number':
      return cut.text;
    case 'bigint':
      return `${cut.text}n`;
    case 'symbol':
    case 'function':
    case 'actor':
      return `${cut.is} ${cut.text}`;
    case 'string':
      return `${JSON.stringify(cut.head).slice(0, -1)}…" (${count(cut.length)} letters)`;
    case 'error':
      return `${cut.name}: ${cut.message}`;
    case 'bytes':
      return `${count(cut.length)} bytes`;
    case 'array':
      return `[… ${count(cut.length)} items]`;
    case 'object':
      return `{… ${count(cut.size)} ${cut.size === 1 ? 'key' : 'keys'}}`;
    case 'map':
    case 'set':
      return `${cut.is} of ${count(cut.size)}`;
  }
}

const LINE_LETTERS = 600;
/** On one line, cut. */
export function lineOf(value: Preview): string {
  const text = wholeLine(value);
  return text.length > LINE_LETTERS ? `${text.slice(0, LINE_LETTERS)}…` : text;
}
function wholeLine(value: Preview): string {
  const cut = cutOf(value);
  if (cut) return cutText(cut);
  if (Array.isArray(value)) return `[${value.map(wholeLine).join(', ')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const parts = Object.entries(value).map(([key, one]) => `${keyText(key)}: ${wholeLine(one)}`);
  return parts.length > 0 ? `{ ${parts.join(', ')} }` : '{}';
}

const kindOf = (value: Preview) => {
  const cut = cutOf(value);
  if (typeof value === 'string' || cut?.is === 'string') return 'string';
  if (cut?.is === 'error') return 'error';
  return typeof value === 'number' || typeof value === 'boolean' ? 'literal' : 'other';
};

/** Fetches the part of a value that lies at a path. */
export type Fetch = (path: Path) => Promise<Piece>;

/** A value that opens piece by piece. */
export function treeOf(fetch: Fetch, path: Path = []): HTMLElement {
  const host = el('div.tree', el('span.dim', 'loading…'));
  void fetch(path).then((piece) => {
    if (piece.missing !== undefined) host.replaceChildren(el('p.missing', piece.missing));
    else host.replaceChildren(...noteOf(piece), nodeOf(piece.value, path, fetch));
  });
  return host;
}

const noteOf = ({ fromStep, path }: Piece): readonly Node[] =>
  fromStep === undefined || path.length > 0
    ? []
    : [
        el(
          'p.missing',
          `As it was after step ${count(fromStep + 1)}: not every context is recorded.`,
        ),
      ];

function nodeOf(value: Preview, path: Path, fetch: Fetch): Node {
  const parts = partsOf(value);
  if (parts === undefined) return el(`div.leaf`, el(`span.v-${kindOf(value)}`, lineOf(value)));
  const host = el('div');
  if (parts.before > 0)
    host.append(el('div.leaf.dim', `… ${count(parts.before)} earlier items are not shown`));
  for (const [key, one] of parts.items) host.append(entryOf(key, one, [...path, key], fetch));
  if (parts.after > 0) host.append(el('div.leaf.dim', `… ${count(parts.after)} more keys`));
  if (parts.items.length === 0) host.append(el('div.leaf.dim', 'empty'));
  return host;
}

function entryOf(key: string | number, value: Preview, path: Path, fetch: Fetch): Node {
  const name = el('span.key', typeof key === 'number' ? String(key) : keyText(key));
  const inner = partsOf(value);
  const cut = cutOf(value);
  if (inner === undefined && cut?.is !== 'array' && cut?.is !== 'object' && cut?.is !== 'string') {
    return el('div.leaf', name, ': ', el(`span.v-${kindOf(value)}`, lineOf(value)));
  }
  const summary = el('span', name, ' ', el('span.dim.peek', lineOf(value).slice(0, 90)));
  return lazyDetails(summary, (host) => {
    if (inner !== undefined) host.append(nodeOf(value, path, fetch));
    else host.append(treeOf(fetch, path));
  });
}

/** What of a value can be shown without asking. Undefined: nothing in it, or it must be asked for. */
function partsOf(value: Preview) {
  const cut = cutOf(value);
  if (cut?.is === 'array') {
    const before = cut.length - cut.tail.length;
    return { before, after: 0, items: cut.tail.map((one, i) => [before + i, one] as const) };
  }
  if (cut?.is === 'object') {
    if (cut.head === undefined) return undefined;
    const items = Object.entries(cut.head);
    return { before: 0, after: cut.size - items.length, items };
  }
  if (cut?.is === 'map' || cut?.is === 'set')
    return { before: 0, after: 0, items: cut.head.map((one, i) => [i, one] as const) };
  if (cut !== undefined) return undefined;
  if (Array.isArray(value))
    return { before: 0, after: 0, items: value.map((one, i) => [i, one] as const) };
  if (!isObject(value)) return undefined;
  return { before: 0, after: 0, items: Object.entries(value) };
}

const opWords: Readonly<Record<DiffOp['op'], string>> = {
  init: 'begins',
  add: 'added',
  set: 'changed',
  remove: 'removed',
  append: 'grew',
  truncate: 'shrank',
};

/** Changes, one card each: what was, and what is. */
export function diffOf(ops: readonly DiffOp[], moreOps: number): HTMLElement {
  const cards = ops.map((op) => {
    const name = el('span.path', op.path.join(' › ') || 'everything');
    const how = opWords[op.op];
    const size = op.op === 'append' || op.op === 'truncate' ? ` ${op.from} → ${op.to}` : '';
    return el(
      'div.change',
      el('div.change-head', name, el('span.dim', `${how}${size}`)),
      bodyOf(op),
    );
  });
  const more = moreOps > 0 && el('p.dim', `and ${count(moreOps)} more changes`);
  return el('div.changes', ...cards, more);
}

const itemsText = (items: number) => (items === 1 ? 'one item' : `${count(items)} items`);

/** Of a value that begins: so many fields at once, the others folded. */
const BEGIN_LINES = 8;

function bodyOf(op: DiffOp): HTMLElement {
  const gone = (value: Preview) => el('div.gone', lineOf(value));
  const come = (value: Preview) => el('div.come', lineOf(value));
  switch (op.op) {
    case 'init': {
      const parts = partsOf(op.to)?.items ?? [];
      const lines = parts.map(([key, value]) => el('div.come', `${key}: ${lineOf(value)}`));
      if (lines.length === 0) return el('div.change-body', come(op.to));
      const rest = lines.slice(BEGIN_LINES);
      const more =
        rest.length > 0 &&
        lazyDetails(el('span.dim', `${count(rest.length)} more fields`), (host) =>
          host.append(...rest),
        );
      return el('div.change-body', ...lines.slice(0, BEGIN_LINES), more);
    }
    case 'add':
      return el('div.change-body', come(op.to));
    case 'set':
      return el('div.change-body', gone(op.from), come(op.to));
    case 'remove':
      return el('div.change-body', gone(op.from));
    case 'append': {
      const left = op.to - op.from - op.items.length;
      const more = left > 0 && el('div.dim', `… ${count(left)} more`);
      return el('div.change-body', ...op.items.map(come), more);
    }
    case 'truncate':
      return el('div.change-body', el('div.gone', itemsText(op.from - op.to)));
  }
}
