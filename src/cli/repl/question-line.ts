/** What a person is asked, one thing after the other, whoever asks. */

/** A question that is open now. */
export interface OpenQuestion {
  /** What can be answered, a line each. Read whenever it is drawn. */
  readonly hints: readonly string[];
  /** @returns what to say when it was no answer. */
  answer(text: string): string | undefined;
  /** Esc or Ctrl-C. */
  stop(): void;
  /** Whoever stops it means the turn, too. */
  readonly stopsTurn: boolean;
}

export class QuestionLine {
  readonly #onChange: () => void;
  #last: Promise<unknown> = Promise.resolve();
  #current: OpenQuestion | undefined;

  /** @param onChange a question was opened or closed. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get current(): OpenQuestion | undefined {
    return this.#current;
  }

  /** Begins when all that came before are answered: a person reads one thing at a time. */
  inTurn<T>(ask: () => Promise<T>): Promise<T> {
    const answer = this.#last.then(ask);
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  /**
   * Open until it is settled, or taken back. Only from within `inTurn`.
   * @param stopped the answer when nobody waits for one any more.
   */
  open<T>(
    signal: AbortSignal,
    stopped: T,
    make: (settle: (answer: T) => void) => OpenQuestion,
  ): Promise<T> {
    return new Promise((resolve) => {
      const settle = (answer: T) => {
        signal.removeEventListener('abort', abort);
        this.#current = undefined;
        resolve(answer);
        this.#onChange();
      };
      const abort = () => settle(stopped);
      signal.addEventListener('abort', abort, { once: true });
      this.#current = make(settle);
      this.#onChange();
      if (signal.aborted) abort();
    });
  }
}
