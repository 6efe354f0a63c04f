/** Where a command runs, when its folder may be gone: removed, replaced by a file, unmounted. */
import { realpath, stat } from 'node:fs/promises';

/** A folder to run in, or why there is none. */
export type WorkingFolder =
  | { readonly ok: true; readonly path: string; readonly note?: string }
  | { readonly ok: false; readonly message: string };

export const isFolder = async (path: string): Promise<boolean> => {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
};

/** @param root of the project: taken when `cwd` is no folder any more. */
export const workingFolder = async (cwd: string, root: string): Promise<WorkingFolder> => {
  if (await isFolder(cwd)) return { ok: true, path: cwd };
  if (await isFolder(root)) {
    return {
      ok: true,
      path: root,
      note:
        `The working folder ${cwd} is gone; the command ran in ${root}, ` +
        'the new working folder.',
    };
  }
  return {
    ok: false,
    message:
      `The working folder ${cwd} is gone, and so is the project's folder ${root}. ` +
      'No command can run until one of them is there again.',
  };
};

/** Do both name the same folder, links resolved? */
export const isSameFolder = async (one: string, other: string): Promise<boolean> => {
  try {
    return (await realpath(one)) === (await realpath(other));
  } catch {
    return false;
  }
};
