/**
 * Writes of a file that a crash, a full disk or kill -9 can not cut: the new content is complete
 * on disk under another name before it takes the file's place.
 *
 * Kept: the mode, the owner (where the system lets us), a symbolic link that leads to the file
 * (callers pass its target). Not kept: access control lists and extended attributes.
 *
 * A file is written in place, which is not atomic, where taking its place would lose something:
 * it has other hard links (they would keep the old content), its owner can not be kept, or its
 * folder allows no new file (also a file that is a mount of its own). If that fails half way, the
 * old content is written back; only a crash at that moment can still damage it.
 */
import { randomBytes } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { access, type FileHandle, link, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../make-folder.ts';
import { codeOf, done, fault, type Outcome, sayFileError } from './outcome.ts';

/** What a file was when its new content was worked out. */
export interface Before {
  readonly stats: BigIntStats;
  readonly bytes: Buffer;
}
export interface FileWrite {
  /** Real path: no link is followed any more. */
  readonly target: string;
  readonly bytes: Buffer;
  /** `undefined`: there is no file, and there must be none when the new one is put there. */
  readonly before: Before | undefined;
  readonly signal: AbortSignal;
}

/** Unfinished writes have such names; Glob and Grep leave them out. */
export const isUnfinishedWrite = (name: string): boolean =>
  /^\.escapement-[0-9a-f]+\.tmp$/.test(name);
/** The same as a glob for ripgrep. */
export const UNFINISHED_WRITE_GLOB = '.escapement-*.tmp';

const CHANGED = 'The file was changed by someone else at this moment. Read it again';

/** Puts the bytes at the path. The answer is what `stat` says of the file afterwards. */
export const writeAtomically = async (write: FileWrite): Promise<Outcome<BigIntStats>> => {
  const { target, before } = write;
  try {
    if (before) await access(target, constants.W_OK);
    else makeFolder(dirname(target));
    const isDone = before && before.stats.nlink > 1n ? 'in place' : await replace(write);
    if (isDone === 'in place') return await writeInPlace(write);
    return isDone;
  } catch (error) {
    return fault(sayFileError(error, target));
  }
};

/** Where taking the file's place is not possible, the file itself still may be written. */
const IN_PLACE_CODES = new Set(['EACCES', 'EPERM', 'EBUSY', 'EXDEV', 'EROFS', 'ENAMETOOLONG']);

const replace = async (write: FileWrite): Promise<Outcome<BigIntStats> | 'in place'> => {
  const { target, before, signal } = write;
  const temporary = join(dirname(target), `.escapement-${randomBytes(8).toString('hex')}.tmp`);
  try {
    if (!(await makeTemporary(temporary, write))) return 'in place';
    if (signal.aborted) return fault(`Stopped. Nothing was changed: ${target}`);
    if (before) {
      if (!isSameFile(before.stats, await stat(target, { bigint: true }))) return fault(CHANGED);
      await rename(temporary, target);
    } else if (!(await placeNew(temporary, target))) {
      return fault(`A file of this name has just been made by someone else: ${target}`);
    }
    await syncFolder(dirname(target));
    return done(await stat(target, { bigint: true }));
  } catch (error) {
    if (before && IN_PLACE_CODES.has(codeOf(error))) return 'in place';
    return fault(sayFileError(error, target));
  } finally {
    await rm(temporary, { force: true }).catch(() => undefined);
  }
};

/** False: the owner could not be kept. */
const makeTemporary = async (temporary: string, { bytes, before }: FileWrite): Promise<boolean> => {
  // Nobody else may read it before it has the mode of the file that it replaces.
  const handle = await open(temporary, 'wx', before ? 0o600 : 0o666);
  try {
    if (before && !(await keepOwnerAndMode(handle, before.stats))) return false;
    await handle.writeFile(bytes);
    await handle.sync();
    return true;
  } finally {
    await handle.close();
  }
};

const keepOwnerAndMode = async (handle: FileHandle, wanted: BigIntStats): Promise<boolean> => {
  const { uid, gid } = await handle.stat({ bigint: true });
  try {
    if (uid !== wanted.uid || gid !== wanted.gid) {
      await handle.chown(Number(wanted.uid), Number(wanted.gid));
    }
  } catch {
    return false;
  }
  // After chown, which takes the set-user-id bit away.
  await handle.chmod(Number(wanted.mode & 0o7777n));
  return true;
};

/** A hard link refuses to replace a file, a rename does not. False: there is one now. */
const placeNew = async (temporary: string, target: string): Promise<boolean> => {
  try {
    await link(temporary, target);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    await rename(temporary, target); // a file system without hard links
    return true;
  }
};

const writeInPlace = async ({
  target,
  bytes,
  before,
  signal,
}: FileWrite): Promise<Outcome<BigIntStats>> => {
  const handle = await open(target, constants.O_RDWR | (constants.O_NONBLOCK ?? 0));
  try {
    const now = await handle.stat({ bigint: true });
    if (before && !isSameFile(before.stats, now)) return fault(CHANGED);
    if (signal.aborted) return fault(`Stopped. Nothing was changed: ${target}`);
    try {
      await overwrite(handle, bytes);
    } catch (error) {
      if (before) await overwrite(handle, before.bytes).catch(() => undefined);
      return fault(sayFileError(error, target));
    }
    return done(await handle.stat({ bigint: true }));
  } finally {
    await handle.close();
  }
};

const overwrite = async (handle: FileHandle, bytes: Buffer): Promise<void> => {
  for (let at = 0; at < bytes.length; ) {
    at += (await handle.write(bytes, at, bytes.length - at, at)).bytesWritten;
  }
  await handle.truncate(bytes.length);
  await handle.sync();
};

const isSameFile = (one: BigIntStats, other: BigIntStats): boolean =>
  one.ino === other.ino &&
  one.dev === other.dev &&
  one.size === other.size &&
  one.mtimeNs === other.mtimeNs;

/** So that the new name survives a power cut. Some file systems know no such thing. */
const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
};
