/**
 * Line endings. The model sees and writes `\n`; the file keeps what it has. *Contract:* a line that
 * an edit does not touch keeps its ending, also where endings are mixed.
 */
export type Ending = '\n' | '\r\n';

/** A text with `\n` only, and the way back to places in the text as it is in the file. */
export interface LineFeedView {
  readonly text: string;
  /** `mixed`: both endings occur. */
  readonly endings: Ending | 'mixed' | 'none';
  /** The place in the file's text for a place in `text`. */
  rawOffset(offset: number): number;
}

export const lineFeedView = (raw: string): LineFeedView => {
  /** Places in `text` of the `\n` that have lost their `\r`, ascending. */
  const lost: number[] = [];
  for (let at = raw.indexOf('\r\n'); at !== -1; at = raw.indexOf('\r\n', at + 2)) {
    lost.push(at - lost.length);
  }
  const text = lost.length === 0 ? raw : raw.replaceAll('\r\n', '\n');
  return {
    text,
    endings: endingsOf(text, lost.length),
    rawOffset: (offset) => offset + countBelow(lost, offset),
  };
};

const endingsOf = (text: string, lostCount: number): LineFeedView['endings'] => {
  if (lostCount === 0) return text.includes('\n') ? '\n' : 'none';
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines === lostCount ? '\r\n' : 'mixed';
};

/** How many of the ascending numbers are below `limit`. */
const countBelow = (ascending: readonly number[], limit: number): number => {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? 0) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
};

/**
 * New text for a stretch of a file with mixed endings: each line that was there before keeps its
 * ending, a new one takes that of the line above it.
 * @param oldRaw the stretch as it is in the file.
 * @param newText with `\n` only.
 * @param near the ending at the place, for a stretch that has none of its own.
 */
export const withMixedEndings = (oldRaw: string, newText: string, near: Ending): string => {
  const oldLines = oldRaw.split('\n');
  const endings = oldLines
    .slice(0, -1)
    .map((line): Ending => (line.endsWith('\r') ? '\r\n' : '\n'));
  const oldTexts = oldLines.map((line) => line.replace(/\r$/, ''));
  const newTexts = newText.split('\n');
  const origins = alignLines(oldTexts, newTexts);
  let ending = endings[0] ?? near;
  return newTexts
    .map((line, index) => {
      if (index === newTexts.length - 1) return line;
      ending = endings[origins[index] ?? -1] ?? ending;
      return line + ending;
    })
    .join('');
};

/** A table of this size takes some 10 ms; larger middles take the ending above. */
const TABLE_CELLS_MAX = 1_000_000;

/** For each new line the index of the old line that it is, or -1: a longest common subsequence. */
const alignLines = (oldLines: readonly string[], newLines: readonly string[]): number[] => {
  const origins = newLines.map(() => -1);
  const shorter = Math.min(oldLines.length, newLines.length);
  let head = 0;
  while (head < shorter && oldLines[head] === newLines[head]) {
    origins[head] = head;
    head += 1;
  }
  let tail = 0;
  while (tail < shorter - head && oldLines.at(-1 - tail) === newLines.at(-1 - tail)) {
    tail += 1;
    origins[newLines.length - tail] = oldLines.length - tail;
  }
  const olds = oldLines.slice(head, oldLines.length - tail);
  const news = newLines.slice(head, newLines.length - tail);
  if (olds.length * news.length > TABLE_CELLS_MAX) return origins;
  for (const [newIndex, oldIndex] of commonLines(olds, news)) {
    origins[head + newIndex] = head + oldIndex;
  }
  return origins;
};

const commonLines = (olds: readonly string[], news: readonly string[]): [number, number][] => {
  const width = news.length + 1;
  const lengths = new Uint32Array((olds.length + 1) * width);
  const length = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = olds.length - 1; i >= 0; i -= 1) {
    for (let j = news.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        olds[i] === news[j]
          ? length(i + 1, j + 1) + 1
          : Math.max(length(i + 1, j), length(i, j + 1));
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < olds.length && j < news.length; ) {
    if (olds[i] === news[j]) {
      pairs.push([j, i]);
      i += 1;
      j += 1;
    } else if (length(i + 1, j) >= length(i, j + 1)) i += 1;
    else j += 1;
  }
  return pairs;
};
