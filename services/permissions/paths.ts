/**
 * Which file a path really means, and whether a pattern of a rule means it. The only place where
 * the permission service looks at the disk.
 */
import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { compileGlob } from '../tools/files/glob-match.ts';
import type { OwnFolder } from './own-folder.ts';

/** Links to links: the same limit as the kernel's. */
const LINKS_MAX = 40;

/** What is asked of the disk. Injected where a volume is to be emulated. */
export interface FileSystem {
  /** Follows every link. Rejects when the path does not exist. */
  realpath(path: string): Promise<string>;
  /** What a link says, or `undefined` for anything that is no link or does not exist. */
  linkAt(path: string): Promise<string | undefined>;
  /** Are `a` and `A` the same file in this folder, which exists? */
  ignoresCase(folder: string): Promise<boolean>;
}

export const diskFileSystem: FileSystem = {
  realpath: (path) => realpath(path),
  linkAt: async (path) => {
    try {
      return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
    } catch {
      return undefined;
    }
  },
  ignoresCase: async (folder) => {
    const swapped = folder.replace(/[a-z]/gi, (letter) =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
    );
    if (swapped === folder) return false;
    try {
      const [one, other] = await Promise.all([stat(folder), stat(swapped)]);
      return one.ino === other.ino && one.dev === other.dev;
    } catch {
      return false;
    }
  },
};

/** A path in both forms: as it was written, and what it means. Both absolute. */
export interface SeenPath {
  readonly written: string;
  readonly real: string;
  /** On a volume that ignores case both forms are compared folded. */
  readonly isFolded: boolean;
}

export interface Place {
  /** Where relative paths of a call start: it moves with the shell. */
  readonly cwd: string;
  /** Where rules hang: it stays, or a `cd` would take the guards off. Default: `cwd`. */
  readonly root?: string;
  readonly home: string;
  readonly fileSystem: FileSystem;
  /** The engine's own. Absent: there is none to guard. */
  readonly own?: OwnFolder;
  /** What was looked at for this judgement: many rules have the same folders. Not kept longer. */
  readonly seen?: Map<string, Promise<SeenPath>>;
}

/** `~/x` and relative paths as absolute ones, without a look at the disk. */
export const absolute = (path: string, { cwd, home }: Pick<Place, 'cwd' | 'home'>): string => {
  if (path === '~') return home;
  return path.startsWith('~/') ? join(home, path.slice(2)) : resolve(cwd, path);
};

export function lookAt(path: string, place: Place): Promise<SeenPath> {
  const written = absolute(path, place);
  const known = place.seen?.get(written);
  if (known) return known;
  const looked = look(written, place);
  place.seen?.set(written, looked);
  return looked;
}

async function look(written: string, place: Place): Promise<SeenPath> {
  const { real, folder } = await meaning(written, place.fileSystem, LINKS_MAX);
  return { written, real, isFolded: await place.fileSystem.ignoresCase(folder) };
}

/**
 * The real path, also of what does not exist yet: links are followed in the part that exists, and a
 * link that leads nowhere is followed, too, for writing through it would make its target.
 */
async function meaning(
  path: string,
  fileSystem: FileSystem,
  linksLeft: number,
): Promise<{ real: string; folder: string }> {
  try {
    const real = await fileSystem.realpath(path);
    return { real, folder: real };
  } catch {
    const parent = dirname(path);
    if (parent === path) return { real: path, folder: path };
    const { real: folder, folder: existing } = await meaning(parent, fileSystem, linksLeft);
    const here = join(folder, path.slice(parent.length).replace(/^[\\/]+/, ''));
    const target = linksLeft > 0 ? await fileSystem.linkAt(here) : undefined;
    if (target === undefined) return { real: here, folder: existing };
    return meaning(resolve(folder, target), fileSystem, linksLeft - 1);
  }
}

/** Is the real file in one of these folders, or the folder itself? */
export async function isInside(
  path: SeenPath,
  folders: readonly string[],
  place: Place,
): Promise<boolean> {
  for (const folder of folders) {
    const { real } = await lookAt(folder, place);
    if (isWithin(fold(path.real, path.isFolded), fold(real, path.isFolded))) return true;
  }
  return false;
}

const isWithin = (path: string, folder: string) => {
  const way = relative(folder, path);
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way));
};

/** The same name in another Unicode form is another file only for machines. */
const fold = (path: string, isFolded: boolean) =>
  isFolded ? path.normalize('NFC').toLowerCase() : path.normalize('NFC');

/** Where a pattern hangs, and what it says below. */
interface Anchored {
  readonly root: string;
  readonly glob: string;
}

/**
 * - `//etc/**`: from the root of the disk
 * - `~/x`: from the home folder
 * - `./x`, `a/b`, `/x`: from the folder of the session
 * - `x`, `*.key`: a name at any depth below it
 * A folder stands for all that is in it.
 */
function anchor(pattern: string, { cwd: here, root: cwd = here, home }: Place): Anchored {
  const trimmed = pattern.length > 1 ? pattern.replace(/\/+$/, '') : pattern;
  if (trimmed.startsWith('//')) return { root: '/', glob: trimmed.slice(2) };
  if (trimmed === '~' || trimmed.startsWith('~/')) return { root: home, glob: trimmed.slice(2) };
  if (trimmed.startsWith('/')) return { root: cwd, glob: trimmed.slice(1) };
  if (trimmed.startsWith('./')) return { root: cwd, glob: trimmed.slice(2) };
  if (trimmed === '.') return { root: cwd, glob: '' };
  return { root: cwd, glob: trimmed.includes('/') ? trimmed : `**/${trimmed}` };
}

