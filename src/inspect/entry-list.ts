/**
 * The run, as the list of its entries: bounded in number and in bytes. What is dropped at the old
 * end is summed up, so that the page still knows where the machine stood and how often an edge was
 * taken.
 */
import type {
  AnswerEntry,
  Base,
  Entry,
  InstanceBase,
  InstanceEntry,
  Step,
  Tokens,
} from './protocol.ts';
import type { Scrub } from './redact.ts';

export interface ListBounds {
  readonly stepsMax: number;
  readonly bytesMax: number;
}
export const defaultBounds: ListBounds = { stepsMax: 2_000, bytesMax: 32 << 20 };
/** Services, deadlines, messages and requests that come with a step. */
const ENTRIES_PER_STEP = 10;
/** Ended instances that are remembered when nothing of them is kept any more. */
const GONE_INSTANCES_MAX = 100;

/** An entry as it is kept: as text, for it is sent more often than it is read. */
export interface Kept {
  readonly seq: number;
  readonly kind: Entry['kind'];
  readonly instance: string;
  readonly json: string;
  /** What the page may ask for, by reference: an event, a message, a body. */
  readonly raw: unknown;
  readonly bytes: number;
}

type Unnumbered<T> = T extends Entry ? Omit<T, 'seq'> : never;
/** An entry that has no place yet. */
export type NewEntry = Unnumbered<Entry>;

interface Sum {
  instance: InstanceEntry;
  on: readonly string[];
  steps: number;
  readonly taken: Record<string, number>;
  readonly reasons: Record<string, number>;
  tokens: Tokens;
  usd: number;
  requests: number;
}

const noTokens: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export class EntryList {
  readonly #bounds: ListBounds;
  readonly #scrub: Scrub;
  readonly #onDrop: (dropped: Kept) => void;
  #kept: Kept[] = [];
  #next = 0;
  #steps = 0;
  #bytes = 0;
  readonly #sums = new Map<string, Sum>();
  readonly #listeners = new Set<() => void>();

  /** @param onDrop told of each entry that is not kept any more, oldest first. */
  constructor(bounds: ListBounds, scrub: Scrub, onDrop: (dropped: Kept) => void = () => {}) {
    this.#bounds = bounds;
    this.#scrub = scrub;
    this.#onDrop = onDrop;
  }

  /** The first that is kept, and the one that comes next. */
  get first(): number {
    return this.#kept[0]?.seq ?? this.#next;
  }
  get next(): number {
    return this.#next;
  }
  /** Estimated size of all that is kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param raw kept beside it. @param rawBytes what that holds in memory, roughly. */
  push(entry: NewEntry, raw?: unknown, rawBytes = 0): Kept {
    const seq = this.#next;
    this.#next += 1;
    const json = this.#scrub(JSON.stringify({ seq, ...entry }));
    const bytes = json.length + rawBytes;
    const kept = { seq, kind: entry.kind, instance: entry.instance, json, raw, bytes };
    this.#kept.push(kept);
    this.#bytes += bytes;
    if (entry.kind === 'step') this.#steps += 1;
    if (this.#isFull()) this.#drop();
    for (const listener of this.#listeners) listener();
    return kept;
  }

  at(seq: number): Kept | undefined {
    return this.#kept[seq - this.first];
  }

  /** From `seq` on, at most `max`. */
  from(seq: number, max: number): readonly Kept[] {
    const at = Math.max(0, seq - this.first);
    return this.#kept.slice(at, at + max);
  }

  /** Backwards from `seq`. */
  *back(seq: number): Generator<Kept, void> {
    for (let at = seq - this.first; at >= 0; at -= 1) {
      const kept = this.#kept[at];
      if (kept) yield kept;
    }
  }

  /** Told after each new entry. *Contract:* does not throw. @returns ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  base(): Base {
    return { seq: this.first, instances: [...this.#sums.values()].map(baseOf) };
  }

  #isFull(): boolean {
    const { stepsMax, bytesMax } = this.#bounds;
    return (
      this.#steps > stepsMax ||
      this.#bytes > bytesMax ||
      this.#kept.length > stepsMax * ENTRIES_PER_STEP
    );
  }

  /** An eighth at once: cutting a list costs its length. */
  #drop(): void {
    const { stepsMax, bytesMax } = this.#bounds;
    const least = Math.max(1, this.#kept.length >> 3);
    let count = 0;
    let isOver = true;
    while (count < this.#kept.length - 1 && (count < least || isOver)) {
      const gone = this.#kept[count] as Kept;
      count += 1;
      this.#bytes -= gone.bytes;
      if (gone.kind === 'step') this.#steps -= 1;
      this.#sumUp(gone);
      this.#onDrop(gone);
      isOver = this.#steps > stepsMax || this.#bytes > bytesMax;
    }
    this.#kept = this.#kept.slice(count);
    this.#forgetInstances();
  }

  #sumUp({ json, kind, instance }: Kept): void {
    if (kind !== 'instance' && kind !== 'step' && kind !== 'answer') return;
    const entry = JSON.parse(json) as InstanceEntry | Step | AnswerEntry;
    if (entry.kind === 'instance') {
      const sum = this.#sums.get(entry.instance);
      if (sum) sum.instance = entry;
      else this.#sums.set(entry.instance, newSum(entry));
      return;
    }
    const sum = this.#sums.get(instance);
    if (!sum) return;
    if (entry.kind === 'step') addStep(sum, entry);
    else addAnswer(sum, entry);
  }

  #forgetInstances(): void {
    const ended = [...this.#sums.values()].filter(({ instance }) => instance.status !== 'active');
    for (const { instance } of ended.slice(0, -GONE_INSTANCES_MAX)) {
      this.#sums.delete(instance.instance);
    }
  }
}

const newSum = (instance: InstanceEntry): Sum => ({
  ...{ instance, on: [], steps: 0, taken: {}, reasons: {} },
  ...{ tokens: noTokens, usd: 0, requests: 0 },
});

function addStep(sum: Sum, { on, edges }: Step): void {
  sum.on = on;
  sum.steps += 1;
  for (const { id, reason } of edges) {
    sum.taken[id] = (sum.taken[id] ?? 0) + 1;
    if (reason !== undefined) sum.reasons[reason] = (sum.reasons[reason] ?? 0) + 1;
  }
}

function addAnswer(sum: Sum, { usage, usd }: AnswerEntry): void {
  const { tokens } = sum;
  sum.tokens = {
    input: tokens.input + usage.input,
    output: tokens.output + usage.output,
    cacheRead: tokens.cacheRead + usage.cacheRead,
    cacheWrite: tokens.cacheWrite + usage.cacheWrite,
  };
  sum.usd += usd ?? 0;
  sum.requests += 1;
}

const baseOf = (sum: Sum): InstanceBase => ({
  ...sum,
  taken: { ...sum.taken },
  reasons: { ...sum.reasons },
});
