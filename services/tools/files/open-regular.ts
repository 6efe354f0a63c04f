import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath, stat } from 'node:fs/promises';
import { sizeOf } from '../text/amounts.ts';
import { CHUNK_BYTES } from './limits.ts';
import { done, fault, fileFault, type Outcome } from './outcome.ts';

export interface OpenFile {
  readonly handle: FileHandle;
  readonly stats: BigIntStats;
}

/** What stands at a path, when it is not a regular file. */
export const sayKind = (stats: BigIntStats, path: string): string | undefined => {
  if (stats.isFile()) return undefined;
  if (stats.isDirectory()) return `This is a folder, not a file; list it with Glob: ${path}`;
  const kind = stats.isFIFO()
    ? 'a named pipe (FIFO)'
    : stats.isSocket()
      ? 'a socket'
      : stats.isBlockDevice() || stats.isCharacterDevice()
        ? 'a device'
        : 'no regular file';
  return `This is ${kind}; only regular files can be read or written: ${path}`;
};

/**
 * Opens a regular file for reading and nothing else. *Contract:* never waits: the kind is looked
 * at first (opening a device can have effects), the opening itself does not block (what was a file
 * may be a pipe by now), and the kind is looked at again. The caller closes the handle.
 */
export const openRegular = async (path: string): Promise<Outcome<OpenFile>> => {
  let handle: FileHandle | undefined;
  try {
    const kind = sayKind(await stat(path, { bigint: true }), path);
    if (kind !== undefined) return fault(kind);
    const { O_RDONLY, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants;
    handle = await open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    const stats = await handle.stat({ bigint: true });
    const kindNow = sayKind(stats, path);
    if (kindNow === undefined) return done({ handle, stats });
    await handle.close();
    return fault(kindNow);
  } catch (error) {
    await handle?.close().catch(() => undefined);
    return fileFault(error, path);
  }
};

/**
 * Which file was opened, whatever stands at its path by now.
 * @param path where it was opened; what is said where the system does not tell (macOS, Windows).
 */
export const openedPath = async ({ handle }: OpenFile, path: string): Promise<string> => {
  try {
    return await readlink(`/proc/self/fd/${handle.fd}`);
  } catch {
    return realpath(path).catch(() => path);
  }
};

/** The first bytes, fewer when the file is shorter. */
export const readHead = async (handle: FileHandle, bytesMax: number): Promise<Buffer> => {
  const { value } = await readUpTo(handle, bytesMax, 0);
  return value;
};

/**
 * All bytes of a file, or a refusal when there are more than `bytesMax` (the size that `stat`
 * reports is not believed: files grow, and those of /proc say 0).
 */
export const readWhole = async (
  handle: FileHandle,
  bytesMax: number,
  path: string,
  signal: AbortSignal,
): Promise<Outcome<Buffer>> => {
  const { value, isAll } = await readUpTo(handle, bytesMax, 0, signal);
  if (signal.aborted) return fault(`Stopped before it was read: ${path}`);
  return isAll ? done(value) : fault(`Larger than ${sizeOf(bytesMax)}: ${path}`);
};

const readUpTo = async (
  handle: FileHandle,
  bytesMax: number,
  start: number,
  signal?: AbortSignal,
): Promise<{ value: Buffer; isAll: boolean }> => {
  const chunks: Buffer[] = [];
  let total = 0;
  while (!signal?.aborted) {
    // One byte more than allowed: it tells whether there is more.
    const wanted = Math.min(CHUNK_BYTES * 4, bytesMax + 1 - total);
    const { bytesRead, buffer } = await handle.read(
      Buffer.allocUnsafe(wanted),
      0,
      wanted,
      start + total,
    );
    if (bytesRead === 0) return { value: Buffer.concat(chunks, total), isAll: true };
    chunks.push(buffer.subarray(0, bytesRead));
    total += bytesRead;
    if (total > bytesMax) break;
  }
  return { value: Buffer.concat(chunks, total).subarray(0, bytesMax), isAll: false };
};

/** The file piece by piece. Stops early when the signal is aborted. */
export async function* chunksOf(handle: FileHandle, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (let position = 0; !signal.aborted; ) {
    const { bytesRead, buffer } = await handle.read(
      Buffer.allocUnsafe(CHUNK_BYTES),
      0,
      CHUNK_BYTES,
      position,
    );
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
