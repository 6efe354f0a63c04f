import type { z } from 'zod';
import { amount, countOf } from '../text/amounts.ts';
import type { ToolOutput } from '../tool.ts';
import type { grepInput } from './inputs.ts';
import { GREP_CHARS_MAX, GREP_COLLECTED_MAX, GREP_SHOWN, SEARCH_MS_MAX } from './limits.ts';
import type { FileHits, SearchResult } from './search-types.ts';

export type GrepInput = z.output<typeof grepInput>;
export type GrepMode = NonNullable<GrepInput['output_mode']>;

/** A file's hits with the path as it is shown. */
export interface ShownFile extends FileHits {
  readonly shown: string;
}

export interface GrepAnswer {
  readonly mode: GrepMode;
  readonly input: GrepInput;
  readonly files: readonly ShownFile[];
  readonly result: SearchResult;
}

/** What was found, as much as fits, and how to see the rest. */
export const answerOf = ({ mode, input, files, result }: GrepAnswer): ToolOutput => {
  const entries = entriesOf(mode, input, files);
  const offset = input.offset ?? 0;
  const limit = input.head_limit === 0 ? Number.MAX_SAFE_INTEGER : (input.head_limit ?? GREP_SHOWN);
  const asked = entries.slice(offset, offset + limit);
  const shown = fitting(asked);
  const notes = [...notesOf(result), ...windowNotes(entries.length, offset, asked, shown)];
  const total = files.reduce((sum, { count }) => sum + count, 0);
  const summary =
    mode === 'count' && files.length > 0
      ? [`${countOf(total, 'matching line')} in ${countOf(files.length, 'file')}.`]
      : [];
  const head = files.length === 0 ? ['No matches found.'] : shown;
  return {
    content: [...head, ...summary, ...notes].join('\n'),
    data: {
      mode,
      numFiles: files.length,
      filenames: files.slice(0, GREP_SHOWN).map(({ shown: name }) => name),
      ...(mode === 'content' ? { content: shown.join('\n'), numLines: shown.length } : {}),
      ...(mode === 'count' ? { content: shown.join('\n'), numMatches: total } : {}),
      ...(shown.length < entries.length ? { appliedLimit: shown.length } : {}),
      ...(offset > 0 ? { appliedOffset: offset } : {}),
      ...(result.shortfall ? { truncated: true } : {}),
    },
  };
};

const entriesOf = (mode: GrepMode, input: GrepInput, files: readonly ShownFile[]): string[] => {
  switch (mode) {
    case 'files_with_matches':
      return files.map(({ shown }) => shown);
    case 'count':
      return files.map(({ shown, count }) => `${shown}:${count}`);
    case 'content': {
      const isNumbered = input['-n'] ?? true;
      const hasContext = [input['-A'], input['-B'], input['-C']].some((lines) => (lines ?? 0) > 0);
      return files.flatMap((file) => linesOf(file, isNumbered, hasContext));
    }
  }
};

/** `path:7:text` for a match, `path-7-text` for context, `--` where lines are left out. */
const linesOf = (file: ShownFile, isNumbered: boolean, hasContext: boolean): string[] => {
  const shown: string[] = [];
  let last = Number.NaN;
  for (const { lineNumber, isMatch, text } of file.lines) {
    if (hasContext && lineNumber !== last + 1) shown.push('--');
    last = lineNumber;
    const mark = isMatch ? ':' : '-';
    shown.push(`${file.shown}${mark}${isNumbered ? `${lineNumber}${mark}` : ''}${text}`);
  }
  return shown;
};

/** As many entries as the result may hold; at least one. */
const fitting = (entries: readonly string[]): string[] => {
  let chars = 0;
  const end = entries.findIndex((entry, index) => {
    chars += entry.length + 1;
    return chars > GREP_CHARS_MAX && index > 0;
  });
  return entries.slice(0, end === -1 ? entries.length : end);
};

const windowNotes = (
  total: number,
  offset: number,
  asked: readonly string[],
  shown: readonly string[],
): string[] => {
  const end = offset + shown.length;
  if (total === 0 || (shown.length === total && offset === 0)) return [];
  if (shown.length === 0) return [`[Only ${countOf(total, 'entry', 'entries')} in all.]`];
  const isCut = shown.length < asked.length;
  const more = end < total ? ` Narrow the search, or go on with offset ${end}.` : '';
  const why = isCut ? ` (${amount(GREP_CHARS_MAX)} characters at a time)` : '';
  return [`[Entries ${amount(offset + 1)}–${amount(end)} of ${amount(total)}${why}.${more}]`];
};

const notesOf = ({ shortfall, note }: SearchResult): string[] => {
  const notes = note === undefined ? [] : [`[${note}]`];
  switch (shortfall) {
    case undefined:
      return notes;
    case 'time':
      return [...notes, `[Not all: stopped after ${SEARCH_MS_MAX / 1000} s. Narrow the search.]`];
    case 'amount':
      return [
        ...notes,
        `[Not all: stopped at some ${amount(GREP_COLLECTED_MAX)} entries. Narrow the search.]`,
      ];
  }
};