const magic = /[*?[{\\]/;

/** The part of a pattern before its first wildcard moves into the root, so that links are seen. */
function literalRoot({ root, glob }: Anchored): Anchored {
  const steps = glob.split('/');
  const first = steps.findIndex((step) => magic.test(step));
  const literal = first < 0 ? steps : steps.slice(0, first);
  return { root: resolve(root, ...literal), glob: first < 0 ? '' : steps.slice(first).join('/') };
}

/** Where a pattern hides all there is: `//w/secret/**`. None for other wildcards. */
export function placeHidden(pattern: string, place: Place): readonly string[] {
  const whole = pattern.replace(/\/\*\*(\/\*)?$/, '');
  if (magic.test(whole) || !whole.includes('/')) return [];
  const readings = [anchor(whole, place)];
  if (/^\/[^/]/.test(whole)) readings.push({ root: '/', glob: whole.slice(1) });
  return readings.map((reading) => literalRoot(reading).root);
}

/**
 * For deny and ask rules: the path as written or the file that it means, against the pattern as
 * written or the place that it means. `/etc/x` is also read as absolute: who writes that in a deny
 * rule means it so.
 */
export async function guardsPath(pattern: string, path: SeenPath, place: Place): Promise<boolean> {
  const readings = [anchor(pattern, place)];
  if (/^\/[^/]/.test(pattern)) readings.push({ root: '/', glob: pattern.slice(1) });
  for (const reading of readings) {
    const { root, glob } = literalRoot(reading);
    const { real } = await lookAt(root, place);
    for (const from of new Set([root, real])) {
      for (const form of new Set([path.written, path.real])) {
        if (matches({ root: from, glob }, form, path.isFolded)) return true;
      }
    }
  }
  return false;
}

/** For allow rules: only the real file counts, against the place that the pattern means. */
export async function allowsPath(pattern: string, path: SeenPath, place: Place): Promise<boolean> {
  const { root, glob } = literalRoot(anchor(pattern, place));
  const { real } = await lookAt(root, place);
  return matches({ root: real, glob }, path.real, path.isFolded);
}

function matches({ root, glob }: Anchored, path: string, isFolded: boolean): boolean {
  const [from, to] = [fold(root, isFolded), fold(path, isFolded)];
  if (!isWithin(to, from)) return false;
  if (glob === '') return true;
  if (from === to) return /^\*\*(\/\*)?$/.test(glob); // the folder itself
  const compiled = compileGlob(fold(glob, isFolded));
  if (!compiled.ok) return false; // refused where the rule was parsed
  // The pattern may name the file or any folder above it.
  const steps = relative(from, to).split(sep);
  return steps.some((_, index) => compiled.value(steps.slice(0, index + 1).join('/')));
}

const protectedFolders = ['.git', '.ssh', '.vscode', '.idea', '.husky', '.escapement'];
const protectedFiles = [
  ...['.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.profile', '.zshrc', '.zprofile'],
  ...['.zshenv', '.zlogin', '.zlogout', '.gitconfig', '.gitmodules', '.ripgreprc', '.mcp.json'],
  ...['.npmrc', '.envrc'],
];

/**
 * A file whose change would run code later or change what may run: repositories, settings, start
 * files of shells. @returns the name that protects it.
 */
export function protectedName(path: SeenPath): string | undefined {
  for (const form of [path.written, path.real]) {
    const steps = form.toLowerCase().split(sep);
    const folder = steps.find((step) => protectedFolders.includes(step));
    if (folder) return folder;
    const file = steps.at(-1) ?? '';
    if (protectedFiles.includes(file)) return file;
    const isSettings = /^settings(\.[\w-]+)?\.json$/.test(file) || steps.includes('hooks');
    if (steps.includes('.claude') && isSettings) return '.claude';
  }
  return undefined;
}

/**
 * Could a shell glob stand for something that a deny pattern means? `maybe` where both have
 * wildcards and the folders above them overlap.
 */
export async function globMayReach(
  glob: string,
  pattern: string,
  place: Place,
): Promise<'yes' | 'maybe' | 'no'> {
  const denied = literalRoot(anchor(pattern, place));
  if (denied.glob === '') {
    const isMatch = (path: string) => shellGlobMatches(glob, path);
    const { real } = await lookAt(denied.root, place);
    return [denied.root, real].some((path) => isMatch(path) || isMatch(dirname(path)))
      ? 'yes'
      : 'no';
  }
  const { root } = literalRoot({ root: '/', glob: glob.slice(1) });
  return isWithin(root, denied.root) || isWithin(denied.root, root) ? 'maybe' : 'no';
}

/** As bash expands it: no `**`, and a name that begins with a dot only where the dot is written. */
export function shellGlobMatches(glob: string, path: string): boolean {
  const [patterns, names] = [glob.replace(/\*+/g, '*').split('/'), path.split('/')];
  if (patterns.length !== names.length) return false;
  return names.every((name, index) => {
    const pattern = patterns[index] ?? '';
    if (name.startsWith('.') && !pattern.startsWith('.')) return false;
    if (pattern === '' || name === '') return pattern === name;
    const compiled = compileGlob(pattern);
    return !compiled.ok || compiled.value(name);
  });
}
