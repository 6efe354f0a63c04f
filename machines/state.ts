/**
 * What a query knows. A plain value: no functions, promises or class instances, so that it can be
 * stored, shown and replayed.
 */
import { TOKEN_BUDGET } from './features.ts';
import { limitsOf, type QueryLimits } from './limits.ts';
import type { ContinueReason, TerminalReason } from './reasons.ts';
import { type BudgetTracker, checkTokenBudget, type TokenBudgetDecision } from './token-budget.ts';

/**
 * One finished block of the model, one tool result, one note of ours: what the chart needs to know
 * of it. What it says lies in the message log of the services, under its uuid.
 */
export interface MessageRef {
  readonly uuid: string;
  readonly role: 'user' | 'assistant';
  readonly kind: 'text' | 'thinking' | 'tool_use' | 'tool_result' | 'note' | 'other';
  /** The call that is made (tool_use) or answered (tool_result). */
  readonly toolUseId?: string;
  /** Only of what the chart says itself: the log takes it from here. */
  readonly text?: string;
}
/**
 * A place in the message log, which is append-only: what lies before a head never changes, so that
 * this small value stands for the whole history. `head` is `<chain>/<uuid of the last message>`; a
 * service that rewrites history (a compaction) begins a new chain.
 */
export interface Cursor {
  readonly head: string;
  readonly count: number;
  /** Size of the prompt, as the last service that looked at it says. */
  readonly tokens: number;
}
/** The head after one more message: the log and the chart agree on it without asking each other. */
export const headAfter = (head: string, uuid: string) =>
  `${head.slice(0, head.indexOf('/') + 1)}${uuid}`;

/**
 * What went wrong with a request, as the model service's classifier says, or as the chart itself
 * knows (last line).
 */
export type FailureClass =
  | 'stalled'
  | 'truncated'
  | 'timeout'
  | 'connection'
  | 'protocol' //                              no answer, or half of one
  | 'overloaded'
  | 'rate_limited'
  | 'server'
  | 'auth'
  | 'not_found'
  | 'bad_request' //              the API's answer
  | 'prompt_too_long'
  | 'request_too_large'
  | 'bad_image'
  | 'output_cap_too_high' //                … which a change of the request may cure
  | 'over_budget' //              never sent: what is left of the host's budget does not pay for it
  | 'blocking_limit'
  | 'bug';
export interface Failure {
  readonly class: FailureClass;
  readonly detail: string;
  readonly retryAfterMs?: number;
  /** In [-0.25, 0.25]. Comes with the event, since the chart has no dice. */
  readonly jitter?: number;
  /** The output cap that would fit; with `output_cap_too_high`. */
  readonly fittingTokens?: number;
  /** HTTP status, when there was an answer. */
  readonly status?: number;
  /** The server said `x-should-retry: false`, or it cannot get better (a bad certificate). */
  readonly isFinal?: boolean;
}
const passing: readonly FailureClass[] = [
  'stalled',
  'truncated',
  'timeout',
  'connection',
  'protocol',
  'overloaded',
  'rate_limited',
  'server',
];
/** Worth another try as it is: nobody has said no. */
export const isPassing = (failure: Failure) => passing.includes(failure.class);
/** What a request is for. Only `main` and `subagent` compact, ask stop hooks, have a budget. */
export type QuerySource =
  | 'main'
  | 'subagent'
  | 'compact'
  | 'collapse'
  | 'tool_summary'
  | 'hook_agent';
export interface ToolUse {
  readonly id: string;
  readonly deadlineMs: number;
}
export type StopReason =
  | 'end_turn'
  | 'stop_sequence'
  | 'tool_use'
  | 'max_tokens'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded';
