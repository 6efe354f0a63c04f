/**
 * What is done on the way. Each is a pure function: state and event in, change and words to the
 * host out. None decides where to go.
 */
import { type ActorRef, enqueueActions, raise, type Snapshot, sendTo, stopChild } from 'xstate';
import { type Advance, compacted, reducers } from './advance.ts';
import type { DescribeCommand, QueryEvent, QueryOutput, ToolCommand } from './events.ts';
import { backoffMs, timeLeftMs } from './limits.ts';
import type { ContinueReason, TerminalReason } from './reasons.ts';
import { roundWith } from './round.ts';
import {
  type Cursor,
  carry,
  type Failure,
  type FailureClass,
  flawOf,
  freshIteration,
  handedOver,
  type MessageRef,
  type QueryState,
  type Rung,
  type ToolUse,
  tokenBudgetOf,
} from './state.ts';

/** To the host's clock, not to the host. */
type ClockCommand = { type: 'clock.start' } | { type: 'clock.stop' };
type Word = QueryOutput | ClockCommand;
type Change = readonly [change: Partial<QueryState>, ...words: readonly Word[]];
const pure = <P = undefined>(f: (state: QueryState, event: QueryEvent, params: P) => Change) =>
  enqueueActions<QueryState, QueryEvent, P, QueryEvent, never, never, never, never, QueryOutput>(
    ({ context, event, enqueue }, params) => {
      const [change, ...words] = f(context, event, params);
      enqueue.assign(change);
      for (const word of words) {
        if (word.type === 'clock.stop') enqueue.cancel('clock');
        else if (word.type === 'clock.start')
          enqueue.raise({ type: 'time.ranOut' }, { id: 'clock', delay: timeLeftMs });
        else enqueue.emit(word);
      }
    },
  );
/** Says a word to a service that lives as long as the query. */
const tell = (
  service: 'tools' | 'describer',
  command: (state: QueryState, event: QueryEvent) => ToolCommand | DescribeCommand,
) =>
  sendTo<
    QueryState,
    QueryEvent,
    undefined,
    ActorRef<Snapshot<unknown>, ToolCommand | DescribeCommand>,
    QueryEvent,
    never
  >(service, ({ context, event }) => command(context, event));
const unchanged: Change = [{}];
const show = (message: MessageRef): QueryOutput => ({ type: 'message', message });
/** These become history, in this order. */
const agree = (history: Cursor, messages: readonly MessageRef[]) => {
  const to = carry(history, messages);
  const words: readonly QueryOutput[] = messages.length
    ? [{ type: 'agreed', from: history.head, to: to.head, messages }]
    : [];
  return { to, words };
};
/**
 * More of what this iteration says. It may be taken back until a call is handed to the executor;
 * from then on it is history at once: what has been done cannot be unsaid.
 */
const say = (s: QueryState, ...more: readonly MessageRef[]): Change => {
  const attempt = [...s.attempt, ...more];
  if (!handedOver(s)) return [{ attempt }, ...more.map(show)];
  const { to, words } = agree(s.history, attempt);
  return [{ attempt: [], history: to }, ...more.map(show), ...words];
};
/** The same change, and more of it. */
const also = ([change, ...words]: Change, more: Partial<QueryState>, ...most: readonly Word[]) =>
  [{ ...change, ...more }, ...words, ...most] as const;
/** History must answer every call. */
const unanswered = (s: QueryState, calls: readonly ToolUse[], text: string) =>
  calls.map(
    ({ id }): MessageRef => ({
      uuid: `${s.queryId}:unanswered:${id}`,
      role: 'user',
      kind: 'tool_result',
      toolUseId: id,
      text,
    }),
  );
/** Questions that were answered, or whose call was. With the last one the clock goes on. */
const closeQuestions = (
  s: QueryState,
  isClosed: (open: QueryState['openQuestions'][number]) => boolean,
  atMs?: number,
): Change => {
  const openQuestions = s.openQuestions.filter((open) => !isClosed(open));
  if (openQuestions.length === s.openQuestions.length) return unchanged;
  const word: QueryOutput = { type: 'person', openQuestions: openQuestions.length };
  if (openQuestions.length > 0 || !s.clock.stands) return [{ openQuestions }, word];
  const clock = { ...s.clock, stands: false, startedAtMs: atMs };
  return [{ openQuestions, clock }, word, { type: 'clock.start' }];
};
/** An iteration that left something in history: what a rapid refill is measured in. */
const countKept = ({ autoCompactTracking: tracking, ...s }: QueryState) => ({
  ...tracking,
  turnCounter: tracking.turnCounter + (s.attempt.length > 0 || s.callCount > 0 ? 1 : 0),
});
/** The API says that what we sent is too long. */
const refusedAsTooLong = ({ class: name }: Failure) =>
  name === 'prompt_too_long' || name === 'request_too_large' || name === 'output_cap_too_high';

