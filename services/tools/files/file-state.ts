/**
 * What the model has seen of the files, for one session. Edit and Write refuse what was never
 * read, or has changed since; Read does not show twice what has not changed.
 */
import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import type { ToolState } from '../tool.ts';
import { SEEN_FILES_MAX } from './limits.ts';

/** Tells two contents of one file apart. */
export interface Fingerprint {
  /** SHA-256 of all bytes; absent for a file that is too large to be edited. */
  readonly hash?: string;
  readonly sizeBytes: bigint;
  readonly mtimeNs: bigint;
}

export interface SeenFile {
  /** Behind all links; names the file here. */
  readonly realPath: string;
  /** As the model named it, made absolute. */
  readonly path: string;
  readonly fingerprint: Fingerprint;
  /** Ranges that were shown of this content → the call that showed them. */
  readonly shown: ReadonlyMap<string, string>;
}

export const hashOf = (bytes: Buffer): string =>
  createHash('sha256').update(bytes).digest('base64');

export const fingerprintOf = (stats: BigIntStats, hash: string | undefined): Fingerprint => ({
  sizeBytes: stats.size,
  mtimeNs: stats.mtimeNs,
  ...(hash === undefined ? {} : { hash }),
});

/** By content where that is known: size and time can be equal although the content is not. */
export const isSameContent = (one: Fingerprint, other: Fingerprint): boolean =>
  one.hash !== undefined && other.hash !== undefined
    ? one.hash === other.hash
    : one.sizeBytes === other.sizeBytes && one.mtimeNs === other.mtimeNs;

export class FileState {
  /** Oldest first. */
  readonly #files = new Map<string, SeenFile>();

  seen(realPath: string): SeenFile | undefined {
    return this.#files.get(realPath);
  }

  /** The call that showed this range of this very content, and is still in the model's view. */
  shownBy(realPath: string, fingerprint: Fingerprint, range: string): string | undefined {
    const file = this.#files.get(realPath);
    if (!file || fingerprint.hash === undefined) return undefined;
    return isSameContent(file.fingerprint, fingerprint) ? file.shown.get(range) : undefined;
  }

  noteShown(
    file: { readonly realPath: string; readonly path: string; readonly fingerprint: Fingerprint },
    range: string,
    toolUseId: string,
  ): void {
    const before = this.#files.get(file.realPath);
    const isSame = before && isSameContent(before.fingerprint, file.fingerprint);
    const shown = new Map(isSame ? before.shown : []).set(range, toolUseId);
    this.#put({ ...file, shown });
  }

  /** The model has been told "unchanged" instead of the content: not twice in a row. */
  forgetRange(realPath: string, range: string): void {
    const file = this.#files.get(realPath);
    if (!file) return;
    const shown = new Map(file.shown);
    shown.delete(range);
    this.#put({ ...file, shown });
  }

  /** The model knows the new content, for it has written it; but no lines of it were shown. */
  noteWritten(realPath: string, path: string, fingerprint: Fingerprint): void {
    this.#put({ realPath, path, fingerprint, shown: new Map() });
  }

  forget(realPath: string): void {
    this.#files.delete(realPath);
  }

  /**
   * Results of earlier calls have left the model's view (a compaction, a cleared result): files
   * count as read, but the next Read shows them again.
   * @param toolUseIds of these calls; absent: of all.
   */
  forgetShown(toolUseIds?: ReadonlySet<string>): void {
    for (const [realPath, file] of this.#files) {
      const kept = toolUseIds ? [...file.shown].filter(([, id]) => !toolUseIds.has(id)) : [];
      this.#files.set(realPath, { ...file, shown: new Map(kept) });
    }
  }

  /** The files that were read or written last, newest first. */
  recent(count: number): readonly SeenFile[] {
    return [...this.#files.values()].reverse().slice(0, count);
  }

  #put(file: SeenFile): void {
    this.#files.delete(file.realPath);
    this.#files.set(file.realPath, file);
    const oldest = this.#files.keys().next();
    if (this.#files.size > SEEN_FILES_MAX && !oldest.done) this.#files.delete(oldest.value);
  }
}

/** The session's, from the state of its tools. */
export const fileStateOf = (state: ToolState): FileState =>
  state.get('files', () => new FileState());
