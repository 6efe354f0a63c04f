/**
 * Between a chart that pushes and a host that pulls. What must not be lost is pushed at once; what
 * can wait (the next piece of a stream) asks for room first, so that a slow host slows the model
 * down instead of filling the memory.
 */
const ITEMS_MAX = 64; // deltas are small, and a host that keeps up never sees this many

export class OutputQueue<T> implements AsyncIterableIterator<T, void, undefined> {
  readonly #items: T[] = [];
  #ended = false;
  #wakeReader: (() => void) | undefined;
  #waiting: (() => void)[] = [];

  /** Never waits. Ignored after `end`. */
  push(item: T): void {
    if (this.#ended) return;
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
