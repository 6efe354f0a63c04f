/**
 * Facts, to be read after "if". None of them looks at more than the state and the event, and none
 * changes anything.
 */
import type { QueryEvent } from './events.ts';
import {
  affordableTokens,
  type Flaw,
  flawOf,
  handedOver,
  isLoop,
  isPassing,
  outputCap,
  type QueryState,
  raisedCap,
  saidSomething,
  tokenBudgetOf,
} from './state.ts';

type Scope = { context: QueryState; event: QueryEvent };
type Fact = (scope: Scope) => boolean;

const facts = {
  /** Our own errands (summaries, hook agents): nothing is condensed for them, nobody objects. */
  isErrand: ({ context: c }) => !isLoop(c),
  // the gate of every iteration
  turnsUsedUp: ({ context: c }) => c.turnCount > c.limits.turnsMax,
  goesInCircles: ({ context: c }) =>
    c.repeats >= c.limits.repeatsMax || c.pauseCount > c.limits.pausesMax,
  budgetSpent: ({ context: c }) => c.spentUsd >= c.limits.usdMax,
  // before a request
  refillsTooFast: ({ context: c }) =>
    c.autoCompactTracking.rapidRefills >= c.limits.rapidRefillsMax,
  overflows: ({ context: c }) => c.history.tokens > c.limits.windowTokens,
  nothingLeftToPay: ({ context: c }) => affordableTokens(c) < c.limits.outputTokensMin,
  // a request
  wasOverBudget: ({ context: c }) => c.withheld?.class === 'over_budget',
  isFull: ({ context: c }) => c.blockCount >= c.limits.blocksMax,
  saidSomething: ({ context: c }) => saidSomething(c),
  mayFallBack: ({ context: c }) =>
    c.overloads >= c.limits.overloadsMax && c.fallbackModel !== undefined,
  fitsWithLowerCap: ({
    context: { withheld: w, maxOutputTokensOverride: cap, hasLoweredCap: lowered, limits: l },
  }) =>
    w?.class === 'output_cap_too_high' &&
    w.fittingTokens !== undefined &&
    !lowered &&
    w.fittingTokens < (cap ?? l.outputTokens),
  mayTryAgain: ({ context: { withheld: w, retryCount: n, limits: l } }) =>
    w !== undefined &&
    isPassing(w) &&
    !w.isFinal &&
    n < l.retriesMax &&
    (w.retryAfterMs ?? 0) <= l.retryAfterMaxMs,
  // an answer that ended
  toolsHandedOver: ({ context: c }) => handedOver(c),
  isFlawed: ({ context: c }) => flawOf(c) !== undefined,
  isPaused: ({ context: c }) => c.stopReason === 'pause_turn',
  // tools
  answersOpenToolUse: ({ context: c, event: e }) =>
    e.type === 'tool.result' && c.openToolUses.some((call) => call.id === e.id),
  mayStopTheClock: ({ context: c, event: e }) =>
    e.type === 'person.asked' &&
    !c.openQuestions.some((open) => open.question === e.question) &&
    c.openToolUses.some((call) => call.id === e.toolUseId) &&
    c.questionCount < c.limits.questionsMax,
  answersQuestion: ({ context: c, event: e }) =>
    e.type === 'person.answered' && c.openQuestions.some((open) => open.question === e.question),
  personIsAsked: ({ context: c }) => c.openQuestions.length > 0,
  triedSchema: ({ context: c }) => c.schemaTry !== undefined,
  // the ladder
  canStripMedia: ({ context: c }) =>
    isOneOf(c, 'request_too_large', 'bad_image') && !c.hasAttemptedMediaStrip,
  canDrain: ({ context: c }) => mustShrink(c) && !c.hasAttemptedCollapseDrain,
  canCompact: ({ context: c }) =>
    mustShrink(c) &&
    !c.hasAttemptedReactiveCompact &&
    c.autoCompactTracking.consecutiveFailures < c.limits.compactFailuresMax,
  canEscalate: ({ context: c }) =>
    isOneOf(c, 'max_output_tokens') &&
    !handedOver(c) &&
    c.maxOutputTokensOverride === undefined &&
    outputCap(c) < Math.min(raisedCap(c), affordableTokens(c)),
  canResumeOutput: ({ context: c }) =>
    isOneOf(c, 'max_output_tokens') && c.maxOutputTokensRecoveryCount < c.limits.outputResumesMax,
  canResumeStream: ({ context: c }) =>
    isOneOf(c, 'stream_broke') && c.streamResumeCount < c.limits.streamResumesMax,
  canAskForToolUse: ({ context: c }) =>
    isOneOf(c, 'malformed_tool_use') && c.malformedCount < c.limits.malformedMax,
  canAskForOutput: ({ context: c }) =>
    isOneOf(c, 'empty_output') && c.emptyCount < c.limits.emptyMax,
  apiAnswered: ({ context: { withheld: w } }) =>
    w !== undefined &&
    ['overloaded', 'rate_limited', 'server', 'auth', 'not_found', 'bad_request'].includes(w.class),
  // the end of an answer
  schemaSatisfied: ({ context: c }) => !c.wantsSchema || c.schemaSatisfied,
  schemaTriesLeft: ({ context: c }) =>
    c.schemaTry === 'invalid'
      ? c.schemaTries + 1 < c.limits.schemaTriesMax
      : c.schemaNudges < c.limits.schemaNudgesMax,
  blocksLeft: ({ context: c }) => c.stopHookBlocks < c.limits.stopHookBlocksMax,
  tokenBudgetHasRoom: ({ context: c }) => tokenBudgetOf(c).action === 'continue',
} satisfies Record<string, Fact>;

export const guards = {
  ...facts,
  /** Media was refused, or is what makes the request too large. */
  mediaIsToBlame: ({ context: c }: Scope) =>
    isOneOf(c, 'bad_image') || (isOneOf(c, 'request_too_large') && c.mediaLeft > 0),
  /** What is wrong with the answer is one of these. */
  flawIs: ({ context }: Scope, { flaws }: { flaws: readonly Flaw[] }) => isOneOf(context, ...flaws),
};

function isOneOf(c: QueryState, ...flaws: readonly Flaw[]) {
  const flaw = flawOf(c);
  return flaw !== undefined && flaws.includes(flaw);
}
/** The prompt must become shorter, and it is a prompt that may. */
function mustShrink(c: QueryState) {
  return isLoop(c) && isOneOf(c, 'prompt_too_long', 'request_too_large', 'blocking_limit');
}
