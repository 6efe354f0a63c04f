/**
 * What is done on the way. Each is a pure function: state and event in, change and words to the
 * host out. None decides where to go.
 */
import { type ActorRef, enqueueActions, raise, type Snapshot, sendTo, stopChild } from 'xstate';
import { type Advance, compacted, reducers } from './advance.ts';
import type { QueryEvent, QueryOutput, ToolCommand } from './events.ts';
import { backoffMs } from './limits.ts';
import type { ContinueReason, TerminalReason } from './reasons.ts';
import {
  type Cursor,
  carry,
  type FailureClass,
  flawOf,
  freshIteration,
  handedOver,
  type MessageRef,
  type QueryState,
  type Rung,
  type ToolUse,
} from './state.ts';

type Change = readonly [change: Partial<QueryState>, ...words: readonly QueryOutput[]];
const pure = <P = undefined>(f: (state: QueryState, event: QueryEvent, params: P) => Change) =>
  enqueueActions<QueryState, QueryEvent, P, QueryEvent, never, never, never, never, QueryOutput>(
    ({ context, event, enqueue }, params) => {
      const [change, ...words] = f(context, event, params);
      enqueue.assign(change);
      for (const word of words) enqueue.emit(word);
    },
  );
/** Says a word to the tool executor. */
const tell = (f: (event: QueryEvent) => ToolCommand) =>
  sendTo<
    QueryState,
    QueryEvent,
    undefined,
    ActorRef<Snapshot<unknown>, ToolCommand>,
    QueryEvent,
    never
  >('tools', ({ event }) => f(event));
const unchanged: Change = [{}];
const show = (message: MessageRef): QueryOutput => ({ type: 'message', message });
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
/** What stands of the attempt, then notes: from now on history. */
const agree = (s: QueryState, history: Cursor, notes: readonly MessageRef[]) => {
  const messages = [...s.attempt, ...notes];
  const to = carry(history, messages);
  const words: QueryOutput[] = messages.length
    ? [...notes.map(show), { type: 'agreed', from: history.head, to: to.head, messages }]
    : [];
  return { to, words };
};

