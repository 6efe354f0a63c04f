import type { z } from 'zod';
import { failed, type Implementation } from '../define-tool.ts';
import { amount, countOf } from '../text/amounts.ts';
import type { ToolContext, ToolOutput } from '../tool.ts';
import { globFilterOf } from './glob-filter.ts';
import { ignoreScopeOf } from './ignored.ts';
import { grepInput } from './inputs.ts';
import {
  GREP_CHARS_MAX,
  GREP_COLLECTED_MAX,
  GREP_SHOWN,
  SEARCH_MS_MAX,
  SNIFF_BYTES,
} from './limits.ts';
import { mediaKindOf } from './media-kind.ts';
import { newestFirst } from './newest-first.ts';
import { openRegular, readHead } from './open-regular.ts';
import { done, type Outcome } from './outcome.ts';
import { pathIn, shownPath } from './paths.ts';
import { search } from './search.ts';
import { type SearchPlace, searchFolderOf } from './search-place.ts';
import type { FileHits, SearchQuery, SearchResult } from './search-types.ts';

type GrepInput = z.output<typeof grepInput>;
type GrepMode = NonNullable<GrepInput['output_mode']>;

/** Grep: which files match, their lines, or how many. Paths are relative to the working folder. */
export const grepTool: Implementation<typeof grepInput> = {
  schema: grepInput,
  call: async (input, context) => {
    const path = pathIn(context.cwd, input.path ?? '.');
    const place = await searchFolderOf(path);
    if (!place.ok) return failed(place.message);
    const binary = await whyNotSearched(place.value);
    if (binary !== undefined) return failed(binary);
    const query = await queryOf(input, place.value);
    if (!query.ok) return failed(query.message);
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(SEARCH_MS_MAX)]);
    const result = await search(query.value, context.env, signal);
    if (context.signal.aborted) return failed('Stopped');
    if (!result.ok) return failed(result.message);
    const mode = input.output_mode ?? 'files_with_matches';
    const files = await inOrder(mode, place.value, result.value.files, context);
    return answerOf({ mode, input, files, result: result.value });
  },
};

/** A single file that is binary is refused: in a folder it would just be left out. */
const whyNotSearched = async ({ root, file }: SearchPlace): Promise<string | undefined> => {
  if (file === undefined) return undefined;
  const path = `${root}/${file}`;
  const opened = await openRegular(path);
  if (!opened.ok) return opened.message;
  try {
    const media = mediaKindOf(await readHead(opened.value.handle, SNIFF_BYTES));
    return media.kind === 'text' ? undefined : `Binary file, not searched: ${path}`;
  } finally {
    await opened.value.handle.close();
  }
};

const queryOf = async (input: GrepInput, place: SearchPlace): Promise<Outcome<SearchQuery>> => {
  const filter = globFilterOf(input.glob);
  if (!filter.ok) return filter;
  const around = input['-C'] ?? 0;
  return done({
    place,
    scope: await ignoreScopeOf(place.root),
    pattern: input.pattern,
    isCaseIgnored: input['-i'] ?? false,
    isMultiline: input.multiline ?? false,
    wanted: WANTED[input.output_mode ?? 'files_with_matches'],
    before: input['-B'] ?? around,
    after: input['-A'] ?? around,
    type: input.type,
    ...filter.value,
  });
};

const WANTED: Readonly<Record<GrepMode, SearchQuery['wanted']>> = {
  files_with_matches: 'files',
  count: 'counts',
  content: 'lines',
};

/** A file's hits with the path as it is shown. */
interface ShownFile extends FileHits {
  readonly shown: string;
}

/** Newest first where only files are shown, else by name: the order in which they were found is chance. */
const inOrder = async (
  mode: GrepMode,
  { root }: SearchPlace,
  files: readonly FileHits[],
  { cwd, signal }: ToolContext,
): Promise<ShownFile[]> => {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const paths = [...byPath.keys()].sort();
  const sorted = mode === 'files_with_matches' ? await newestFirst(root, paths, signal) : paths;
  return sorted.flatMap((path) => {
    const file = byPath.get(path);
    return file ? [{ ...file, shown: shownPath(cwd, `${root}/${path}`) }] : [];
  });
};

interface Answer {
  readonly mode: GrepMode;
  readonly input: GrepInput;
  readonly files: readonly ShownFile[];
  readonly result: SearchResult;
}

const answerOf = ({ mode, input, files, result }: Answer): ToolOutput => {
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
