/** Prompts that come while a turn runs, until a turn takes them. */
import type { LogMessage } from '../services/messages.ts';

/**
 * `now`: the turn that runs is stopped for it. `next`: it is read at the next chance, beside the
 * results of a round, else as a turn of its own. `later`: only as a turn of its own.
 */
export type Priority = 'now' | 'next' | 'later';

const ranks: Readonly<Record<Priority, number>> = { now: 0, next: 1, later: 2 };

/** By priority, and within one in the order in which they came. */
export const byPriority = <T extends { readonly priority: Priority }>(all: readonly T[]): T[] =>
  [...all].sort((a, b) => ranks[a.priority] - ranks[b.priority]); // stable

interface Waiting {
  readonly message: LogMessage;
  readonly priority: Priority;
}

export class PromptQueue {
  #waiting: Waiting[] = [];
  /** For turns of their own: the caller has them, and may not have submitted all of them yet. */
  #handedOut: LogMessage[] = [];

  add(message: LogMessage, priority: Priority): void {
    this.#waiting = byPriority([...this.#waiting, { message, priority }]);
  }

  /**
   * What the turn that runs may read now; it stays here until it is taken. One that stops the turn
   * must not be answered by it.
   */
  forRound(): readonly LogMessage[] {
    return this.#waiting
      .filter(({ priority }) => priority === 'next')
      .map(({ message }) => message);
  }

  /** For turns of their own. */
  takeAll(): readonly Waiting[] {
    const all = this.#waiting.splice(0);
    this.#handedOut.push(...all.map(({ message }) => message));
    return all;
  }

  /** What no turn has taken, also where the caller has it: another process would go on with it. */
  untaken(isTaken: (uuid: string) => boolean): readonly LogMessage[] {
    this.#handedOut = this.#handedOut.filter(({ uuid }) => !isTaken(uuid));
    return [...this.#handedOut, ...this.#waiting.map(({ message }) => message)];
  }

  has(uuid: string): boolean {
    return this.#waiting.some(({ message }) => message.uuid === uuid);
  }

  /** @returns whether it was still waiting: what a turn has taken cannot be taken back. */
  cancel(uuid: string): boolean {
    this.#handedOut = this.#handedOut.filter((message) => message.uuid !== uuid);
    const before = this.#waiting.length;
    this.#waiting = this.#waiting.filter(({ message }) => message.uuid !== uuid);
    return this.#waiting.length < before;
  }
}
