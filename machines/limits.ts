/**
 * Every bound of the chart, unit last in the name. A cycle spends one of these; nothing refills
 * what it has spent but a turn.
 */
import type { Failure, QueryState } from './state.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/**
 * The longest timer there is. A longer one (`Infinity`) fires at once: setTimeout keeps 31 bits.
 */
export const LONGEST_MS = 2 ** 31 - 1;
/** No bound. Not `Infinity`: JSON would store that as null, and nothing is less than null. */
export const UNBOUNDED = Number.MAX_SAFE_INTEGER;

export const defaultLimits = {
  // Budgets of the host.
  turnsMax: 1_000, //                 above any real task; `UNBOUNDED` only if the host says so
  usdMax: UNBOUNDED,
  durationMs: UNBOUNDED,
  tokenBudget: 0, //                  0: no continuation (also for every subagent)
  // Budgets of the loop. "In a row" means: refilled by a turn that came to its end.
  outputResumesMax: 3, //             in a row (seed: MAX_OUTPUT_TOKENS_RECOVERY_LIMIT)
  streamResumesMax: 3, //             in a row
  pausesMax: 10, //                   in a row
  malformedMax: 2, //                 in a row
  emptyMax: 1, //                     in a row
  stopHookBlocksMax: 8, //            in a row, tool rounds between them do not count
  tokenNudgesMax: 50, //              a query
  schemaNudgesMax: 1, //              a query: prose where a shape was wanted
  schemaTriesMax: 5, //               a query: wrong shape
  // identical rounds (same calls, same results) after which the model is told
  repeatsReminded: 5,
  repeatsMax: 25, //                  … and after which we stop
  compactFailuresMax: 3, //           in a row
  // Summaries in a row that each came after at most `rapidRefillIterations` kept iterations since
  // the one before. One, not more: a small window that has to be summarised after every second
  // round still gets its work done, one that is full again after a single round does not.
  rapidRefillsMax: 3,
  rapidRefillIterations: 1,
  // Budgets of one request.
  retriesMax: 10,
  // blocks of one answer: the state stays small, and the model is told to go on after them
  blocksMax: 400,
  overloadsMax: 3, //                 in a row, then the fallback model
  // questions to a person in one iteration that stop the clock; further ones do not
  questionsMax: 100,
  // What fits. From the model table; the engine fills them in, `model.switched` replaces them.
  windowTokens: 177_000, //           W − R − 3,000 for a window of 200,000
  // the cap that we ask for first, and the one that we raise it to (the host's own word: both)
  outputTokens: 8_000,
  outputTokensEscalated: 64_000,
  outputTokensMax: 64_000, //         the model's own limit
  outputTokensMin: 1_024, //          a call that the budget cannot pay so much for is not made
  outputUsdPerToken: 0, //            0: price unknown, the budget is then checked afterwards only
  // Deadlines. A service has its own, shorter one; these end what a broken service would leave
  // open.
  stageMs: 10 * SECOND,
  // autocompact, reactive compaction: a model call with its own retries
  summaryMs: 180 * SECOND,
  requestMs: 150 * SECOND, //         above the service's 120 s until the first event of the stream
  streamMs: 30 * MINUTE, //           a whole stream: ends an endless drip
  drainMs: 1 * SECOND, //             committing collapses that are already there
  switchMs: 60 * SECOND,
  toolGraceMs: 30 * SECOND, //        above the sum of the open calls' own deadlines
  attachMs: 5 * SECOND,
  hooksMs: 5 * MINUTE, //             all stop hooks; each has 60 s of its own
  retryBaseMs: 500,
  retryCapMs: 8 * SECOND,
  retryAfterMaxMs: 60 * SECOND, //    a longer `retry-after` ends the turn and says when
};
/** Bounds of one query. Plain data: stored with the state, so that a replay has the same bounds. */
export type QueryLimits = typeof defaultLimits;
/**
 * The defaults, then what the host says. What is no number, or negative, is no bound that could
 * ever be reached: the default counts. Unlimited turns need another end: money or time.
 */
export const limitsOf = (given: Partial<QueryLimits> = {}): QueryLimits => {
  const said = Object.entries(given).filter(([, value]) => value >= 0);
  const limits: QueryLimits = {
    ...defaultLimits,
    ...Object.fromEntries(said.map(([name, value]) => [name, Math.min(value, UNBOUNDED)])),
  };
  const endless =
    limits.turnsMax >= UNBOUNDED && limits.usdMax >= UNBOUNDED && limits.durationMs >= UNBOUNDED;
  return endless ? { ...limits, turnsMax: defaultLimits.turnsMax } : limits;
};

type Scope = { context: QueryState };
const wait =
  (ms: (state: QueryState) => number) =>
  ({ context }: Scope) =>
    Math.min(ms(context), LONGEST_MS);
/** What is left of the host's time, when the clock is started. */
export const timeLeftMs = wait(({ limits, clock }) =>
  Math.max(limits.durationMs - clock.usedMs, 0),
);
/** Waits by name. Each is computed from the state when the waiting begins. */
export const delays = {
  stageMs: wait(({ limits }) => limits.stageMs),
  drainMs: wait(({ limits }) => limits.drainMs),
  summaryMs: wait(({ limits }) => limits.summaryMs),
  requestMs: wait(({ limits }) => limits.requestMs),
  streamMs: wait(({ limits }) => limits.streamMs),
  switchMs: wait(({ limits }) => limits.switchMs),
  attachMs: wait(({ limits }) => limits.attachMs),
  hooksMs: wait(({ limits }) => limits.hooksMs),
  /** The open calls may have to run one after the other. Begins anew with each result. */
  toolsMs: wait(({ limits, openToolUses }) =>
    openToolUses.reduce((sum, call) => sum + call.deadlineMs, limits.toolGraceMs),
  ),
  backoffMs: wait((state) => backoffMs(state.limits, state.withheld, state.retryCount)),
};

/**
 * Wait before the n-th try again (from 1): 0.5 s × 2ⁿ⁻¹ up to 8 s, ± the jitter that the event
 * brought; `retry-after` counts when it is longer.
 */
export const backoffMs = (
  limits: QueryLimits,
  failure: Failure | undefined,
  attempt: number,
): number =>
  Math.max(
    // the exponent is bounded: a base of 0 times Infinity would be no wait at all
    Math.min(limits.retryBaseMs * 2 ** Math.min(attempt - 1, 30), limits.retryCapMs) *
      (1 + (failure?.jitter ?? 0)),
    failure?.retryAfterMs ?? 0,
  );
