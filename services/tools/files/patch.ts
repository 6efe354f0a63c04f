/** What an edit changed, for the host: hunks as in a unified diff. */

import { clipEnd } from '../process/clip.ts';
import { cutLine } from '../text/cut-line.ts';
import { numberedLine } from '../text/number-lines.ts';
import { DIFF_MS_MAX, SNIPPET_CHARS_MAX, SNIPPET_CONTEXT_LINES } from './limits.ts';

export interface Hunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  /** Each with ` `, `-`, `+` or `\` before it; `\r` stays at the end of a line that has it. */
  readonly lines: readonly string[];
}
export interface Patch {
  /** Empty when nothing changed, or when the change is too large to be shown. */
  readonly structuredPatch: readonly Hunk[];
  /** In words, when there are no hunks although something changed. */
  readonly summary?: string;
}

/** Above this the texts are not given to the diff at all: splitting them costs too much. */
const DIFF_CHARS_MAX = 4_000_000;
/** Hunks with more text are a burden for a host and for the transcript. */
const PATCH_CHARS_MAX = 200_000;

/** The difference, within a bounded time: by lines, else from the first to the last difference. */
export const patchOf = async (before: string, after: string): Promise<Patch> => {
  if (before === after) return { structuredPatch: [] };
  const hunks =
    Math.max(before.length, after.length) > DIFF_CHARS_MAX
      ? undefined
      : await diffOf(before, after);
  const structuredPatch = hunks ?? [coarseHunk(before, after)];
  const chars = structuredPatch.flatMap(({ lines }) => lines).reduce((n, l) => n + l.length, 0);
  if (chars <= PATCH_CHARS_MAX) return { structuredPatch };
  const removed = structuredPatch.reduce((sum, { oldLines }) => sum + oldLines, 0);
  const added = structuredPatch.reduce((sum, { newLines }) => sum + newLines, 0);
  return {
    structuredPatch: [],
    summary: `Too large to show: ${removed} lines replaced by ${added} lines`,
  };
};

const diffOf = async (before: string, after: string): Promise<Hunk[] | undefined> => {
  const { structuredPatch } = await import('diff');
  const patch = structuredPatch('', '', before, after, '', '', {
    context: SNIPPET_CONTEXT_LINES,
    timeout: DIFF_MS_MAX,
  });
  return patch?.hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => ({
    oldStart,
    oldLines,
    newStart,
    newLines,
    lines,
  }));
};

/** One hunk from the first line that differs to the last one: right, but not the smallest. */
const coarseHunk = (before: string, after: string): Hunk => {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before.charCodeAt(head) === after.charCodeAt(head)) head += 1;
  head = head === 0 ? 0 : before.lastIndexOf('\n', head - 1) + 1;
  let tail = 0;
  while (
    tail < most - head &&
    before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail)
  ) {
    tail += 1;
  }
  // Back to the end of a line that is wholly within the common tail.
  const newline = before.indexOf('\n', before.length - tail);
  const tailStart = newline === -1 ? before.length : newline + 1;
  const kept = before.length - tailStart;
  const oldLines = linesOf(before.slice(head, tailStart));
  const newLines = linesOf(after.slice(head, after.length - kept));
  const first = countLineFeeds(before, head) + 1;
  return {
    oldStart: oldLines.length === 0 ? first - 1 : first,
    oldLines: oldLines.length,
    newStart: newLines.length === 0 ? first - 1 : first,
    newLines: newLines.length,
    lines: [...oldLines.map((line) => `-${line}`), ...newLines.map((line) => `+${line}`)],
  };
};

const linesOf = (text: string): string[] =>
  text === '' ? [] : text.replace(/\n$/, '').split('\n');

const countLineFeeds = (text: string, end: number): number => {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) {
    count += 1;
  }
  return count;
};

/** Of one line in a snippet. */
const SNIPPET_LINE_CHARS_MAX = 300;

/** The changed places as they are now, with line numbers, for the model. `''`: nothing to show. */
export const snippetOf = ({ structuredPatch }: Patch): string => {
  const parts: string[] = [];
  let chars = 0;
  for (const hunk of structuredPatch) {
    const part = shownHunk(hunk);
    if (chars + part.length > SNIPPET_CHARS_MAX) {
      parts.push(`${clipEnd(part, SNIPPET_CHARS_MAX - chars)}\n[… more changes, not shown …]`);
      break;
    }
    parts.push(part);
    chars += part.length;
  }
  return parts.join('\n   …\n');
};

const shownHunk = ({ lines, newStart }: Hunk): string =>
  lines
    .filter((line) => line.startsWith(' ') || line.startsWith('+'))
    .map((line) => line.slice(1).replace(/\r$/, ''))
    .map((line, index) => numberedLine(cutLine(line, SNIPPET_LINE_CHARS_MAX), newStart + index))
    .join('\n');
