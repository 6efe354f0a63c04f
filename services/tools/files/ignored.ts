/**
 * What a search leaves out, in the words of `.gitignore`. As git and ripgrep see it: in a
 * repository the files from its top folder down to each folder count, and a repository within
 * begins anew. Outside of one those at and below the searched folder count. A folder that is
 * ignored itself can be searched by naming it; then what is above it does not count.
 */
import { readFile, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { isUnfinishedWrite } from './write-atomically.ts';

/** A larger file of patterns is no such file. */
const PATTERN_FILE_BYTES_MAX = 1_000_000;
/** Never searched: what is in there is nobody's text. */
const NEVER = new Set(['.git', '.hg', '.svn', '.jj']);

/** The patterns of one folder; paths are relative to it. */
interface Patterns {
  readonly folder: string;
  readonly matcher: Ignore;
}
/** Of all folders that count, the outermost first. */
export type IgnoreChain = readonly Patterns[];

export interface IgnoreScope {
  /** False: not in a repository, or ignored itself; what is above the folder does not count. */
  readonly isInRepository: boolean;
  /** From the folders above. */
  readonly chain: IgnoreChain;
}

/** Names that are left out everywhere. */
export const isNeverSearched = (name: string): boolean =>
  NEVER.has(name) || isUnfinishedWrite(name);
/** The same for ripgrep. */
export const NEVER_SEARCHED_GLOBS: readonly string[] = [...NEVER].map((name) => `!${name}`);

/** @param root real path of the folder that is searched. */
export const ignoreScopeOf = async (root: string): Promise<IgnoreScope> => {
  const standalone: IgnoreScope = { isInRepository: false, chain: [] };
  const above: string[] = [];
  for (let folder = root; !(await exists(join(folder, '.git'))); folder = dirname(folder)) {
    if (dirname(folder) === folder) return standalone;
    above.unshift(dirname(folder));
  }
  let chain: IgnoreChain = [];
  for (const folder of above) chain = await withPatternsOf(folder, chain);
  const isIgnoredItself = above.some((_, index) => {
    const path = above[index + 1] ?? root;
    return isIgnored(chain, path, true);
  });
  return isIgnoredItself ? standalone : { isInRepository: true, chain };
};

/** The chain with the patterns of one more folder, if it has any. */
export const withPatternsOf = async (folder: string, chain: IgnoreChain): Promise<IgnoreChain> => {
  const file = join(folder, '.gitignore');
  try {
    const { size } = await stat(file);
    if (size > PATTERN_FILE_BYTES_MAX) return chain;
    const text = (await readFile(file, 'utf8')).replace(/^\uFEFF/, '');
    // Case counts, as for git on file systems where it does.
    return [...chain, { folder, matcher: ignore({ ignorecase: false }).add(text) }];
  } catch {
    return chain; // none, or one that can not be read
  }
};

/** The innermost folder that has something to say about the path decides. */
export const isIgnored = (chain: IgnoreChain, path: string, isFolder: boolean): boolean => {
  for (let index = chain.length - 1; index >= 0; index -= 1) {
    const patterns = chain[index];
    if (!patterns) continue;
    const way = relative(patterns.folder, path);
    if (way === '') continue;
    const { ignored, unignored } = patterns.matcher.test(isFolder ? `${way}/` : way);
    if (ignored) return true;
    if (unignored) return false;
  }
  return false;
};

const exists = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
