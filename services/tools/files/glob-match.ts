/**
 * Glob patterns, matched in bounded time. Not by a regular expression: `*a*a*a*a*b` made into one
 * takes 16 s for a name of 200 characters with picomatch 4.0.7, and minutes with one star more; a
 * pattern comes from a model. Here a star only ever goes back to the last star before it.
 *
 * `*` any characters but `/` · `?` one · `[a-z]`, `[!a-z]` one of · `{a,b}` alternatives · `**` as
 * a whole segment: any number of folders, at the end all that is below · `\` takes the next
 * character as it is. Names that begin with a dot are names like others.
 */
import { done, fault, type Outcome } from './outcome.ts';

export type PathMatcher = (path: string) => boolean;

/** Alternatives of all braces together; each is matched on its own. */
const ALTERNATIVES_MAX = 256;

type Token =
  | { readonly kind: 'character'; readonly character: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'star' }
  | { readonly kind: 'class'; readonly isNegated: boolean; readonly ranges: readonly Range[] };
type Range = readonly [from: string, to: string];
/** Tokens of one segment, or any number of segments. */
type Segment = readonly Token[] | '**';

/** A matcher for relative paths with `/` between their parts. */
export const compileGlob = (pattern: string): Outcome<PathMatcher> => {
  const alternatives = expandBraces(pattern);
  if (!alternatives) return fault(`The pattern has more than ${ALTERNATIVES_MAX} alternatives`);
  const globs = alternatives.map((alternative) =>
    alternative
      .replace(/^(?:\.?\/)+/, '')
      // At the end it stands for what is below, so there must be a name.
      .replace(/(^|\/)\*\*$/, '$1**/*')
      .split('/')
      .map(segmentOf),
  );
  return done((path) => {
    const names = path.split('/');
    return globs.some((segments) => matchesSegments(segments, names));
  });
};

/** `a{b,c}` → `ab`, `ac`. Braces without a comma or a partner stand for themselves. */
export const expandBraces = (pattern: string): string[] | undefined => {
  const results: string[] = [];
  const waiting = [pattern];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const parts = firstBraces(next);
    if (parts) waiting.push(...parts.reverse());
    else results.push(next);
    if (results.length + waiting.length > ALTERNATIVES_MAX) return undefined;
  }
  return results;
};

/** The pattern once for each alternative of its first outermost braces. */
const firstBraces = (pattern: string): string[] | undefined => {
  for (let open = pattern.indexOf('{'); open !== -1; open = pattern.indexOf('{', open + 1)) {
    if (isEscaped(pattern, open)) continue;
    const commas: number[] = [];
    let depth = 0;
    for (let at = open; at < pattern.length; at += 1) {
      const character = pattern[at];
      if (character === '\\') at += 1;
      else if (character === '{') depth += 1;
      else if (character === ',' && depth === 1) commas.push(at);
      else if (character === '}') depth -= 1;
      if (depth > 0 || character === '\\') continue;
      if (commas.length === 0) break;
      const ends = [...commas, at];
      const starts = [open, ...commas].map((index) => index + 1);
      return starts.map(
        (start, index) =>
          pattern.slice(0, open) + pattern.slice(start, ends[index]) + pattern.slice(at + 1),
      );
    }
  }
  return undefined;
};

const isEscaped = (text: string, at: number): boolean => {
  let slashes = 0;
  while (text[at - 1 - slashes] === '\\') slashes += 1;
  return slashes % 2 === 1;
};

const segmentOf = (text: string): Segment => {
  if (text === '**') return '**';
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    const found = character === '[' ? classAt(text, at) : undefined;
    if (found) {
      tokens.push(found.token);
      at = found.end;
    } else if (character === '*') {
      if (tokens.at(-1)?.kind !== 'star') tokens.push({ kind: 'star' });
    } else if (character === '?') tokens.push({ kind: 'one' });
    else if (character === '\\' && at + 1 < text.length) {
      at += 1;
      tokens.push({ kind: 'character', character: text[at] ?? '' });
    } else tokens.push({ kind: 'character', character });
  }
  return tokens;
};

/** `[…]` beginning at `start`; without an end the bracket stands for itself. */
const classAt = (text: string, start: number): { token: Token; end: number } | undefined => {
  const isNegated = text[start + 1] === '!' || text[start + 1] === '^';
  const ranges: Range[] = [];
  let at = start + (isNegated ? 2 : 1);
  for (let isFirst = true; at < text.length; isFirst = false) {
    if (text[at] === ']' && !isFirst) {
      return { token: { kind: 'class', isNegated, ranges }, end: at };
    }
    if (text[at] === '\\' && at + 1 < text.length) at += 1;
    const from = text[at] ?? '';
    const isRange = text[at + 1] === '-' && text[at + 2] !== undefined && text[at + 2] !== ']';
    ranges.push([from, isRange ? (text[at + 2] ?? '') : from]);
    at += isRange ? 3 : 1;
  }
  return undefined;
};

/** Both matchers are the same walk: where it fails, the last star takes one more. */
const matchesSegments = (segments: readonly Segment[], names: readonly string[]): boolean => {
  let segment = 0;
  let name = 0;
  let starSegment = -1;
  let starName = 0;
  while (name < names.length) {
    const current = segments[segment];
    if (current === '**') {
      starSegment = segment;
      starName = name;
      segment += 1;
    } else if (current !== undefined && matchesName(current, names[name] ?? '')) {
      segment += 1;
      name += 1;
    } else if (starSegment !== -1) {
      starName += 1;
      segment = starSegment + 1;
      name = starName;
    } else return false;
  }
  while (segments[segment] === '**') segment += 1;
  return segment === segments.length;
};

const matchesName = (tokens: readonly Token[], name: string): boolean => {
  let token = 0;
  let at = 0;
  let starToken = -1;
  let starAt = 0;
  while (at < name.length) {
    const current = tokens[token];
    const step = current === undefined ? 0 : stepOf(current, name, at);
    if (current?.kind === 'star') {
      starToken = token;
      starAt = at;
      token += 1;
    } else if (step > 0) {
      token += 1;
      at += step;
    } else if (starToken !== -1) {
      starAt += 1;
      token = starToken + 1;
      at = starAt;
    } else return false;
  }
  while (tokens[token]?.kind === 'star') token += 1;
  return token === tokens.length;
};

/** UTF-16 units that a token takes at a place; 0: it does not match. */
const stepOf = (token: Token, name: string, at: number): number => {
  switch (token.kind) {
    case 'character':
      return name[at] === token.character ? 1 : 0;
    case 'star':
      return 0;
    case 'one':
      return (name.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
    case 'class': {
      const character = name[at] ?? '';
      const isIn = token.ranges.some(([from, to]) => character >= from && character <= to);
      return isIn === token.isNegated ? 0 : 1;
    }
  }
};
