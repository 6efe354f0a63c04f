/**
 * Why a query ends: what it has left. Each continue edge makes this smaller, and only one that
 * spends a turn may fill up what comes after the turns.
 */
import type { ContinueReason } from '../../machines/reasons.ts';
import type { QueryState } from '../../machines/state.ts';

export interface Rank {
  readonly turns: number;
  /** Each of them is refilled by a turn, or by nothing. */
  readonly counters: Readonly<Record<string, number>>;
}
const once = (spent: boolean) => (spent ? 0 : 1);

export const rankOf = (s: QueryState): Rank => ({
  turns: s.limits.turnsMax + 1 - s.turnCount, // the gate stops the one that would be too many
  counters: {
    outputResumes: s.limits.outputResumesMax - s.maxOutputTokensRecoveryCount,
    streamResumes: s.limits.streamResumesMax - s.streamResumeCount,
    pauses: s.limits.pausesMax + 1 - s.pauseCount, // and here, too
    malformed: s.limits.malformedMax - s.malformedCount,
    empty: s.limits.emptyMax - s.emptyCount,
    drain: once(s.hasAttemptedCollapseDrain),
    strip: once(s.hasAttemptedMediaStrip),
    compact: once(s.hasAttemptedReactiveCompact),
    escalate: once(s.maxOutputTokensOverride !== undefined),
    // these have a bound of their own beside the turns
    stopHookBlocks: s.limits.stopHookBlocksMax - s.stopHookBlocks,
    schemaNudges: s.limits.schemaNudgesMax - s.schemaNudges,
    schemaTries: s.limits.schemaTriesMax - s.schemaTries,
    nudges: s.limits.tokenNudgesMax - s.budgetTracker.continuationCount,
  },
});

/** Names of the counters that are fuller than before. */
export const refilled = (before: Rank, after: Rank) =>
  Object.keys(before.counters).filter(
    (name) => (after.counters[name] ?? 0) > (before.counters[name] ?? 0),
  );
/** Lexicographic: fewer turns; or as many, nothing refilled, and less of something. */
export const isLower = (after: Rank, before: Rank) => {
  if (after.turns !== before.turns) return after.turns < before.turns;
  return (
    refilled(before, after).length === 0 &&
    Object.keys(before.counters).some(
      (name) => (after.counters[name] ?? 0) < (before.counters[name] ?? 0),
    )
  );
};

export const spendsTurn: readonly ContinueReason[] = [
  'next_turn',
  'stop_hook_blocking',
  'token_budget_continuation',
  'structured_output_retry',
];