/** A question to a person, and the call that waits for its answer. */
export interface OpenQuestion {
  readonly question: string;
  readonly toolUseId: string;
}
/** How often the window had to be summarised, for the two breakers. */
export interface AutoCompactTracking {
  readonly compacted: boolean;
  /** Iterations that were kept since the last summary. */
  readonly turnCounter: number;
  readonly consecutiveFailures: number;
  /** Summaries in a row that each came right after the one before. */
  readonly rapidRefills: number;
}
/** Why there was another iteration, and for how many of them in a row it was this reason. */
export interface Transition {
  readonly reason: ContinueReason;
  readonly attempt: number;
}
/** The host's time. It stands still while a person is asked; times come in with events. */
export interface Clock {
  readonly stands: boolean;
  /** Used up before it was started the last time. */
  readonly usedMs: number;
  /** When that was. Unknown: it cannot be stopped, and is plain time on the wall. */
  readonly startedAtMs: number | undefined;
}

export interface QueryState {
  /** Names this query in the ids of what the chart says itself. */
  readonly queryId: string;
  readonly limits: QueryLimits;
  readonly model: string;
  readonly fallbackModel: string | undefined;
  readonly wantsSchema: boolean;
  /** Somebody describes each round in a line. */
  readonly emitToolUseSummaries: boolean;
  /** Agreed history. Grows at the end, and is replaced by a compaction; no edge looks into it. */
  readonly history: Cursor;
  readonly querySource: QuerySource;
  /** Set for a subagent: it has no token budget of its own. */
  readonly agentId: string | undefined;
  /** What sending the prompt once more will probably cost, cache reads counted as such. */
  readonly promptUsd: number;
  readonly spentUsd: number;
  /** Output of this query, for the token budget. */
  readonly outputTokens: number;
  /** Model calls of the loop that were answered, also those that were taken back. */
  readonly answerCount: number;

  // ── this iteration: emptied by every continue reason ──
  /**
   * What the host has seen and history has not agreed to: a `retry` takes it back. Empty from the
   * first call on that is handed to the executor, for from there on all that is said stands.
   */
  readonly attempt: readonly MessageRef[];
  /** Blocks of the answer so far. */
  readonly blockCount: number;
  /** Calls that were handed to the executor. */
  readonly callCount: number;
  readonly openToolUses: readonly ToolUse[];
  readonly openQuestions: readonly OpenQuestion[];
  readonly questionCount: number;
  /** What the calls of this round were and gave, as one short word (`roundWith`). */
  readonly round: string;
  readonly schemaTry: 'valid' | 'invalid' | undefined;
  readonly stopReason: StopReason | undefined;
  /** An error that the host must not see yet: a rung may cure it. */
  readonly withheld: Failure | undefined;
  readonly retryCount: number;
  /** `max_tokens` was lowered to what the API says would fit: once, then the prompt is too long. */
  readonly hasLoweredCap: boolean;

  // ── in a row: refilled by a turn that came to its end ──
  readonly maxOutputTokensRecoveryCount: number;
  readonly streamResumeCount: number;
  readonly pauseCount: number;
  readonly malformedCount: number;
  readonly emptyCount: number;
  readonly hasAttemptedCollapseDrain: boolean;
  readonly hasAttemptedMediaStrip: boolean;
  readonly hasAttemptedReactiveCompact: boolean;
  /** The API itself has said that the prompt is too long: this request was sent, and is stuck. */
  readonly wasRefusedAsTooLong: boolean;
  /** Images and documents that the last strip had to leave in. */
  readonly mediaLeft: number;

  // ── the whole query ──
  readonly turnCount: number;
  readonly iteration: number;
  /** The head that the last request was made from: what came after it is the answer. */
  readonly promptHead: string;
  readonly overloads: number;
  readonly maxOutputTokensOverride: number | undefined;
  readonly stopHookActive: boolean;
  readonly stopHookBlocks: number;
  readonly schemaNudges: number;
  readonly schemaTries: number;
  readonly schemaSatisfied: boolean;
  readonly stopHookOverridden: boolean;
  /** Id of the child that describes the last tool round, if one is at work. */
  readonly pendingToolUseSummary: string | undefined;
  readonly budgetTracker: BudgetTracker;
  readonly autoCompactTracking: AutoCompactTracking;
  readonly lastRound: string;
  readonly repeats: number;
  /** Why there was another iteration; the host is told when it begins. */
  readonly transition: Transition | undefined;
  readonly clock: Clock;
  readonly ending: TerminalReason | undefined;
}

