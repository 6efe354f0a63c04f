/** Says what in a file comes closest to a text that does not occur in it. */
import { clipEnd } from '../process/clip.ts';
import { numberedLine, numberLines } from '../text/number-lines.ts';

/** Lines that are looked at; comparing a line costs some 10 µs. */
const LINES_MAX = 50_000;
const COMPARED_LINES_MAX = 10_000;
/** Compared and shown of one line. */
const LINE_CHARS_MAX = 160;
/** Lines of the file that a hint shows. */
const SHOWN_LINES_MAX = 12;
/** Below this share of common pairs of letters two lines have little in common. */
const LIKENESS_MIN = 0.6;

/** A sentence or two with the lines of the file, or `''`. Both texts with `\n` only. */
export const hintForNoMatch = (text: string, wanted: string): string => {
  const lines = text.split('\n', LINES_MAX);
  const unnumbered = wanted.replace(/^ *\d+\t/gm, '');
  if (unnumbered !== wanted && text.includes(unnumbered)) {
    return ' It matches without the line numbers that Read puts before each line.';
  }
  const wantedLines = wanted.replace(/^\n+|\n+$/g, '').split('\n');
  return spacingHint(lines, wantedLines) ?? closestHint(lines, wantedLines) ?? '';
};

const spacingHint = (lines: readonly string[], wanted: readonly string[]): string | undefined => {
  const trimmed = lines.map((line) => line.trim());
  const parts = wanted.map((line) => line.trim());
  if (parts.every((part) => part === '')) return undefined;
  const at = trimmed.findIndex(
    (line, index) =>
      line === parts[0] && parts.every((part, offset) => trimmed[index + offset] === part),
  );
  if (at === -1) return undefined;
  const shown = lines.slice(at, at + Math.min(parts.length, SHOWN_LINES_MAX));
  return ` These lines differ from it only in white space:\n${numberLines(shown.map(cut), at + 1)}`;
};

const closestHint = (lines: readonly string[], wanted: readonly string[]): string | undefined => {
  const longest = wanted.map((line) => line.trim()).reduce((a, b) => (b.length > a.length ? b : a));
  if (longest.length < 3) return undefined;
  const pairs = pairsOf(longest);
  let best = { index: -1, likeness: 0 };
  for (const [index, line] of lines.slice(0, COMPARED_LINES_MAX).entries()) {
    const likeness = line.trim() === longest ? 1 : likenessOf(pairs, pairsOf(line.trim()));
    if (likeness > best.likeness) best = { index, likeness };
  }
  if (best.likeness < LIKENESS_MIN) return undefined;
  const word =
    best.likeness === 1 ? 'This line is the same, those around it are not' : 'Closest line';
  return ` ${word}:\n${numberedLine(cut(lines[best.index] ?? ''), best.index + 1)}`;
};

const cut = (line: string): string => clipEnd(line, LINE_CHARS_MAX);

const pairsOf = (line: string): Set<string> => {
  const pairs = new Set<string>();
  const end = Math.min(line.length, LINE_CHARS_MAX) - 1;
  for (let index = 0; index < end; index += 1) pairs.add(line.slice(index, index + 2));
  return pairs;
};

/** Dice's coefficient: 1 for the same pairs, 0 for none in common. */
const likenessOf = (one: ReadonlySet<string>, other: ReadonlySet<string>): number => {
  if (one.size === 0 || other.size === 0) return 0;
  const most = (2 * Math.min(one.size, other.size)) / (one.size + other.size);
  if (most < LIKENESS_MIN) return 0; // too different in length to be worth counting
  let common = 0;
  for (const pair of one) if (other.has(pair)) common += 1;
  return (2 * common) / (one.size + other.size);
};
