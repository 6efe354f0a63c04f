/**
 * Does a repository make git run programs? `git status` in a folder of a stranger runs whatever its
 * configuration names (`core.fsmonitor`, a clean filter, an external diff) and one of its hooks. A
 * clone does not bring those along, an unpacked archive does; and a folder can be made to look like
 * a repository without a work tree. So a git that only looks is harmless only in a repository that
 * is known to start nothing.
 */
import { lstat, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/** A larger one is no configuration of a repository. */
const CONFIG_CHARS_MAX = 200_000;

/** Sections whose every key is harmless for a git that looks and asks no network. */
const harmlessSections = new Set([
  ...['branch', 'user', 'color', 'column', 'advice', 'alias', 'gc', 'pack', 'index', 'status'],
  ...['pull', 'push', 'fetch', 'rebase', 'rerere', 'init', 'http', 'credential', 'maintenance'],
  ...['submodule', 'gui', 'lfs'],
]);
/** Single keys of other sections. What is not here may start a program, or be newer than we are. */
const harmlessKeys: Readonly<Record<string, readonly string[]>> = {
  core: [
    ...['repositoryformatversion', 'filemode', 'bare', 'logallrefupdates', 'ignorecase'],
    ...['precomposeunicode', 'autocrlf', 'eol', 'safecrlf', 'quotepath', 'abbrev', 'symlinks'],
    ...['sparsecheckout', 'sparsecheckoutcone', 'untrackedcache', 'preloadindex', 'fscache'],
    ...['longpaths', 'whitespace', 'protectntfs', 'protecthfs', 'compression'],
  ],
  remote: [
    'url',
    'pushurl',
    'fetch',
    'push',
    'prune',
    'prunetags',
    'tagopt',
    'mirror',
    'gh-resolved',
  ],
  extensions: ['worktreeconfig', 'objectformat', 'refstorage'],
  merge: ['ff', 'conflictstyle', 'log', 'renames'],
  diff: ['algorithm', 'renames', 'colormoved', 'mnemonicprefix', 'noprefix', 'context'],
  log: ['date', 'decorate', 'follow', 'abbrevcommit'],
};
/** With a name in quotes these are drivers, and drivers are programs. */
const driverSections = new Set(['diff', 'merge']);

/** The only hook that a git which looks may run: after it has refreshed the index. */
const LOOKING_HOOK = 'post-index-change';

/**
 * @param folder absolute: where git is called.
 * @returns why somebody should look, or `undefined`.
 */
export async function repositoryDoubt(folder: string): Promise<string | undefined> {
  for (let here = folder; ; here = dirname(here)) {
    const git = join(here, '.git');
    const kind = await kindOf(git);
    if (kind === 'other') return `${git} is neither a folder nor a file`;
    const repository = kind === 'file' ? await linkedFrom(git) : git;
    if (repository === undefined) return `${git} does not say where its repository is`;
    const isRepository = kind !== undefined && (await isThere(join(repository, 'HEAD')));
    if (isRepository) return doubtOf(repository);
    // Where `.git` is none, git takes the folder itself when it looks like one.
    const parts = await Promise.all(
      ['HEAD', 'objects', 'refs'].map((one) => isThere(join(here, one))),
    );
    if (parts.every(Boolean)) return `${here} is a repository without a work tree`;
    if (dirname(here) === here) return undefined;
  }
}

async function doubtOf(repository: string): Promise<string | undefined> {
  const common = await firstLine(join(repository, 'commondir'));
  const folders = [repository, ...(common === undefined ? [] : [resolve(repository, common)])];
  for (const folder of new Set(folders)) {
    if (await isThere(join(folder, 'hooks', LOOKING_HOOK))) {
      return `the repository has a hook that git runs when it looks (${LOOKING_HOOK})`;
    }
    for (const name of ['config', 'config.worktree']) {
      const file = join(folder, name);
      if (!(await isThere(file))) continue;
      const text = await readFile(file, 'utf8').catch(() => undefined);
      if (text === undefined || text.length > CONFIG_CHARS_MAX) return `${file} cannot be judged`;
      const key = suspiciousKey(text);
      if (key !== undefined) return `${file} says more than is known to be harmless (${key})`;
    }
  }
  return undefined;
}

/** The first thing in a configuration that is not known to be harmless. Exported for its test. */
export function suspiciousKey(config: string): string | undefined {
  let section = '';
  let name: string | undefined;
  for (const raw of config.split(/\r?\n/)) {
    let line = raw.trim();
    const header = /^\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*/.exec(line);
    if (header) {
      section = (header[1] ?? '').toLowerCase();
      name = header[2];
      line = line.slice(header[0].length);
    }
    if (line === '' || /^[#;]/.test(line)) continue;
    const [, key, value = ''] = /^([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$/.exec(line) ?? [];
    // A line that goes on could hide what stands on the next one.
    if (key === undefined || line.endsWith('\\')) return line;
    if (!isHarmless(section, name, key.toLowerCase(), value)) return `${section}.${key}`;
  }
  return undefined;
}

function isHarmless(
  section: string,
  name: string | undefined,
  key: string,
  value: string,
): boolean {
  if (harmlessSections.has(section)) return true;
  if (section === 'core' && key === 'fsmonitor') return /^(true|false)$/i.test(value);
  if (name !== undefined && driverSections.has(section)) return false;
  return Object.hasOwn(harmlessKeys, section) && harmlessKeys[section]?.includes(key) === true;
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

const isThere = async (path: string): Promise<boolean> => (await kindOf(path)) !== undefined;

/** `gitdir: ../.git/worktrees/x` in the file `.git` of a worktree or a submodule. */
async function linkedFrom(file: string): Promise<string | undefined> {
  const to = /^gitdir:\s*(.+)$/.exec((await firstLine(file)) ?? '')?.[1];
  return to === undefined ? undefined : resolve(dirname(file), to);
}

async function firstLine(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).split('\n')[0]?.trim();
  } catch {
    return undefined;
  }
}
