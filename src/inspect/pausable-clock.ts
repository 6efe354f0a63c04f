/** Timers that can be made to stand still: what is left of each is left when they go on. */

interface Timer {
  readonly fire: () => void;
  leftMs: number;
  startedAt: number;
  handle: NodeJS.Timeout | undefined;
}

export class PausableClock {
  readonly #around: (fire: () => void) => void;
  readonly #timers = new Set<Timer>();
  #isPaused = false;

  /** @param around called instead of each timer, and calls it. */
  constructor(around: (fire: () => void) => void = (fire) => fire()) {
    this.#around = around;
  }

  setTimeout(fire: (...args: unknown[]) => void, ms: number): Timer {
    const timer: Timer = { fire, leftMs: ms, startedAt: 0, handle: undefined };
    this.#timers.add(timer);
    if (!this.#isPaused) this.#run(timer);
    return timer;
  }

  clearTimeout(id: unknown): void {
    const timer = id as Timer;
    clearTimeout(timer.handle);
    this.#timers.delete(timer);
  }

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    const now = performance.now();
    for (const timer of this.#timers) {
      clearTimeout(timer.handle);
      timer.leftMs = Math.max(0, timer.leftMs - (now - timer.startedAt));
    }
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    for (const timer of this.#timers) this.#run(timer);
  }

  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer.handle);
    this.#timers.clear();
  }

  #run(timer: Timer): void {
    timer.startedAt = performance.now();
    timer.handle = setTimeout(() => {
      this.#timers.delete(timer);
      this.#around(timer.fire);
    }, timer.leftMs);
  }
}
