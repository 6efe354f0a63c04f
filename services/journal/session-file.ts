/** The file of a session, opened to be read: a file and nothing else, with something in it. */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** What stands in front of the first record of a sound file: nothing. */
const LOOK_BYTES = 4 << 10;
const SPACE = 0x20;

/**
 * @returns `undefined` when there is nothing of that name. The caller closes it.
 * @throws Error for what is no file: to open a pipe would wait for its writer, for ever.
 */
export async function openSessionFile(path: string): Promise<FileHandle | undefined> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!file || (await file.stat()).isFile()) return file;
  await file.close();
  throw new Error(`${path} is no file (a folder, a pipe or a device): remove it`);
}

/**
 * A disk that was full at the first line, or lost its power, leaves a file with no line, or with
 * zeros: nothing was said in it, and nobody can go on with it.
 */
export async function saysNothing(path: string): Promise<boolean> {
  const file = await openSessionFile(path);
  if (!file) return true;
  try {
    const chunk = Buffer.alloc(LOOK_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length);
      if (bytesRead === 0) return true;
      if (chunk.subarray(0, bytesRead).some((byte) => byte > SPACE)) return false;
    }
  } finally {
    await file.close();
  }
}