/** The rungs that are tried once for each stuck request. */
export type Rung =
  | 'hasAttemptedCollapseDrain'
  | 'hasAttemptedMediaStrip'
  | 'hasAttemptedReactiveCompact';

/** What an iteration starts with. */
export const freshIteration = {
  attempt: [],
  blockCount: 0,
  callCount: 0,
  openToolUses: [],
  openQuestions: [],
  questionCount: 0,
  round: '',
  schemaTry: undefined,
  stopReason: undefined,
  withheld: undefined,
  retryCount: 0,
  hasLoweredCap: false,
} satisfies Partial<QueryState>;
/** What a finished turn refills. */
export const freshCounters = {
  maxOutputTokensRecoveryCount: 0,
  streamResumeCount: 0,
  pauseCount: 0,
  malformedCount: 0,
  emptyCount: 0,
  hasAttemptedCollapseDrain: false,
  hasAttemptedMediaStrip: false,
  hasAttemptedReactiveCompact: false,
  wasRefusedAsTooLong: false,
  mediaLeft: 0,
} satisfies Partial<QueryState>;

export type QueryInput = Pick<QueryState, 'queryId' | 'history' | 'model'> & {
  limits?: Partial<QueryLimits>;
  /** When the query begins, so that its time can stand still while a person is asked. */
  startedAtMs?: number;
} & Partial<Omit<QueryState, 'limits'>>;
/**
 * The first state. `input` may carry a whole stored state: a query is resumed by beginning it at
 * `preprocess` again.
 */
export const begin = ({ startedAtMs, ...input }: QueryInput): QueryState => ({
  fallbackModel: undefined,
  wantsSchema: false,
  emitToolUseSummaries: false,
  querySource: 'main',
  agentId: undefined,
  promptUsd: 0,
  spentUsd: 0,
  outputTokens: 0,
  answerCount: 0,
  ...freshCounters,
  turnCount: 1,
  iteration: 1,
  promptHead: input.history.head,
  overloads: 0,
  maxOutputTokensOverride: undefined,
  stopHookActive: false,
  stopHookBlocks: 0,
  schemaNudges: 0,
  schemaTries: 0,
  schemaSatisfied: false,
  stopHookOverridden: false,
  pendingToolUseSummary: undefined,
  budgetTracker: { continuationCount: 0, lastDeltaTokens: 0, lastGlobalTurnTokens: 0 },
  autoCompactTracking: {
    compacted: false,
    turnCounter: 0,
    consecutiveFailures: 0,
    rapidRefills: 0,
  },
  lastRound: '',
  repeats: 0,
  transition: undefined,
  ...input,
  ...freshIteration,
  clock: { stands: false, usedMs: input.clock?.usedMs ?? 0, startedAtMs },
  ending: undefined,
  limits: limitsOf(input.limits),
});

/** Output tokens that the rest of the host's budget can pay for, the prompt paid first. */
export const affordableTokens = (s: QueryState) =>
  s.limits.outputUsdPerToken > 0
    ? Math.floor((s.limits.usdMax - s.spentUsd - s.promptUsd) / s.limits.outputUsdPerToken)
    : Number.MAX_SAFE_INTEGER;
/** `max_tokens` of the next request. */
export const outputCap = (s: QueryState) =>
  Math.min(
    s.maxOutputTokensOverride ?? s.limits.outputTokens,
    s.limits.outputTokensMax, // of this model: the cap may have been raised for another one
    affordableTokens(s),
  );

/** What `max_output_tokens_escalate` raises the cap to. */
export const raisedCap = ({ limits }: QueryState) =>
  Math.min(limits.outputTokensEscalated, limits.outputTokensMax);
const noTokenBudget: TokenBudgetDecision = { action: 'stop', completionEvent: null };
/** A subagent has no token budget of its own, whatever its limits say. */
export const tokenBudgetOf = (s: QueryState): TokenBudgetDecision =>
  TOKEN_BUDGET
    ? checkTokenBudget(
        s.budgetTracker,
        s.querySource === 'main' ? s.agentId : s.querySource,
        s.limits.tokenBudget,
        s.outputTokens,
        s.limits.tokenNudgesMax,
      )
    : noTokenBudget;

