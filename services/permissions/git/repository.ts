/**
 * Does a repository make git run programs, or read what lies elsewhere? `git status` in a folder of
 * a stranger runs whatever its configuration names (`core.fsmonitor`, a clean filter, an external
 * diff), one of its hooks, and the same again in each submodule; and `.git` can point to a
 * repository that is not the stranger's. A clone does not bring those along, an unpacked archive
 * does; and a folder can be made to look like a repository without a work tree. So a git that only
 * looks is harmless only in a repository that is known to start nothing and to stand by itself.
 */
import { lstat, readdir, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { suspiciousKey } from './config.ts';
import { submodulesOf } from './index-file.ts';

/** A larger one is no configuration of a repository. */
const CONFIG_CHARS_MAX = 200_000;
/** 100 bytes a file: larger ones are not looked through on the way to a `git status`. */
const INDEX_BYTES_MAX = 64_000_000;
/** Submodules of submodules. */
const DEPTH_MAX = 8;
const SUBMODULES_MAX = 200;

/** The only hook that a git which looks may run: after it has refreshed the index. */
const LOOKING_HOOK = 'post-index-change';

/**
 * @param folder absolute: where git is called.
 * @returns why somebody should look, or `undefined`.
 */
export async function repositoryDoubt(folder: string): Promise<string | undefined> {
  // git asks the system where it stands, which knows no links.
  const start = await realpath(folder).catch(() => folder);
  for (let here = start; ; here = dirname(here)) {
    const found = await doubtAt(here, 0);
    if (found !== 'none') return found.doubt;
    // Where `.git` is none, git takes the folder itself when it looks like one.
    const parts = await Promise.all(
      ['HEAD', 'objects', 'refs'].map((one) => isThere(join(here, one))),
    );
    if (parts.every(Boolean)) return `${here} is a repository without a work tree`;
    if (dirname(here) === here) return undefined;
  }
}

/** A repository, and the folder whose `.git` it is. */
interface Repository {
  readonly git: string;
  /** Where objects, references and the configuration are: those of a linked worktree elsewhere. */
  readonly common: string;
  readonly workTree: string;
}

/** What speaks against the repository of this very folder. `none`: it has none. */
async function doubtAt(
  workTree: string,
  depth: number,
): Promise<'none' | { readonly doubt: string | undefined }> {
  const git = join(workTree, '.git');
  switch (await kindOf(git)) {
    case undefined:
      return 'none';
    case 'folder': {
      if (await isThere(join(git, 'commondir'))) return { doubt: `${git} borrows from another` };
      // git would pass over it, and take the one further up.
      if (!(await isRepository(git, git))) return { doubt: `${git} is no repository` };
      return { doubt: await doubtOf({ git, common: git, workTree }, depth) };
    }
    case 'file': {
      const repository = await linkedFrom(git, workTree);
      if (!repository) return { doubt: `${git} names a repository that does not know it` };
      return { doubt: await doubtOf(repository, depth) };
    }
    case 'other':
      return { doubt: `${git} is neither a folder nor a file` };
  }
}

async function doubtOf(repository: Repository, depth: number): Promise<string | undefined> {
  const { git, common } = repository;
  return (
    (await firstOf([...new Set([git, common])], (folder) => programDoubt(folder, repository))) ??
    (await borrowingDoubt(repository)) ??
    submoduleDoubt(repository, depth)
  );
}

/** Hooks and configuration. */
async function programDoubt(folder: string, { workTree }: Repository): Promise<string | undefined> {
  if (await isThere(join(folder, 'hooks', LOOKING_HOOK))) {
    return `the repository has a hook that git runs when it looks (${LOOKING_HOOK})`;
  }
  return firstOf(['config', 'config.worktree'], async (name) => {
    const file = join(folder, name);
    if (!(await isThere(file))) return undefined;
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text === undefined || text.length > CONFIG_CHARS_MAX) return `${file} cannot be judged`;
    const key = await suspiciousKey(text, {
      isOwnFolder: (path) => resolve(folder, path) === workTree,
      // Where git stands when it runs a hook.
      hasNoLookingHook: async (path) =>
        !(await isThere(join(resolve(workTree, path), LOOKING_HOOK))),
      isInWorkTree: (path) => isFileBelow(workTree, path),
    });
    return key === undefined ? key : `${file} says more than is known to be harmless (${key})`;
  });
}

