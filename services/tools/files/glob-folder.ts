import { isAbsolute, join, sep } from 'node:path';

const MAGIC = /[*?[\]{}!\\]/;

/** A pattern's leading folders, which name themselves, and the rest, which has to be matched. */
export const splitPattern = (pattern: string): { folder: string; rest: string } => {
  const parts = pattern.split('/');
  const magic = parts.slice(0, -1).findIndex((part) => MAGIC.test(part));
  const count = magic === -1 ? parts.length - 1 : magic;
  const folder = parts.slice(0, count).join('/');
  return { folder: folder === '' && count > 0 ? sep : folder, rest: parts.slice(count).join('/') };
};

/** The folder that a Glob walks: of the pattern, if that is absolute, else below `path`. */
export const folderOfPattern = (path: string, pattern: string): string => {
  const { folder } = splitPattern(pattern);
  return isAbsolute(folder) ? folder : join(path, folder);
};
