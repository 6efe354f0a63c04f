import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { isAbsolute, relative } from 'node:path';
import { INSTRUCTION_BYTES_MAX } from './limits.ts';

export interface InstructionFile {
  /** Behind all links. */
  readonly realPath: string;
  readonly text: string;
}

/**
 * A text file that somebody has written for the model. A pipe, a device, a huge or a binary file is
 * none. A link must not lead out of `within`: a project's files are read for their project alone.
 * @param within a real path; absent: anywhere.
 */
export async function readInstruction(
  path: string,
  within?: string,
): Promise<InstructionFile | undefined> {
  try {
    const realPath = await realpath(path);
    if (within !== undefined && !isInside(realPath, within)) return undefined;
    const file = await open(realPath, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile() || stats.size > INSTRUCTION_BYTES_MAX) return undefined;
      const text = await file.readFile('utf8');
      if (text.includes('\0')) return undefined;
      return { realPath, text: text.replace(/^\uFEFF/, '') };
    } finally {
      await file.close();
    }
  } catch {
    return undefined; // not there, not readable: then nobody has said anything
  }
}

/** Both real paths. A folder is inside of itself. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (!isAbsolute(way) && way !== '..' && !/^\.\.[\\/]/.test(way));
}
