/**
 * The words in which the chart's edges are written.
 * `next` keeps what the attempt has said and `retry` takes it back: both begin another iteration.
 * `end` settles and ends.
 * `fail` is for bugs of ours. `ask` puts a question to a service, `stage` and `rung` are places
 * where one is asked.
 */
import type { DoneActorEvent } from 'xstate';
import type { QueryEvent } from './events.ts';
import type { Conversation, Question } from './ports.ts';
import {
  type ContinueReason,
  continueReasons,
  type TerminalReason,
  terminalReasons,
} from './reasons.ts';
import type { FailureClass, Flaw, QueryState, Rung } from './state.ts';

const because = (reason: ContinueReason) => ({ reason, why: continueReasons[reason] });
const advance = (reason: ContinueReason) => ({ type: 'advance', params: { reason } }) as const;

/** Another iteration; what was said stands. */
export const next = <A extends 'tellBudget' | 'describeRound' = never>(
  reason: ContinueReason,
  ...first: A[]
) =>
  ({
    target: '#query.preprocess',
    description: reason,
    meta: because(reason),
    actions: [...first, advance(reason)],
  }) as const;
/** Another iteration; what was said is taken back, as far as it may be. */
export const retry = (reason: ContinueReason) =>
  ({
    target: '#query.preprocess',
    description: reason,
    meta: because(reason),
    actions: ['retract', advance(reason)],
  }) as const;
/** The end. No error stays hidden, no call stays unanswered. */
export const end = <A extends 'tellMaxTurns' = never>(reason: TerminalReason, ...first: A[]) =>
  ({
    target: '#query.terminal',
    description: reason,
    meta: { reason, why: terminalReasons[reason] },
    actions: [...first, 'settle', { type: 'finish', params: { reason } }],
  }) as const;

/** What only we can be blamed for: a service that throws, or (`late`) misses its deadline. */
export const fail = (who: string, how?: 'late') =>
  ({
    target: '#query.recovery.exhausted',
    actions: withhold('bug', how === 'late' ? `${who}: no answer in time` : who),
  }) as const;
/** An error that the host must not see yet. */
export const withhold = (failure: FailureClass, detail: string = failure) =>
  ({ type: 'withhold', params: { class: failure, detail } }) as const;
/** Worth a line to the host, and nothing else. */
export const warn = (text: string) => ({ type: 'warn', params: { text } }) as const;
export const flawIs = (...flaws: readonly Flaw[]) =>
  ({ type: 'flawIs', params: { flaws } }) as const;

const state = ({ context }: { context: QueryState }) => context;
/** A service that talks with us for as long as we stay. */
export const live = <S extends Conversation, E>(id: string, src: S, onError: E) =>
  ({ id, src, input: state, onError }) as const;
/** The answer is an event of the alphabet: the chart hears it as if someone had sent it. */
export const ask = <Q extends Question>(src: Q) =>
  ({
    id: src,
    src,
    input: state,
    onError: fail(src),
    onDone: {
      actions: {
        type: 'hear',
        params: ({ event }: { event: DoneActorEvent<QueryEvent> }) => event.output,
      },
    },
  }) as const;
type Waits = 'stageMs' | 'drainMs' | 'summaryMs';
/** A summary that does not come in time counts for the breaker. */
const late = (target: string, src: Question, deadline: Waits) => ({
  [deadline]: {
    target,
    actions: [
      warn(`${src} took too long`),
      ...(deadline === 'summaryMs' ? (['noteCompactFailure'] as const) : []),
    ],
  },
});
/** A stage of preprocess. One that does not answer in time is skipped: only size depends on it. */
export const stage = <Q extends Question>(src: Q, then: string, deadline: Waits = 'stageMs') =>
  ({
    invoke: ask(src),
    on: { 'stage.done': { target: then, actions: 'applyStage' } },
    after: late(then, src, deadline),
  }) as const;
/** A rung of the ladder: spent when entered, so that coming back to the ladder goes on below it. */
export const rung = <Q extends Question>(src: Q, spent: Rung, deadline: Waits = 'stageMs') =>
  ({
    entry: { type: 'spend', params: { rung: spent } },
    invoke: ask(src),
    after: late('ladder', src, deadline),
  }) as const;
