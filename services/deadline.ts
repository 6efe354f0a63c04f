/** A deadline that stands still while a person is waited for. */
import { LONGEST_MS } from '../machines/limits.ts';

export class Deadline {
  readonly #controller = new AbortController();
  #leftMs: number;
  #startedAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Questions that are open: with the last answer the clock goes on. */
  #pauses = 0;
  #isOver = false;

  constructor(milliseconds: number) {
    this.#leftMs = Math.min(milliseconds, LONGEST_MS);
    this.#start();
  }

  /** Aborted when the time is up; never when it was taken back before. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** @returns how to go on. Only its first call counts. */
  pause(): () => void {
    if (this.#pauses === 0) this.#stop();
    this.#pauses += 1;
    let isPaused = true;
    return () => {
      if (!isPaused) return;
      isPaused = false;
      this.#pauses -= 1;
      if (this.#pauses === 0 && !this.#isOver) this.#start();
    };
  }

  /** Taken back: nobody waits any more. */
  dispose(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #start(): void {
    this.#startedAtMs = performance.now();
    this.#timer = setTimeout(() => this.#controller.abort(), this.#leftMs);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#leftMs = Math.max(this.#leftMs - (performance.now() - this.#startedAtMs), 0);
  }
}
