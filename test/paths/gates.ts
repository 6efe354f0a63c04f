/** Waits for a number of transitions: what makes a path's order, whatever the machine's speed. */

/** No path takes so many. */
export const NEVER = Number.MAX_SAFE_INTEGER;

export class Gate {
  #taken = 0;
  #isOpen = false;
  #waiting: { readonly at: number; readonly go: () => void }[] = [];

  /** Called at once when so many were taken; if that is now, now. */
  when(at: number, go: () => void): void {
    if (this.#isOpen || this.#taken >= at) go();
    else this.#waiting.push({ at, go });
  }
  /** Resolves when so many were taken, or all is over. */
  reach(at: number): Promise<void> {
    return new Promise((resolve) => this.when(at, resolve));
  }
  advance(taken: number): void {
    this.#taken = taken;
    const ready = this.#waiting.filter(({ at }) => at <= taken);
    this.#waiting = this.#waiting.filter(({ at }) => at > taken);
    for (const { go } of ready) go();
  }
  /** All is over: nobody waits any longer. */
  open(): void {
    this.#isOpen = true;
    this.advance(NEVER);
  }
}
