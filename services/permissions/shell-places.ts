/**
 * Which files a word of a command means, as the system will read it: it goes through a link before
 * it goes up from there (`link/../x`), and it puts names in the place of a glob.
 */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { absolute, type Place, shellGlobMatches } from './paths.ts';
import type { ShellWord } from './shell/reading.ts';

/** Where relative paths may start: every folder that a `cd` could have led to. */
export type Folders = readonly string[] | 'unknown';

/** Entries of folders that are looked through for one glob. */
const ENTRIES_MAX = 5_000;

/** The absolute paths that a word may mean. None: nobody knows. */
export async function placesOf(
  { text, kind }: ShellWord,
  folders: Folders,
  place: Place,
): Promise<readonly string[]> {
  if (kind === 'unknown') return [];
  const written = writtenPaths(text, folders, place);
  const climbs = /(?:^|\/)\.\.(?:\/|$)/.test(text);
  const real = climbs ? await Promise.all(written.map((path) => asSystem(path, place))) : [];
  return [...new Set([...written.map((path) => absolute(path, { cwd: '/', home: '/' })), ...real])];
}

/** Absolute, `..` and all. */
function writtenPaths(text: string, folders: Folders, { home }: Place): readonly string[] {
  if (text.startsWith('/')) return [text];
  if (text === '~' || text.startsWith('~/')) return [`${home}${text.slice(1)}`];
  return folders === 'unknown' ? [] : folders.map((folder) => `${folder}/${text}`);
}

/** `..` is what lies above the real folder, not what was written before it. */
async function asSystem(path: string, place: Place): Promise<string> {
  let at = '/';
  for (const step of path.split('/')) at = await oneStep(at, step, place);
  return at;
}

async function oneStep(at: string, step: string, { fileSystem }: Place): Promise<string> {
  if (step === '..') return dirname(await fileSystem.realpath(at).catch(() => at));
  return join(at, step);
}

export interface Globbed {
  /** Of the files that a glob finds, those that may be elsewhere than they seem. */
  readonly links: readonly string[];
  /** Why nobody can say what it finds. */
  readonly doubt?: string;
}

/** What a glob finds now. Too many names rather than too few. */
export async function globbed(word: ShellWord, folders: Folders, place: Place): Promise<Globbed> {
  const links: string[] = [];
  let left = ENTRIES_MAX;
  for (const path of writtenPaths(word.text, folders, place)) {
    let found: readonly Found[] = [{ path: '/', isLink: false }];
    for (const step of path.split('/').filter((one) => one !== '' && one !== '.')) {
      const next: Found[] = [];
      for (const one of found) {
        const entries = /[*?[\\]/.test(step) ? await entriesOf(one.path) : undefined;
        if (!entries) {
          const isLink = one.isLink || found.length > 1 || step === '..';
          next.push({ path: await oneStep(one.path, step, place), isLink });
          continue;
        }
        left -= entries.length;
        if (left < 0) return { links, doubt: `${word.text} finds more than can be looked at` };
        next.push(...matching(entries, step, one));
      }
      found = next;
    }
    const option = found.find(({ name }) => name?.startsWith('-') && /^[*?[]/.test(word.text));
    if (option) return { links, doubt: `${option.path} would be read as an option` };
    links.push(...found.filter(({ isLink }) => isLink).map((one) => one.path));
  }
  return { links };
}

interface Found {
  readonly path: string;
  readonly name?: string;
  /** It, or a folder on the way to it, may be a link. */
  readonly isLink: boolean;
}

const entriesOf = (folder: string): Promise<readonly Dirent[]> =>
  readdir(folder, { withFileTypes: true }).catch(() => []);

function matching(entries: readonly Dirent[], pattern: string, { path, isLink }: Found): Found[] {
  // Sets of characters have names and negations of their own: whatever they are, it may match.
  const isSet = /[[\\]/.test(pattern);
  return entries
    .filter(({ name }) => (isSet ? !name.startsWith('.') : shellGlobMatches(pattern, name)))
    .map((entry) => ({
      path: join(path, entry.name),
      name: entry.name,
      isLink: isLink || !(entry.isFile() || entry.isDirectory()),
    }));
}
