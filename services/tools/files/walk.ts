import { opendir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import {
  type IgnoreChain,
  type IgnoreScope,
  isIgnored,
  isNeverSearched,
  withPatternsOf,
} from './ignored.ts';
import { WALK_ENTRIES_MAX } from './limits.ts';

/** What ended a walk before its end. */
export type Shortfall = 'time' | 'amount';

interface Folder {
  readonly path: string;
  readonly chain: IgnoreChain;
}

/**
 * All regular files below a folder that are not ignored, relative to it with `/`; outer folders
 * first, so that a walk that is cut short has seen what is near. Links are not followed: they lead
 * outside, or in circles. Folders that can not be read are passed over.
 * @returns why it was cut short, if it was.
 */
export async function* walkFiles(
  root: string,
  scope: IgnoreScope,
  signal: AbortSignal,
): AsyncGenerator<string, Shortfall | undefined> {
  let entriesLeft = WALK_ENTRIES_MAX;
  let level: Folder[] = [{ path: root, chain: scope.chain }];
  while (level.length > 0) {
    const next: Folder[] = [];
    for (const folder of level) {
      if (signal.aborted) return 'time';
      const entries = await entriesOf(folder.path, entriesLeft, signal);
      entriesLeft -= entries.length;
      const isRepository = scope.isInRepository && entries.some(({ name }) => name === '.git');
      const inherited = isRepository ? [] : folder.chain;
      const chain = entries.some(({ name }) => name === '.gitignore')
        ? await withPatternsOf(folder.path, inherited)
        : inherited;
      for (const { name, isFolder } of entries) {
        const path = join(folder.path, name);
        if (isNeverSearched(name) || isIgnored(chain, path, isFolder)) continue;
        if (isFolder) next.push({ path, chain });
        else yield relative(root, path);
      }
      if (entriesLeft <= 0) return 'amount';
    }
    level = next;
  }
  return undefined;
}

interface Entry {
  readonly name: string;
  readonly isFolder: boolean;
}

/** Files and folders in a folder; what is neither (links, pipes, devices) is left out. */
const entriesOf = async (
  folder: string,
  entriesMax: number,
  signal: AbortSignal,
): Promise<Entry[]> => {
  const entries: Entry[] = [];
  try {
    for await (const entry of await opendir(folder, { bufferSize: 256 })) {
      if (signal.aborted || entries.length >= entriesMax) break;
      const isFolder = entry.isDirectory();
      // `.git` of a worktree or submodule is a file, and says the same.
      if (isFolder || entry.isFile()) entries.push({ name: entry.name, isFolder });
    }
  } catch {
    // Gone meanwhile, or not ours to read: what was seen counts.
  }
  return entries;
};
