import { stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { sayKind } from './open-regular.ts';
import { done, fault, type Outcome, sayFileError } from './outcome.ts';
import { realTarget } from './paths.ts';

export interface SearchPlace {
  /** Real path of the folder that is searched, or that the file is in. */
  readonly root: string;
  /** Name of the only file that is searched. */
  readonly file: string | undefined;
}

/** Where a search takes place: a folder with all below it, or one file. */
export const searchFolderOf = async (path: string): Promise<Outcome<SearchPlace>> => {
  const real = await realTarget(path);
  if (!real.ok) return real;
  try {
    const stats = await stat(real.value, { bigint: true });
    if (stats.isDirectory()) return done({ root: real.value, file: undefined });
    const kind = sayKind(stats, path);
    if (kind !== undefined) return fault(kind);
    return done({ root: dirname(real.value), file: basename(real.value) });
  } catch (error) {
    return fault(sayFileError(error, path));
  }
};