/** Objects and references of another repository could be shown as its own. */
async function borrowingDoubt({ git, common }: Repository): Promise<string | undefined> {
  const alternates = join(common, 'objects/info/alternates');
  if (await isThere(alternates)) return `${alternates} borrows from another repository`;
  const objects = join(common, 'objects');
  const parts = ['HEAD', 'index', 'objects', 'refs', 'packed-refs', 'logs', 'info', 'modules'];
  const named = [git, common].flatMap((folder) => parts.map((part) => join(folder, part)));
  const kinds = await Promise.all(named.map(async (path) => [path, await kindOf(path)] as const));
  const link = kinds.find(([, kind]) => kind === 'other');
  if (link) return `${link[0]} is a link`;
  return firstOf([objects, join(objects, 'pack')], async (folder) => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const found = entries.find((entry) => !entry.isFile() && !entry.isDirectory());
    return found && `${join(folder, found.name)} is a link`;
  });
}

/** git starts another one in each submodule that is checked out, wherever its repository is. */
async function submoduleDoubt(
  { git, common, workTree }: Repository,
  depth: number,
): Promise<string | undefined> {
  const index = join(git, 'index');
  const stats = await lstat(index).catch(() => undefined);
  if (!stats) return undefined;
  if (stats.size > INDEX_BYTES_MAX) return `${index} is too large to be looked through`;
  const config = await readFile(join(common, 'config'), 'utf8').catch(() => '');
  const hashBytes = /objectformat\s*=\s*"?sha256/i.test(config) ? 32 : 20;
  const content = await readFile(index).catch(() => Buffer.alloc(0));
  const submodules = submodulesOf(content, hashBytes);
  if (!submodules) return `${index} cannot be judged`;
  if (submodules.length > SUBMODULES_MAX || (depth >= DEPTH_MAX && submodules.length > 0)) {
    return `${workTree} has more submodules than are looked at`;
  }
  return firstOf(submodules, async (name) => {
    const place = join(workTree, name);
    const found = await doubtAt(await realpath(place).catch(() => place), depth + 1);
    return found === 'none' ? undefined : found.doubt;
  });
}

async function firstOf<T>(
  all: readonly T[],
  look: (one: T) => Promise<string | undefined>,
): Promise<string | undefined> {
  for (const one of all) {
    const doubt = await look(one);
    if (doubt !== undefined) return doubt;
  }
  return undefined;
}

async function kindOf(path: string): Promise<'folder' | 'file' | 'other' | undefined> {
  try {
    const stats = await lstat(path);
    return stats.isDirectory() ? 'folder' : stats.isFile() ? 'file' : 'other';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : 'other';
  }
}

/** A file, or none, not reached by a link. */
async function isFileBelow(folder: string, path: string): Promise<boolean> {
  const full = resolve(folder, path);
  if (!full.startsWith(join(folder, sep))) return false;
  const kind = await kindOf(full);
  const above = await realpath(dirname(full)).catch(() => undefined);
  return kind === undefined || (kind === 'file' && above === dirname(full));
}

const isThere = async (path: string): Promise<boolean> => (await kindOf(path)) !== undefined;

/** What git itself asks for before it takes a folder for one. */
async function isRepository(git: string, common: string): Promise<boolean> {
  const head = (await firstLine(join(git, 'HEAD'))) ?? '';
  if (!/^(ref:\s*refs\/|[0-9a-f]{40})/.test(head)) return false;
  const kinds = await Promise.all(['objects', 'refs'].map((one) => kindOf(join(common, one))));
  return kinds.every((kind) => kind !== undefined);
}

/**
 * `gitdir: ../.git/worktrees/x` in the file `.git` of a worktree or a submodule. Only a repository
 * that names the folder in its turn: whoever wrote the file could name any repository of the disk.
 */
async function linkedFrom(file: string, workTree: string): Promise<Repository | undefined> {
  const to = /^gitdir:\s*(.+)$/.exec((await firstLine(file)) ?? '')?.[1];
  if (to === undefined) return undefined;
  const git = await realpath(resolve(workTree, to)).catch(() => undefined);
  if (git === undefined) return undefined;
  const commonLine = await firstLine(join(git, 'commondir'));
  if (commonLine === undefined) {
    const config = await readFile(join(git, 'config'), 'utf8').catch(() => '');
    const named = /^\s*worktree\s*=\s*(.+?)\s*$/im.exec(config)?.[1];
    const isKnown = named !== undefined && resolve(git, named) === workTree;
    return isKnown && (await isRepository(git, git)) ? { git, common: git, workTree } : undefined;
  }
  const common = await realpath(resolve(git, commonLine)).catch(() => undefined);
  const back = await firstLine(join(git, 'gitdir'));
  // The common repository has made the folder of its worktree: no stranger's can borrow from it.
  const isMade = common !== undefined && git === join(common, 'worktrees', basename(git));
  const isKnown =
    back !== undefined && (await realpath(resolve(git, back)).catch(() => '')) === file;
  if (!isMade || !isKnown || !(await isRepository(git, common))) return undefined;
  return { git, common, workTree };
}

async function firstLine(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).split('\n')[0]?.trim();
  } catch {
    return undefined;
  }
}