export const actions = {
  // ── from everywhere ──
  startClock: pure(() => [{}, { type: 'clock.start' }]),
  tellDescription: pure((s, e) =>
    e.type === 'round.described'
      ? [
          { pendingToolUseSummary: undefined, spentUsd: s.spentUsd + e.usd },
          { type: 'roundDescribed', text: e.text, toolUseIds: e.toolUseIds },
        ]
      : unchanged,
  ),

  // ── between iterations ──
  /** `state = next`. What is left of the attempt becomes history, then our notes to the model. */
  advance: pure<{ reason: ContinueReason }>((s, e, { reason }) => {
    const tracked = { ...s, autoCompactTracking: countKept(s) };
    const { notes = [], ...change }: Advance = reducers[reason](tracked, e);
    const { to, words } = agree(change.history ?? s.history, [...s.attempt, ...notes]);
    const again = s.transition?.reason === reason ? s.transition.attempt : 0;
    return [
      {
        autoCompactTracking: tracked.autoCompactTracking,
        ...change,
        ...freshIteration,
        history: to,
        iteration: s.iteration + 1,
        transition: { reason, attempt: again + 1 },
      },
      ...notes.map(show),
      ...words,
    ];
  }),
  tellMaxTurns: pure((s) => [
    {},
    { type: 'maxTurnsReached', maxTurns: s.limits.turnsMax, turnCount: s.turnCount },
  ]),
  /**
   * The host learns of an iteration when it begins, not when it is wished for: the gate may still
   * say no.
   */
  announce: pure((s) => [
    {},
    {
      type: 'transition',
      reason: s.transition?.reason,
      attempt: s.transition?.attempt ?? 0,
      iteration: s.iteration,
    },
  ]),
  /** Takes back what may be: from the first call on there is nothing, see `say`. */
  retract: pure((s) => [
    { attempt: [] },
    ...s.attempt.map(({ uuid }): QueryOutput => ({ type: 'tombstone', uuid })),
  ]),
  /** No error stays hidden, no call unanswered, except those that were left to the host. */
  settle: pure((s, e) => {
    const left = e.type === 'tools.deferred' ? e.ids : [];
    const calls = s.openToolUses.filter(({ id }) => !left.includes(id));
    const flaw = flawOf(s);
    const error: readonly QueryOutput[] =
      flaw === undefined ? [] : [{ type: 'error', flaw, detail: s.withheld?.detail ?? flaw }];
    const answers = unanswered(s, calls, 'The call was interrupted.');
    return also(say(s, ...answers), { openToolUses: [] }, ...error);
  }),
  finish: pure<{ reason: TerminalReason }>((s, _, { reason }) => {
    const { to, words } = agree(s.history, s.attempt);
    const autoCompactTracking = countKept(s);
    return [{ ending: reason, history: to, attempt: [], autoCompactTracking }, ...words];
  }),

  // ── preprocess ──
  applyStage: pure((s, e) => {
    if (e.type !== 'stage.done') return unchanged;
    const { autoCompactTracking: t } = s;
    const tracking =
      e.compaction === 'done'
        ? compacted(s)
        : e.compaction === 'failed'
          ? { ...t, consecutiveFailures: t.consecutiveFailures + 1 }
          : t;
    return [
      {
        history: e.history,
        promptUsd: e.promptUsd ?? s.promptUsd,
        spentUsd: e.spentUsd ?? s.spentUsd + e.usd,
        outputTokens: e.outputTokens ?? s.outputTokens,
        autoCompactTracking: tracking,
      },
    ];
  }),

  // ── sampling ──
  /** A request begins: what the last one left behind is gone. */
  dial: pure((s) => [
    { withheld: undefined, stopReason: undefined, blockCount: 0, promptHead: s.history.head },
  ]),
  tellSampled: pure((s) => [{}, { type: 'sampled', iteration: s.iteration }]),
  hangUp: stopChild<QueryState, QueryEvent, undefined, QueryEvent>('model'),
  record: pure((s, e) => {
    switch (e.type) {
      case 'stream.message':
        return also(say(s, e.message), { blockCount: s.blockCount + 1 });
      case 'stream.toolUse': {
        const calls = {
          blockCount: s.blockCount + 1,
          callCount: s.callCount + 1,
          openToolUses: [...s.openToolUses, { id: e.id, deadlineMs: e.deadlineMs }],
        };
        return also(say({ ...s, ...calls }, e.message), calls);
      }
      case 'tool.result': {
        const [change, ...words] = closeQuestions(s, (open) => open.toolUseId === e.id);
        const answer = {
          ...change,
          openToolUses: s.openToolUses.filter((call) => call.id !== e.id),
          round: roundWith(s.round, e.fingerprint),
          schemaTry: e.schemaTry ?? s.schemaTry,
          schemaSatisfied: s.schemaSatisfied || e.schemaTry === 'valid',
        };
        return also(say(s, e.message), answer, ...words);
      }
      default:
        return unchanged;
    }
  }),
  noteEnd: pure((s, e) =>
    e.type === 'stream.ended'
      ? [
          {
            stopReason: e.stopReason,
            history: { ...s.history, tokens: e.tokens },
            answerCount: s.answerCount + 1,
            outputTokens: s.outputTokens + e.outputTokens,
            spentUsd: s.spentUsd + e.usd,
            overloads: 0,
            wasRefusedAsTooLong:
              s.wasRefusedAsTooLong || e.stopReason === 'model_context_window_exceeded',
          },
        ]
      : unchanged,
  ),
  noteFailure: pure((s, e) =>
    e.type === 'request.failed'
      ? [
          {
            withheld: e.failure,
            spentUsd: s.spentUsd + e.usd,
            outputTokens: s.outputTokens + (e.outputTokens ?? 0),
            overloads: e.failure.class === 'overloaded' ? s.overloads + 1 : 0,
            wasRefusedAsTooLong: s.wasRefusedAsTooLong || refusedAsTooLong(e.failure),
          },
        ]
      : unchanged,
  ),
  withhold: pure<{ class: FailureClass; detail: string }>((_, e, { class: failure, detail }) => [
    {
      withheld: {
        class: failure,
        detail: 'error' in e ? `${detail}: ${String(e.error)}` : detail,
      },
    },
  ]),
  countRetry: pure((s) => {
    const words: QueryOutput[] = s.withheld
      ? [
          {
            type: 'retry',
            attempt: s.retryCount + 1,
            attemptsMax: s.limits.retriesMax,
            delayMs: backoffMs(s.limits, s.withheld, s.retryCount + 1),
            failure: s.withheld,
          },
        ]
      : [];
    return [{ retryCount: s.retryCount + 1 }, ...words];
  }),
  lowerCap: pure((s) =>
    s.withheld?.fittingTokens === undefined
      ? unchanged
      : [{ maxOutputTokensOverride: s.withheld.fittingTokens, hasLoweredCap: true }],
  ),
  useFallback: pure((s, e) =>
    e.type === 'model.switched'
      ? [
          {
            model: e.model,
            fallbackModel: undefined,
            limits: { ...s.limits, ...e.limits },
            overloads: 0,
            withheld: undefined,
          },
          { type: 'fallback', from: s.model, to: e.model },
        ]
      : unchanged,
  ),

  // ── tools ──
  feedTools: tell('tools', (_, e) => e as Extract<QueryEvent, { type: 'stream.toolUse' }>),
  drainTools: tell('tools', () => ({ type: 'tools.drain' })),
  discardTools: tell('tools', () => ({ type: 'tools.discard' })),
  describeRound: tell('describer', (s) => ({
    type: 'round.describe',
    from: s.promptHead,
    to: s.history.head,
  })),
  noteQuestion: pure((s, e) => {
    if (e.type !== 'person.asked') return unchanged;
    const { question, toolUseId, atMs } = e;
    const openQuestions = [...s.openQuestions, { question, toolUseId }];
    const asked = { openQuestions, questionCount: s.questionCount + 1 };
    const word: QueryOutput = { type: 'person', openQuestions: openQuestions.length };
    const { stands, startedAtMs, usedMs } = s.clock;
    if (stands || startedAtMs === undefined || atMs === undefined) return [asked, word];
    const clock = { stands: true, startedAtMs, usedMs: usedMs + Math.max(atMs - startedAtMs, 0) };
    return [{ ...asked, clock }, word, { type: 'clock.stop' }];
  }),
  noteAnswer: pure((s, e) =>
    e.type === 'person.answered'
      ? closeQuestions(s, (open) => open.question === e.question, e.atMs)
      : unchanged,
  ),
  /** A call that nobody has answered in time must not stay open in the history. */
  answerOverdue: pure((s) => {
    const text = 'No answer in time: the outcome is unknown.';
    return also(say(s, ...unanswered(s, s.openToolUses, text)), { openToolUses: [] });
  }),
  attach: pure((s, e) => (e.type === 'attachments.ready' ? say(s, ...e.messages) : unchanged)),

  // ── recovery, stop hooks ──
  spend: pure<{ rung: Rung }>((_, __, { rung }) => [{ [rung]: true }]),
  noteCompactFailure: pure((s, e) => [
    {
      spentUsd: s.spentUsd + (e.type === 'compact.failed' ? e.usd : 0),
      autoCompactTracking: {
        ...s.autoCompactTracking,
        consecutiveFailures: s.autoCompactTracking.consecutiveFailures + 1,
      },
    },
  ]),
  tellBudget: pure((s) => {
    const budget = tokenBudgetOf(s);
    if (budget.action === 'continue') {
      const { percentage, tracker } = budget;
      const { continuationCount } = tracker;
      return [{}, { type: 'budgetContinued', continuationCount, percentage }];
    }
    const { completionEvent } = budget;
    return completionEvent ? [{}, { type: 'budgetCompleted', completionEvent }] : unchanged;
  }),
  reportOverride: pure((s) => [
    { stopHookOverridden: true },
    {
      type: 'warning',
      text: `the stop hooks blocked ${s.stopHookBlocks + 1} times in a row and were overridden`,
    },
  ]),
  warn: pure<{ text: string }>((_, __, { text }) => [{}, { type: 'warning', text }]),

  /** A service has answered: the chart hears the answer as an event of its own alphabet. */
  hear: raise<QueryState, QueryEvent, QueryEvent, QueryEvent, never, never>((_, answer) => answer),
};
