/**
 * Prepares collapses beside the loop: one summary after the other, the oldest rounds first. Nobody
 * waits for it, and nothing that goes wrong in it is more than a collapse that is not there.
 */
import type { QueryState } from '../../machines/state.ts';
import { bareUuid } from '../preprocess/revise.ts';
import type { FoldAnswer } from './ask-fold.ts';
import type { Collapse } from './record.ts';
import type { Segment } from './segments.ts';

/** In a row, in one session: a model that cannot do it is not paid for trying. */
const FAILURES_MAX = 3;
/** Of one portion: what cannot be said in fewer words stays word for word. */
const REFUSALS_MAX = 2;
/** A summary that takes longer is a request that hangs. */
const FOLD_MS = 120_000;

export interface StagingDeps {
  /** *Contract:* never throws; ends when the signal does, and bills what it has used. */
  readonly ask: (state: QueryState, segment: Segment, signal: AbortSignal) => Promise<FoldAnswer>;
  /** The whole price of it, at its worst, is left in the budget. */
  readonly mayPay: (state: QueryState, segment: Segment) => boolean;
  /**
   * Keeps the originals at hand, and words the note. `undefined`: the summary is hardly shorter.
   * *Contract:* never throws.
   */
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

/** What came of one portion. */
type Outcome =
  | { readonly type: 'staged' | 'unpaid' }
  /** The fault of the model, or of a server. */
  | { readonly type: 'failed'; readonly reason: string }
  /** Nobody's: there is not less to say of it. */
  | { readonly type: 'refused' };

/** The same portion, also when the past was looked at anew in between. */
const nameOf = ({ messages }: Segment): string =>
  `${bareUuid(messages[0]?.uuid ?? '')} ${messages.length}`;

/** Three failures in a row stop it for the session; a portion is given up by itself. */
export function createStaging(deps: StagingDeps): Staging {
  let waiting: Segment[] = [];
  let current: Segment | undefined;
  let failures = 0;
  let isAtWork = false;
  const refusals = new Map<string, number>();
  const refusalsOf = (segment: Segment) => refusals.get(nameOf(segment)) ?? 0;

  /** A bug on the way is a failure, too: nobody waits. */
  const stage = async (
    state: QueryState,
    segment: Segment,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    try {
      if (!deps.mayPay(state, segment)) return { type: 'unpaid' };
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(FOLD_MS)]);
      const answer = await deps.ask(state, segment, bounded);
      if (!answer.ok) {
        return answer.isUnpaid ? { type: 'unpaid' } : { type: 'failed', reason: answer.reason };
      }
      const collapse = await deps.fold(segment, answer.summary);
      if (!collapse) return { type: 'refused' };
      deps.onStaged(collapse);
      return { type: 'staged' };
    } catch (error) {
      return { type: 'failed', reason: String(error) };
    }
  };

  /** @returns whether the next one may follow at once; else the next iteration goes on. */
  const settle = (segment: Segment, outcome: Outcome, isOver: boolean): boolean => {
    if (outcome.type === 'staged') {
      failures = 0;
      return true;
    }
    if (outcome.type === 'refused') {
      failures = 0;
      refusals.set(nameOf(segment), refusalsOf(segment) + 1);
      if (refusalsOf(segment) >= REFUSALS_MAX) return true;
    }
    waiting.unshift(segment);
    if (outcome.type !== 'failed' || isOver) return false; // the query is over: nobody has failed
    failures += 1;
    if (failures === FAILURES_MAX) deps.onGivenUp(outcome.reason);
    return false;
  };

  const work = async (state: QueryState, signal: AbortSignal) => {
    while (failures < FAILURES_MAX && !signal.aborted) {
      const segment = waiting.shift();
      if (!segment) return;
      current = segment;
      const outcome = await stage(state, segment, signal);
      current = undefined;
      if (!settle(segment, outcome, signal.aborted)) return;
    }
  };

  return {
    add: (segments) => {
      waiting.push(...segments.filter((segment) => refusalsOf(segment) < REFUSALS_MAX));
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
        try {
          await work(state, signal);
        } catch {
          // Whoever is told of the end has thrown: nobody is left to tell.
        } finally {
          isAtWork = false;
        }
      });
    },
  };
}
