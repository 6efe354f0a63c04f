/**
 * Where sessions are kept. The engine knows only this interface; files are one way to fulfil it
 * (`file-store.ts`), memory another (`memory-store.ts`). `journalStorePromises` of
 * `escapement/testing` has a test for each promise of it.
 */

/** One thing that happened, as plain JSON. */
export type JournalRecord = Readonly<Record<string, unknown>> & { readonly type: string };

/** What a store hands out: a record, or the remains of one. */
export type StoredRecord =
  | { readonly kind: 'record'; readonly record: JournalRecord }
  /** Something that is no record stands there. It is kept as it is. */
  | { readonly kind: 'damaged'; readonly sizeBytes: number };

/** What can be known of a session without reading it. */
export interface StoredSession {
  readonly sessionId: string;
  readonly modifiedMs: number;
  readonly sizeBytes: number;
}

/** The one writer of a session. */
export interface JournalWriter {
  /** Bytes of a record that a crash had cut; they were taken off when the session was opened. */
  readonly cutBytes: number;
  /**
   * Takes a record up. *Contract:* never throws; records keep their order; each is stored whole or
   * not at all. What cannot be stored now stays in line and is tried again with the next one.
   */
  append(record: JournalRecord): void;
  /** Why the last records are not stored, or not safe; `undefined` when all are, as far as is known. */
  readonly failure: Error | undefined;
  /**
   * Resolves when everything taken up so far survives a loss of power. Rejects with `failure`: from
   * then on for ever, when what the system had taken may be gone (a later success proves nothing).
   */
  commit(): Promise<void>;
  /** Gives the session up, so that another process may write to it. Idempotent; never throws. */
  close(): Promise<void>;
}

export interface JournalStore {
  /**
   * Becomes the only writer; the session is made with its first record.
   * @throws SessionInUseError when somebody else is.
   */
  open(sessionId: string): Promise<JournalWriter>;
  /** Newest first, also while somebody writes. Nothing for a session that is not there. */
  readBack(sessionId: string): AsyncIterable<StoredRecord>;
  /** The first record: who wrote it, and how. */
  first(sessionId: string): Promise<JournalRecord | undefined>;
  /** In no order. */
  list(): Promise<readonly StoredSession[]>;
  /** Also its files. @returns whether there was one. @throws SessionInUseError */
  delete(sessionId: string): Promise<boolean>;
}

/** Another process works on this session: two writers would make two histories of one. */
export class SessionInUseError extends Error {
  readonly sessionId: string;

  constructor(sessionId: string, owner: string) {
    super(
      `session ${sessionId} is in use by another process (${owner}): ` +
        'end that one first, or go on beside it with --fork-session (forkSession)',
    );
    this.name = 'SessionInUseError';
    this.sessionId = sessionId;
  }
}

/** Names of sessions become names of files: nothing else gets through. */
export const isSessionId = (text: string): boolean =>
  /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(text);
