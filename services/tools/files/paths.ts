import { readdir, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { oneLine } from '../text/one-line.ts';
import { codeOf, done, fault, type Outcome, sayFileError } from './outcome.ts';

/** As the kernel: more links than this are a circle. */
const LINKS_MAX = 40;
/** A folder with more entries is not searched for a similar name. */
const NEIGHBOURS_MAX = 5_000;

/** The absolute path that the model means. `~` is an ordinary character: shells expand it. */
export const pathIn = (cwd: string, path: string): string => resolve(cwd, path);

/**
 * The real path behind all links, also of a file that is yet to be made: then its nearest existing
 * folder is resolved, and a link that points nowhere is followed to where it points.
 */
export const realTarget = async (path: string, linksLeft = LINKS_MAX): Promise<Outcome<string>> => {
  try {
    return done(await realpath(path));
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') return fault(sayFileError(error, path));
    // A link of /proc to a pipe or socket leads to something that has no path.
    if (await exists(path)) return done(path);
  }
  const parent = dirname(path);
  if (parent === path) return done(path);
  const folder = await realTarget(parent, linksLeft);
  if (!folder.ok) return folder;
  const place = join(folder.value, basename(path));
  try {
    const target = await readlink(place);
    if (linksLeft === 0) return fault(`Symbolic links go in a circle: ${path}`);
    return await realTarget(resolve(folder.value, target), linksLeft - 1);
  } catch {
    return done(place); // no link: nothing is there yet
  }
};

const exists = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Is `path` the folder itself or below it? Both absolute and normal; links are not looked at. */
export const isWithin = (folder: string, path: string): boolean => {
  const way = relative(folder, path);
  return way === '' || (!isAbsolute(way) && way !== '..' && !way.startsWith(`..${sep}`));
};

/** Short where that is clear: below the working folder without it. One line whatever the name. */
export const shownPath = (cwd: string, path: string): string =>
  oneLine(isWithin(cwd, path) && path !== cwd ? relative(cwd, path) : path);

/** What the model may have meant by a path that does not exist; `''` when nothing is close. */
export const hintForMissing = async (path: string, cwd: string): Promise<string> => {
  const where = ` The working folder is ${cwd}.`;
  const names = await readdir(dirname(path)).catch(() => undefined);
  if (!names) return `${where} Its folder does not exist either.`;
  const wanted = basename(path).toLowerCase();
  const stem = (name: string) => name.replace(/\.[^.]*$/, '');
  const near =
    names.length > NEIGHBOURS_MAX
      ? undefined
      : (names.find((name) => name.toLowerCase() === wanted) ??
        names.find((name) => stem(name.toLowerCase()) === stem(wanted)));
  return near === undefined
    ? where
    : `${where} Did you mean ${oneLine(join(dirname(path), near))}?`;
};
