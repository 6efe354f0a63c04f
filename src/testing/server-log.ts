/** What a scripted server has seen and done, in order. */
import type { Fault, Purpose, UsageFields } from './script.ts';
import type { Violation } from './strict.ts';

/** One thing that happened. `request` is the sequence number of the request it is about. */
export type LogEntry = { readonly atMs: number; readonly request: number } & (
  | { readonly type: 'request'; readonly purpose: Purpose; readonly n: number }
  /** The script, or a rule, has decided. `verdict` is for people: `200 tool_use Read`, `529 …`. */
  | { readonly type: 'reply'; readonly purpose: Purpose; readonly verdict: string }
  | { readonly type: 'refused'; readonly status: number; readonly violations: readonly Violation[] }
  | { readonly type: 'event'; readonly event: string; readonly index: number | undefined }
  | { readonly type: 'fault'; readonly fault: Fault }
  /** A message has gone out. `complete: false`: broken off; `usage` is what had been told. */
  | {
      readonly type: 'answered';
      readonly purpose: Purpose;
      readonly model: string;
      readonly complete: boolean;
      readonly usage: UsageFields | undefined;
    }
  | { readonly type: 'client_closed' }
  /** The script asks for what cannot be, or a reply function threw. */
  | { readonly type: 'script_error'; readonly message: string }
  /** Anything but a message: count_tokens, models, an unknown path. */
  | { readonly type: 'other'; readonly method: string; readonly path: string }
);

type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
export type NewLogEntry = Without<LogEntry, 'atMs'>;

/** Tokens, summed. */
export interface BilledUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation_input_tokens: number;
}

const NOTHING: BilledUsage = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
};

/** A server may drip for hours: beyond this only single stream events are left out of the log. */
const ENTRIES_MAX = 100_000;

/** The log, and those who wait for something in it. */
export class ServerLog {
  readonly entries: LogEntry[] = [];
  /** Milliseconds since the server was made. */
  readonly nowMs: () => number;
  readonly #listeners = new Set<(entry: LogEntry) => void>();

  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
  }

  add(entry: NewLogEntry): void {
    const timed: LogEntry = { atMs: this.nowMs(), ...entry };
    if (entry.type !== 'event' || this.entries.length < ENTRIES_MAX) this.entries.push(timed);
    for (const listener of [...this.#listeners]) listener(timed);
  }

  /** Calls on each new entry until the returned function is called. */
  listen(listener: (entry: LogEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Usage that has been told: of whole answers, or also of those that were broken off. */
  billed(filter: BilledFilter): BilledUsage {
    const sum = { ...NOTHING };
    for (const entry of this.entries) {
      if (entry.type !== 'answered' || !entry.usage) continue;
      if (!entry.complete && filter.includingBroken !== true) continue;
      if (filter.purpose !== undefined && entry.purpose !== filter.purpose) continue;
      if (filter.model !== undefined && entry.model !== filter.model) continue;
      for (const field of Object.keys(NOTHING) as (keyof BilledUsage)[]) {
        sum[field] += entry.usage[field] ?? 0;
      }
    }
    return sum;
  }
}

/** Which answers count. */
export interface BilledFilter {
  readonly purpose?: Purpose;
  readonly model?: string;
  /** Default: false, only answers that were sent whole. */
  readonly includingBroken?: boolean;
}
