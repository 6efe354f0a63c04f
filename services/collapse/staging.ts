/**
 * Prepares collapses beside the loop: one summary after the other, the oldest rounds first. Nobody
 * waits for it, and nothing that goes wrong in it is more than a collapse that is not there.
 */
import type { QueryState } from '../../machines/state.ts';
import type { FoldAnswer } from './ask-fold.ts';
import type { Collapse } from './record.ts';
import type { Segment } from './segments.ts';

/** In a row, in one session: a model that cannot do it is not paid for trying. */
const FAILURES_MAX = 3;
/** A summary that takes longer is a request that hangs. */
const FOLD_MS = 120_000;

export interface StagingDeps {
  /** *Contract:* never throws; ends when the signal does, and bills what it has used. */
  readonly ask: (state: QueryState, segment: Segment, signal: AbortSignal) => Promise<FoldAnswer>;
  /** The whole price of it, at its worst, is left in the budget. */
  readonly mayPay: (state: QueryState, segment: Segment) => boolean;
  /** Keeps the originals at hand, and words the note. *Contract:* never throws. */
  readonly fold: (segment: Segment, summary: string) => Promise<Collapse | undefined>;
  readonly onStaged: (collapse: Collapse) => void;
  /** Work that the end of the query ends, and whose last words it waits for. */
  readonly beside: (work: (signal: AbortSignal) => Promise<void>) => void;
  readonly onGivenUp: (reason: string) => void;
}

export interface Staging {
  /** To be summed up, after what waits already. */
  add(segments: readonly Segment[]): void;
  /** The past was rewritten: what waits is planned anew. What is being summed up goes on. */
  forget(): void;
  /** What is being summed up now. */
  readonly current: Segment | undefined;
  /** Goes on with what waits, unless it does already. Returns at once. */
  wake(state: QueryState): void;
}

/** Three failures in a row stop it for the session. */
export function createStaging(deps: StagingDeps): Staging {
  let waiting: Segment[] = [];
  let current: Segment | undefined;
  let failures = 0;

  /** @returns why there is no collapse of it. A bug on the way is a reason, too: nobody waits. */
  const stage = async (
    state: QueryState,
    segment: Segment,
    signal: AbortSignal,
  ): Promise<string | undefined> => {
    try {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(FOLD_MS)]);
      const answer = await deps.ask(state, segment, bounded);
      if (!answer.ok) return answer.reason;
      const collapse = await deps.fold(segment, answer.summary);
      if (!collapse) return 'the summary was hardly shorter than what it stands for';
      deps.onStaged(collapse);
      return undefined;
    } catch (error) {
      return String(error);
    }
  };

  const work = async (state: QueryState, signal: AbortSignal) => {
    while (failures < FAILURES_MAX && !signal.aborted) {
      const segment = waiting[0];
      if (!segment || !deps.mayPay(state, segment)) return;
      waiting.shift();
      current = segment;
      const failure = await stage(state, segment, signal);
      current = undefined;
      if (failure === undefined) {
        failures = 0;
        continue;
      }
      waiting.unshift(segment);
      if (signal.aborted) return; // the query is over: nobody has failed
      failures += 1;
      if (failures === FAILURES_MAX) deps.onGivenUp(failure);
      return; // the next iteration tries again
    }
  };

  let isAtWork = false;
  return {
    add: (segments) => {
      waiting.push(...segments);
    },
    forget: () => {
      waiting = [];
    },
    get current() {
      return current;
    },
    wake: (state) => {
      if (isAtWork || waiting.length === 0 || failures >= FAILURES_MAX) return;
      deps.beside(async (signal) => {
        isAtWork = true; // not before: a query that has ended begins nothing any more
        await work(state, signal);
        isAtWork = false;
      });
    },
  };
}
