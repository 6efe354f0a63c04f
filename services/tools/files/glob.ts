import { join, posix } from 'node:path';
import { failed, type Implementation } from '../define-tool.ts';
import { amount } from '../text/amounts.ts';
import { oneLine } from '../text/one-line.ts';
import { folderOfPattern, splitPattern } from './glob-folder.ts';
import { compileGlob } from './glob-match.ts';
import { ignoreScopeOf } from './ignored.ts';
import { globInput } from './inputs.ts';
import { GLOB_MATCHES_MAX, GLOB_SHOWN_MAX, SEARCH_MS_MAX } from './limits.ts';
import { listFiles } from './list-files.ts';
import { newestFirst } from './newest-first.ts';
import { pathIn } from './paths.ts';
import { searchFolderOf } from './search-place.ts';
import { visibleOf } from './visible.ts';
import type { Shortfall } from './walk.ts';

/** Glob: files by name, absolute, newest first. */
export const globTool: Implementation<typeof globInput> = {
  schema: globInput,
  call: async ({ pattern, path = '.' }, context) => {
    const started = performance.now();
    const folder = pathIn(context.cwd, folderOfPattern(path, pattern));
    const { rest } = splitPattern(pattern);
    if (posix.normalize(`/${rest}`) !== `/${rest.replace(/^(\.?\/)+/, '')}`) {
      return failed('A pattern may have `.` and `..` only at its beginning');
    }
    const matches = compileGlob(rest === '' ? '*' : rest);
    if (!matches.ok) return failed(matches.message);
    const place = await searchFolderOf(folder);
    if (!place.ok) return failed(place.message);
    if (place.value.file !== undefined) return failed(`This is a file, not a folder: ${folder}`);
    const { root } = place.value;
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(SEARCH_MS_MAX)]);
    const scope = await ignoreScopeOf(root);
    const list = await listFiles(
      { root, scope, matches: matches.value, pathsMax: GLOB_MATCHES_MAX, signal },
      context.env,
    );
    if (context.signal.aborted) return failed('Stopped');
    const visible = await visibleOf(list.paths, (name) => name, place.value, context);
    const sorted = await newestFirst(root, visible, signal);
    const filenames = sorted.slice(0, GLOB_SHOWN_MAX).map((name) => join(folder, name));
    return {
      content: [
        ...filenames.map(oneLine),
        ...notesOf(sorted.length, list.shortfall, pattern, folder),
      ].join('\n'),
      data: {
        filenames,
        numFiles: filenames.length,
        truncated: sorted.length > filenames.length || list.shortfall !== undefined,
        durationMs: Math.round(performance.now() - started),
      },
    };
  },
};

const notesOf = (
  found: number,
  shortfall: Shortfall | undefined,
  pattern: string,
  folder: string,
): string[] => {
  const notes: string[] = [];
  if (found === 0) {
    const hint = pattern.includes('/') ? '' : ` Below it, too: **/${pattern}`;
    notes.push(`No files match ${oneLine(pattern)} in ${oneLine(folder)}.${hint}`);
  }
  if (found > GLOB_SHOWN_MAX) {
    notes.push(`[The newest ${GLOB_SHOWN_MAX} of ${amount(found)}. Use a narrower pattern.]`);
  }
  if (shortfall === 'time') {
    notes.push(`[Not all: stopped after ${SEARCH_MS_MAX / 1000} s. Name a folder with path.]`);
  } else if (shortfall === 'amount') {
    notes.push('[Not all: there are too many files. Name a folder with path.]');
  }
  return notes;
};