export const actions = {
  // ── between iterations ──
  /** `state = next`. */
  advance: pure<{ reason: ContinueReason }>((s, e, { reason }) => {
    const { notes = [], ...change } = reducers[reason](s, e) as Advance;
    const { to, words } = agree(s, change.history ?? s.history, notes);
    const next = { ...change, ...freshIteration, history: to };
    return [{ ...next, iteration: s.iteration + 1, transition: reason }, ...words];
  }),
  /**
   * The host learns of an iteration when it begins, not when it is wished for: the gate may still
   * say no.
   */
  tellMaxTurns: pure((s) => [
    {},
    { type: 'maxTurnsReached', maxTurns: s.limits.turnsMax, turnCount: s.turnCount },
  ]),
  announce: pure((s) => [{}, { type: 'transition', reason: s.transition, iteration: s.iteration }]),
  /** Takes back what the attempt has shown, unless a call was handed over: done is not unsaid. */
  retract: pure((s) =>
    handedOver(s)
      ? unchanged
      : [
          { attempt: [] },
          ...s.attempt.map(({ uuid }): QueryOutput => ({ type: 'tombstone', uuid })),
        ],
  ),
  /** No error stays hidden, no call unanswered, except those that were left to the host. */
  settle: pure((s, e) => {
    const left = e.type === 'tools.deferred' ? e.ids : [];
    const answers = unanswered(
      s,
      s.openToolUses.filter(({ id }) => !left.includes(id)),
      'The call was interrupted.',
    );
    const flaw = flawOf(s);
    const error: QueryOutput[] =
      flaw === undefined ? [] : [{ type: 'error', flaw, detail: s.withheld?.detail ?? flaw }];
    return [
      { attempt: [...s.attempt, ...answers], openToolUses: [] },
      ...answers.map(show),
      ...error,
    ];
  }),
  finish: pure<{ reason: TerminalReason }>((s, _, { reason }) => {
    const { to, words } = agree(s, s.history, []);
    return [{ ending: reason, history: to, attempt: [] }, ...words];
  }),

  // ── preprocess ──
  applyStage: pure((s, e) => {
    if (e.type !== 'stage.done') return unchanged;
    const { autoCompactTracking: t } = s;
    const tracking =
      e.compaction === 'done'
        ? compacted(s)
        : e.compaction === 'failed'
          ? { ...t, failures: t.failures + 1 }
          : t;
    return [
      {
        history: e.history,
        promptUsd: e.promptUsd ?? s.promptUsd,
        spentUsd: s.spentUsd + e.usd,
        autoCompactTracking: tracking,
      },
    ];
  }),

  // ── sampling ──
  /** A request begins: what the last one left behind is gone. */
  dial: pure(() => [{ withheld: undefined, stopReason: undefined }]),
  tellSampled: pure((s) => [{}, { type: 'sampled', iteration: s.iteration }]),
  hangUp: stopChild<QueryState, QueryEvent, undefined, QueryEvent>('model'),
  record: pure((s, e) => {
    switch (e.type) {
      case 'stream.message':
        return [{ attempt: [...s.attempt, e.message] }, show(e.message)];
      case 'stream.toolUse':
        return [
          {
            attempt: [...s.attempt, e.message],
            openToolUses: [...s.openToolUses, { id: e.id, deadlineMs: e.deadlineMs }],
          },
          show(e.message),
        ];
      case 'tool.result':
        return [
          {
            attempt: [...s.attempt, e.message],
            openToolUses: s.openToolUses.filter((call) => call.id !== e.id),
            round: [...s.round, e.fingerprint],
            schemaTry: e.schemaTry ?? s.schemaTry,
            schemaSatisfied: s.schemaSatisfied || e.schemaTry === 'valid',
          },
          show(e.message),
        ];
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
            overloads: e.failure.class === 'overloaded' ? s.overloads + 1 : 0,
          },
        ]
      : unchanged,
  ),
  withhold: pure<{ class: FailureClass; detail: string }>((_, e, { class: failure, detail }) => [
    {
      withheld: {
        class: failure,
        detail: 'error' in e ? `${detail}: ${String(e.error)}` : `${detail}: no answer in time`,
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
      : [{ maxOutputTokensOverride: s.withheld.fittingTokens }],
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
  feedTools: tell((e) => e as Extract<QueryEvent, { type: 'stream.toolUse' }>),
  drainTools: tell(() => ({ type: 'tools.drain' })),
  discardTools: tell(() => ({ type: 'tools.discard' })),
  noteQuestion: pure((s, e) =>
    e.type === 'person.asked'
      ? [
          { openQuestions: [...s.openQuestions, e.question], questionCount: s.questionCount + 1 },
          { type: 'person', openQuestions: s.openQuestions.length + 1 },
        ]
      : unchanged,
  ),
  noteAnswer: pure((s, e) =>
    e.type === 'person.answered'
      ? [
          { openQuestions: s.openQuestions.filter((q) => q !== e.question) },
          { type: 'person', openQuestions: s.openQuestions.length - 1 },
        ]
      : unchanged,
  ),
  /** A call that nobody has answered in time must not stay open in the history. */
  answerOverdue: pure((s) => {
    const answers = unanswered(s, s.openToolUses, 'No answer in time: the outcome is unknown.');
    return [
      { attempt: [...s.attempt, ...answers], openToolUses: [], openQuestions: [] },
      ...answers.map(show),
    ];
  }),
  attach: pure((s, e) =>
    e.type === 'attachments.ready'
      ? [{ attempt: [...s.attempt, ...e.messages] }, ...e.messages.map(show)]
      : unchanged,
  ),

  // ── recovery, stop hooks ──
  spend: pure<{ rung: Rung }>((_, __, { rung }) => [{ [rung]: true }]),
  noteCompactFailure: pure((s, e) => [
    {
      spentUsd: s.spentUsd + (e.type === 'compact.failed' ? e.usd : 0),
      autoCompactTracking: {
        ...s.autoCompactTracking,
        failures: s.autoCompactTracking.failures + 1,
      },
    },
  ]),
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
