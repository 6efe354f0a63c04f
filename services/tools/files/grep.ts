import { failed, type Implementation } from '../define-tool.ts';
import type { ToolContext } from '../tool.ts';
import { globFilterOf } from './glob-filter.ts';
import { answerOf, type GrepInput, type GrepMode, type ShownFile } from './grep-answer.ts';
import { ignoreScopeOf } from './ignored.ts';
import { grepInput } from './inputs.ts';
import { SEARCH_MS_MAX, SNIFF_BYTES } from './limits.ts';
import { mediaKindOf } from './media-kind.ts';
import { newestFirst } from './newest-first.ts';
import { openRegular, readHead } from './open-regular.ts';
import { done, type Outcome } from './outcome.ts';
import { pathIn, shownPath } from './paths.ts';
import { search } from './search.ts';
import { type SearchPlace, searchFolderOf } from './search-place.ts';
import type { FileHits, SearchQuery } from './search-types.ts';
import { visibleOf } from './visible.ts';

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
    const found = await visibleOf(
      result.value.files,
      ({ path: name }) => name,
      place.value,
      context,
    );
    const files = await inOrder(mode, place.value, found, context);
    return answerOf({ mode, input, files, result: { ...result.value, files: found } });
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

/** Newest first where only files are shown, else by name: the order of the search is chance. */
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