/** What is left of a query. */
export interface QueryResult {
  readonly reason: TerminalReason;
  readonly flaw: Flaw | undefined;
  readonly failure: Failure | undefined;
  readonly history: Cursor;
  readonly turnCount: number;
  readonly answerCount: number;
  readonly spentUsd: number;
  readonly stopReason: StopReason | undefined;
  readonly stopHookOverridden: boolean;
  /** For the next query of the session. */
  readonly autoCompactTracking: AutoCompactTracking;
}
export const resultOf = (s: QueryState): QueryResult => ({
  reason: s.ending ?? 'model_error',
  flaw: flawOf(s),
  failure: s.withheld,
  history: s.history,
  turnCount: s.turnCount,
  answerCount: s.answerCount,
  spentUsd: s.spentUsd,
  stopReason: s.stopReason,
  stopHookOverridden: s.stopHookOverridden,
  // a breaker that stayed open would end every further query of the session at once
  autoCompactTracking: { ...s.autoCompactTracking, rapidRefills: 0 },
});

/** History, then what is added to it. */
export const carry = (history: Cursor, more: readonly MessageRef[]): Cursor => ({
  ...history,
  head: more.reduce((head, { uuid }) => headAfter(head, uuid), history.head),
  count: history.count + more.length,
});
/**
 * A call of this iteration is with the executor, or was. From here on nothing may be taken back.
 */
export const handedOver = (s: QueryState) => s.callCount > 0;
/** Something that the user would miss: text or a call. Thinking alone is not worth keeping. */
export const saidSomething = (s: QueryState) =>
  handedOver(s) || s.attempt.some(({ kind }) => kind === 'text');
/** Subagents' and the user's queries. Only these compact, run stop hooks or go on for a budget. */
export const isLoop = (s: QueryState) => s.querySource === 'main' || s.querySource === 'subagent';

/** What is wrong with this iteration's answer, so that it cannot simply stand. */
export type Flaw =
  | 'blocking_limit'
  | 'prompt_too_long'
  | 'request_too_large'
  | 'bad_image'
  | 'stream_broke'
  | 'api'
  | 'transport'
  | 'max_output_tokens'
  | 'malformed_tool_use'
  | 'empty_output'
  | 'refusal'
  | 'bug';
const flawOfFailure: Record<FailureClass, Flaw | undefined> = {
  stalled: 'transport',
  truncated: 'transport',
  timeout: 'transport',
  connection: 'transport',
  protocol: 'transport',
  overloaded: 'api',
  rate_limited: 'api',
  server: 'api',
  auth: 'api',
  not_found: 'api',
  bad_request: 'api',
  prompt_too_long: 'prompt_too_long',
  output_cap_too_high: 'prompt_too_long', // not even a lower cap fits beside this prompt
  request_too_large: 'request_too_large',
  bad_image: 'bad_image',
  over_budget: undefined, // nobody was asked: there is no answer that could be wrong
  blocking_limit: 'blocking_limit',
  bug: 'bug',
};
/**
 * Derived from the facts each time, never stored: a stored verdict could disagree with them. A
 * call before it changes nothing; the flaw is looked at when the calls have been answered.
 */
export const flawOf = (s: QueryState): Flaw | undefined => {
  if (s.withheld) {
    const flaw = flawOfFailure[s.withheld.class];
    if (flaw === 'api' || flaw === 'transport') return saidSomething(s) ? 'stream_broke' : flaw;
    // sent once and refused, then made shorter and still above our own limit
    return flaw === 'blocking_limit' && s.wasRefusedAsTooLong ? 'prompt_too_long' : flaw;
  }
  switch (s.stopReason) {
    case undefined:
    case 'pause_turn':
      return undefined;
    case 'refusal':
      return 'refusal';
    case 'max_tokens':
      return 'max_output_tokens';
    case 'model_context_window_exceeded':
      return 'prompt_too_long';
    case 'tool_use':
      return handedOver(s) ? undefined : 'malformed_tool_use';
    case 'end_turn':
    case 'stop_sequence':
      return saidSomething(s) ? undefined : 'empty_output';
  }
};
