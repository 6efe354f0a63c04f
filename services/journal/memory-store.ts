/** Sessions that end with the process: for hosts that keep them elsewhere, and for tests. */
import {
  type JournalRecord,
  type JournalStore,
  type JournalWriter,
  SessionInUseError,
  type StoredRecord,
  type StoredSession,
} from './store.ts';

interface Kept {
  readonly lines: string[];
  modifiedMs: number;
  sizeBytes: number;
}

export class MemoryJournalStore implements JournalStore {
  readonly #sessions = new Map<string, Kept>();
  readonly #open = new Set<string>();
  readonly #now: () => Date;

  constructor(now: () => Date = () => new Date()) {
    this.#now = now;
  }

  async open(sessionId: string): Promise<JournalWriter> {
    if (this.#open.has(sessionId)) throw new SessionInUseError(sessionId, 'this process');
    this.#open.add(sessionId);
    let isOpen = true;
    return {
      cutBytes: 0,
      failure: undefined,
      append: (record: JournalRecord) => {
        if (isOpen) this.#append(sessionId, JSON.stringify(record));
      },
      commit: () => Promise.resolve(),
      close: async () => {
        if (isOpen) this.#open.delete(sessionId);
        isOpen = false;
      },
    };
  }

  async *readBack(sessionId: string): AsyncGenerator<StoredRecord, void, undefined> {
    const lines = [...(this.#sessions.get(sessionId)?.lines ?? [])];
    for (const line of lines.reverse()) {
      yield { kind: 'record', record: JSON.parse(line) as JournalRecord };
    }
  }

  async first(sessionId: string): Promise<JournalRecord | undefined> {
    const [line] = this.#sessions.get(sessionId)?.lines ?? [];
    return line === undefined ? undefined : (JSON.parse(line) as JournalRecord);
  }

  async list(): Promise<readonly StoredSession[]> {
    return [...this.#sessions].map(([sessionId, { modifiedMs, sizeBytes }]) => ({
      sessionId,
      modifiedMs,
      sizeBytes,
    }));
  }

  async delete(sessionId: string): Promise<boolean> {
    if (this.#open.has(sessionId)) throw new SessionInUseError(sessionId, 'this process');
    return this.#sessions.delete(sessionId);
  }

  #append(sessionId: string, line: string): void {
    const kept = this.#sessions.get(sessionId) ?? { lines: [], modifiedMs: 0, sizeBytes: 0 };
    kept.lines.push(line);
    kept.modifiedMs = this.#now().getTime();
    kept.sizeBytes += line.length + 1;
    this.#sessions.set(sessionId, kept);
  }
}
