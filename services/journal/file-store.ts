/**
 * Sessions as files of JSON lines, one for each session, in one folder for each working folder.
 * One write for each record; a record that could only be written in part is taken off again.
 */
import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeFolder } from '../make-folder.ts';
import { linesBack } from './lines-back.ts';
import { lockOwner, type SessionLock, takeLock } from './lock.ts';
import { parseLine, recordIn } from './parse-line.ts';
import { openSessionFile, saysNothing } from './session-file.ts';
import {
  isSessionId,
  type JournalRecord,
  type JournalStore,
  type JournalWriter,
  SessionInUseError,
  type StoredRecord,
  type StoredSession,
} from './store.ts';

const synchronise = promisify(fdatasync);
const NEWLINE = 0x0a;
/** The first record is short; a line that is longer is a foreign one, and says enough. */
const FIRST_BYTES_MAX = 1 << 20;
const EXTENSION = '.jsonl';

/** Replaceable for tests: a full disk is hard to come by. */
export interface FileCalls {
  write(fd: number, bytes: Buffer, offset: number, length: number): number;
  synchronise(fd: number): Promise<void>;
}
const realCalls: FileCalls = {
  write: (fd, bytes, offset, length) => writeSync(fd, bytes, offset, length),
  synchronise,
};

export interface FileStoreOptions {
  /** `$ESCAPEMENT_HOME/projects/<cwd>`. Made with the first record, 0700. */
  readonly folder: string;
  readonly now?: () => Date;
  readonly calls?: FileCalls;
}

/** The store that is used unless a host gives another. */
export class FileJournalStore implements JournalStore {
  readonly #folder: string;
  readonly #now: () => Date;
  readonly #calls: FileCalls;

  constructor({ folder, now = () => new Date(), calls = realCalls }: FileStoreOptions) {
    this.#folder = folder;
    this.#now = now;
    this.#calls = calls;
  }

