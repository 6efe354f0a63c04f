/**
 * The whole output of a command on disk, for when the result shows only a part of it. Nothing is
 * written as long as everything fits the result.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../make-folder.ts';
import { messageOf } from '../../message-of.ts';

/** A file that a model may search; more than that is a fault of the command. */
export const SAVED_BYTES_MAX = 64 * 1024 * 1024;

export interface SavedOutputOptions {
  /** Made on first use, 0700. */
  readonly folder: string;
  /** Any text: what is not fit for a file name is replaced. */
  readonly name: string;
  /** Up to so many bytes stay in memory and cost no file. */
  readonly memoryBytesMax: number;
  readonly fileBytesMax?: number;
}

/** What became of it. */
export type Saved =
  | { readonly kind: 'none' }
  | { readonly kind: 'file'; readonly path: string; readonly isWhole: boolean }
  | { readonly kind: 'failed'; readonly detail: string };

export class SavedOutput {
  readonly #options: SavedOutputOptions;
  readonly #bytesMax: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #takenBytes = 0;
  #isWhole = true;
  #file: FileHandle | undefined;
  #path = '';
  #failure: string | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(options: SavedOutputOptions) {
    this.#options = options;
    this.#bytesMax = options.fileBytesMax ?? SAVED_BYTES_MAX;
  }

  /** @returns a promise when the writer must wait for the disk: memory stays bounded. */
  push(bytes: Buffer): undefined | Promise<void> {
    const room = this.#bytesMax - this.#takenBytes;
    if (bytes.length > room) this.#isWhole = false;
    if (room <= 0 || this.#failure !== undefined) return undefined;
    const part = bytes.subarray(0, room);
    this.#takenBytes += part.length;
    this.#waiting.push(part);
    this.#waitingBytes += part.length;
    if (this.#file === undefined && this.#waitingBytes <= this.#options.memoryBytesMax) {
      return undefined;
    }
    return this.#flush();
  }

  /** @param isWanted false: everything was shown, a file that was begun is taken away. */
  async close(isWanted: boolean): Promise<Saved> {
    await (isWanted ? this.#flush() : this.#work);
    await this.#file?.close().catch(() => {});
    if (!isWanted) {
      if (this.#path) await rm(this.#path, { force: true }).catch(() => {});
      return { kind: 'none' };
    }
    if (this.#failure !== undefined) return { kind: 'failed', detail: this.#failure };
    return { kind: 'file', path: this.#path, isWhole: this.#isWhole };
  }

  #flush(): Promise<void> {
    const batch = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#work = this.#work.then(() => this.#write(batch));
    return this.#work;
  }

  async #write(batch: Buffer): Promise<void> {
    if (this.#failure !== undefined) return;
    try {
      this.#file ??= await this.#open();
      await this.#file.writeFile(batch);
    } catch (error) {
      // A full disk must not fail the command: it has run.
      this.#failure = messageOf(error);
    }
  }

  async #open(): Promise<FileHandle> {
    const { folder, name } = this.#options;
    makeFolder(folder, 0o700);
    const stem = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 80);
    this.#path = join(folder, `${stem}-${randomUUID().slice(0, 8)}.txt`);
    return open(this.#path, 'wx', 0o600);
  }
}
