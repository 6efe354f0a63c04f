/**
 * What a host lets a session spend, and who has asked for how much of it. Several requests run at
 * once (the loop, its agents, summaries and lines beside them): each puts its worst price aside
 * before it begins, so that together they never spend what only one of them may.
 */
import { UNBOUNDED } from '../../machines/limits.ts';

/** Work beside the loop may take at most this part of what nobody has put aside. */
const BESIDE_SHARE = 0.1;

/** All numbers are dollars. */
export class Purse {
  readonly usdMax: number;
  /** Spent by this process, by whomever. */
  usd = 0;
  #reservedUsd = 0;
  #reservations = 0;
  #waiting: (() => void)[] = [];

  constructor(usdMax: number = UNBOUNDED) {
    this.usdMax = usdMax;
  }

  get isBounded(): boolean {
    return this.usdMax < UNBOUNDED;
  }

  /** Neither spent nor put aside. */
  get left(): number {
    return this.usdMax - this.usd - this.#reservedUsd;
  }

  /** Somebody has put something aside: it may come back. */
  get isShared(): boolean {
    return this.#reservations > 0;
  }

  /** @param worst `undefined`: a price that nobody knows, and that no budget is spent on. */
  mayPayBeside(worst: number | undefined): boolean {
    if (!this.isBounded) return true;
    return worst !== undefined && worst <= this.left * BESIDE_SHARE;
  }

  /** Puts aside. *Ask `left` first.* @returns gives it back, once; what was used is billed by then. */
  reserve(usd: number): () => void {
    this.#reservedUsd += usd;
    this.#reservations += 1;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#reservations -= 1;
      // Sums of fractions leave crumbs behind.
      this.#reservedUsd = this.#reservations === 0 ? 0 : this.#reservedUsd - usd;
      for (const wake of this.#waiting.splice(0)) wake();
    };
  }

  /** Resolves when something was given back, or the signal was aborted. */
  async givenBack(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        this.#waiting = this.#waiting.filter((other) => other !== wake);
        resolve();
      };
      this.#waiting.push(wake);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