  async open(sessionId: string): Promise<JournalWriter> {
    const lock = takeLock(this.#ownFolder(sessionId), sessionId, this.#now);
    try {
      return new FileWriter(this.#path(sessionId), lock, this.#calls);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  async *readBack(sessionId: string): AsyncGenerator<StoredRecord, void, undefined> {
    for await (const line of linesBack(this.#path(sessionId))) yield parseLine(line);
  }

  async first(sessionId: string): Promise<JournalRecord | undefined> {
    const file = await openSessionFile(this.#path(sessionId)).catch(() => undefined);
    if (!file) return undefined;
    try {
      const bytes = Buffer.alloc(Math.min(FIRST_BYTES_MAX, (await file.stat()).size));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
      const end = bytes.subarray(0, bytesRead).indexOf(NEWLINE);
      return recordIn(bytes.subarray(0, end < 0 ? bytesRead : end));
    } finally {
      await file.close();
    }
  }

  async list(): Promise<readonly StoredSession[]> {
    const names = await readdir(this.#folder).catch(() => [] as string[]);
    const found = names.flatMap((name) => {
      const sessionId = name.slice(0, -EXTENSION.length);
      return name.endsWith(EXTENSION) && isSessionId(sessionId) ? [sessionId] : [];
    });
    const entries = await Promise.all(
      found.map(async (sessionId) => {
        const stats = await stat(this.#path(sessionId)).catch(() => undefined);
        if (!stats?.isFile()) return [];
        // One that cannot be read is a session: whoever wants it is told why.
        if (await saysNothing(this.#path(sessionId)).catch(() => false)) return [];
        return [{ sessionId, modifiedMs: stats.mtimeMs, sizeBytes: stats.size }];
      }),
    );
    return entries.flat();
  }

  async delete(sessionId: string): Promise<boolean> {
    const path = this.#path(sessionId);
    const isThere = await stat(path).then(
      () => true,
      () => false,
    );
    const owner = lockOwner(this.#ownFolder(sessionId));
    if (owner !== undefined) throw new SessionInUseError(sessionId, owner);
    await rm(path, { force: true });
    await rm(this.#ownFolder(sessionId), { recursive: true, force: true });
    return isThere;
  }

  #path(sessionId: string): string {
    if (!isSessionId(sessionId)) throw new Error(`${sessionId} is no session id`);
    return join(this.#folder, `${sessionId}${EXTENSION}`);
  }

  /** Lock, long results, versions of files. */
  #ownFolder(sessionId: string): string {
    return this.#path(sessionId).slice(0, -EXTENSION.length);
  }
}

class FileWriter implements JournalWriter {
  readonly cutBytes: number;
  readonly #path: string;
  readonly #lock: SessionLock;
  readonly #calls: FileCalls;
  #fd: number | undefined;
  /** It was made by us. */
  #isNew = false;
  /** Up to here the file holds whole lines. */
  #sizeBytes = 0;
  /** Lines that could not be written yet. */
  #waiting: Buffer[] = [];
  #failure: Error | undefined;
  /** A sync has failed: what it was for may be gone, and the next one would not say so. */
  #isInDoubt = false;
  #isClosed = false;
  /** Lines that were written, and how many of them a sync has covered. */
  #written = 0;
  #safe = 0;
  #synchronising: Promise<void> | undefined;

  constructor(path: string, lock: SessionLock, calls: FileCalls) {
    this.#path = path;
    this.#lock = lock;
    this.#calls = calls;
    this.cutBytes = this.#openExisting();
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  append(record: JournalRecord): void {
    if (this.#isClosed) return; // a tool that did not stop in time: another process may write now
    this.#waiting.push(Buffer.from(`${JSON.stringify(record)}\n`));
    this.#flush();
  }

  async commit(): Promise<void> {
    if (this.#waiting.length > 0) this.#flush();
    if (this.#failure) throw this.#failure;
    const wanted = this.#written;
    // A sync that has begun before the last write says nothing about it: one more after it.
    while (this.#safe < wanted) {
      this.#synchronising ??= this.#synchronise().finally(() => {
        this.#synchronising = undefined;
      });
      await this.#synchronising;
    }
  }

  async #synchronise(): Promise<void> {
    const written = this.#written;
    try {
      if (this.#fd !== undefined) await this.#calls.synchronise(this.#fd);
    } catch (error) {
      const why = `${(error as Error).message}; what was said last may be lost`;
      this.#failure = new Error(why, { cause: error });
      this.#isInDoubt = true;
      throw this.#failure;
    }
    this.#safe = written;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.commit().catch(() => {});
    this.#isClosed = true;
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    this.#lock.release();
  }

  /** A last line that a crash has cut is taken off; one that only lacks its end gets it. */
  #openExisting(): number {
    const flags = constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW;
    try {
      this.#fd = openSync(this.#path, flags);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
      throw error;
    }
    const { size } = fstatSync(this.#fd);
    const tail = tailOf(this.#fd, size);
    this.#sizeBytes = size;
    if (tail.length === 0) return 0;
    if (recordIn(tail)) {
      this.#waiting.push(Buffer.from('\n'));
      this.#flush();
      return 0;
    }
    this.#sizeBytes = size - tail.length;
    ftruncateSync(this.#fd, this.#sizeBytes);
    return tail.length;
  }

  #flush(): void {
    try {
      this.#fd ??= this.#create();
      for (let line = this.#waiting[0]; line; line = this.#waiting[0]) {
        this.#write(this.#fd, line);
        this.#waiting.shift();
        this.#written += 1;
      }
      if (!this.#isInDoubt) this.#failure = undefined;
    } catch (error) {
      this.#failure = error as Error;
      if (this.#written === 0 && this.#isNew) this.#takeBack();
    }
  }

  /** A file without a first line would pass for the newest session, and nobody could go on with it. */
  #takeBack(): void {
    if (this.#fd === undefined) return;
    closeSync(this.#fd);
    this.#fd = undefined;
    this.#isNew = false;
    try {
      unlinkSync(this.#path);
    } catch {} // then it stays, and is passed over
  }

  #create(): number {
    makeFolder(join(this.#path, '..'), 0o700);
    const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
    const fd = openSync(this.#path, flags, 0o600);
    this.#isNew = true;
    // The name of the file must survive, too. Not every system can do this for a folder.
    try {
      const folder = openSync(join(this.#path, '..'), constants.O_RDONLY);
      fsyncSync(folder);
      closeSync(folder);
    } catch {}
    return fd;
  }

  /** Whole, or not at all. */
  #write(fd: number, line: Buffer): void {
    let written = 0;
    try {
      while (written < line.length) {
        written += this.#calls.write(fd, line, written, line.length - written);
      }
      this.#sizeBytes += line.length;
    } catch (error) {
      if (written > 0) ftruncateSync(fd, this.#sizeBytes);
      throw error;
    }
  }
}

const TAIL_CHUNK_BYTES = 64 << 10;

/** What stands behind the last end of a line. */
function tailOf(fd: number, sizeBytes: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = sizeBytes; at > 0; ) {
    const length = Math.min(TAIL_CHUNK_BYTES, at);
    at -= length;
    const chunk = Buffer.alloc(length);
    readSync(fd, chunk, 0, length, at);
    const newline = chunk.lastIndexOf(NEWLINE);
    parts.unshift(chunk.subarray(newline + 1));
    if (newline >= 0) break;
  }
  return Buffer.concat(parts);
}
