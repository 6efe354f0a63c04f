/**
 * Between a chart that pushes and a host that pulls. What must not be lost is pushed at once; what
 * can wait (the next piece of a stream) asks for room first, so that a slow host slows the model
 * down instead of filling the memory.
 */
import type { SDKMessage } from './wire.ts';

const ITEMS_MAX = 64; // deltas are small, and a host that keeps up never sees this many

export class OutputQueue<T> implements AsyncIterableIterator<T, void, undefined> {
  readonly #items: T[] = [];
  readonly #keyOf: (item: T) => string | undefined;
  #ended = false;
  #wakeReader: (() => void) | undefined;
  #waiting: (() => void)[] = [];

  /**
   * @param keyOf of what the next word of its kind makes worthless, such as progress: it takes the
   * place of an unread one under the same key, so that a host that does not read has one to read.
   */
  constructor(keyOf: (item: T) => string | undefined = () => undefined) {
    this.#keyOf = keyOf;
  }

  /** Never waits. Ignored after `end`. */
  push(item: T): void {
    if (this.#ended) return;
    const key = this.#keyOf(item);
    const unread =
      key === undefined ? -1 : this.#items.findIndex((one) => this.#keyOf(one) === key);
    if (unread >= 0) {
      this.#items[unread] = item;
      return;
    }
    this.#items.push(item);
    this.#wakeReader?.();
  }

  /** Nothing more is taken. */
  get isOver(): boolean {
    return this.#ended;
  }

  /** Resolves when there is room again, and at the end. */
  room(): Promise<void> {
    if (this.#ended || this.#items.length < ITEMS_MAX) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** What is in the queue can still be read. */
  end(): void {
    this.#ended = true;
    this.#wakeReader?.();
    this.#release();
  }

  async next(): Promise<IteratorResult<T, void>> {
    while (this.#items.length === 0) {
      if (this.#ended) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
      this.#wakeReader = undefined;
    }
    const value = this.#items.shift() as T;
    if (this.#items.length < ITEMS_MAX / 2) this.#release();
    return { done: false, value };
  }

  /** The reader is gone. */
  return(): Promise<IteratorResult<T, void>> {
    this.#items.length = 0;
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

/** Of a call or a hook only the newest progress is worth reading. */
export function progressKey(message: SDKMessage): string | undefined {
  if (message.type === 'tool_progress') return `tool ${message.tool_use_id}`;
  if (message.type !== 'system' || message.subtype !== 'hook_progress') return undefined;
  return `hook ${message.hook_id}`;
}
