/**
 * Where a text stops being JSON. `JSON.parse` says so only sometimes (Node 20 to 24 leave the place
 * out of "Unexpected token"), and a person with a broken file needs the line.
 */

const blank = /[ \t\r\n]*/y;
const scalar =
  /"(?:[^"\\]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** Nobody nests settings so deeply; the reader is recursive. */
const DEPTH_MAX = 200;

/** @returns the offset of the first character that does not belong, or `undefined` for JSON. */
export function jsonErrorAt(text: string): number | undefined {
  let at = 0;
  const takes = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (!found) return false;
    // In a text, a line end or a tab stands as an escape.
    const stray = found[0].startsWith('"') ? [...found[0]].findIndex((one) => one < ' ') : -1;
    at = stray < 0 ? pattern.lastIndex : at + stray;
    return stray < 0;
  };
  const token = (character: string): boolean => {
    takes(blank);
    if (text[at] !== character) return false;
    at += 1;
    return true;
  };
  const isKey = (): boolean => {
    takes(blank);
    return text[at] === '"' && takes(scalar);
  };
  const items = (end: string, item: () => boolean): boolean => {
    if (token(end)) return true;
    do {
      if (!item()) return false;
    } while (token(','));
    return token(end);
  };
  const value = (depth: number): boolean => {
    if (depth > DEPTH_MAX) return false;
    if (token('{')) return items('}', () => isKey() && token(':') && value(depth + 1));
    if (token('[')) return items(']', () => value(depth + 1));
    return takes(scalar);
  };
  if (!value(0)) return at;
  takes(blank);
  return at === text.length ? undefined : at;
}

/** `:line:column`, both from 1. */
export function placeAt(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return `:${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
}

/** `:line` of the last key or text in a list of steps (`['permissions', 'allow', 0]`). */
export function placeOfPath(text: string, path: readonly PropertyKey[]): string {
  let offset = 0;
  for (const step of path) {
    if (typeof step !== 'string') continue;
    const found = text.indexOf(JSON.stringify(step), offset);
    if (found < 0) break;
    offset = found;
  }
  return offset === 0 ? '' : `:${text.slice(0, offset).split('\n').length}`;
}
