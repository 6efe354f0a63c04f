/**
 * `state = next`: one pure reducer for each continue reason. `satisfies` rejects a missing or a
 * stray one.
 *
 * Why it ends: a reason either spends a turn, which nothing refills, or a counter that only a spent
 * turn refills.
 */
import type { QueryEvent } from './events.ts';
import type { ContinueReason } from './reasons.ts';
import {
  type AutoCompactTracking,
  freshCounters,
  type MessageRef,
  type QueryState,
  raisedCap,
  tokenBudgetOf,
} from './state.ts';

/** A note of ours to the model. Its id follows from where it stands: a replay makes the same. */
export const note = (s: QueryState, name: string, text: string): MessageRef => ({
  uuid: `${s.queryId}:${s.iteration}:${name}`,
  role: 'user',
  kind: 'note',
  text,
});

/**
 * What an edge changes, and what we say to the model after what stands of the attempt. The attempt
 * itself needs no word here: what is left of it (see `retract`) always becomes history.
 */
export type Advance = Partial<QueryState> & { readonly notes?: readonly MessageRef[] };

const OUTPUT_LIMIT =
  'You reached the output limit. Go on in the middle of the sentence where you stopped: no ' +
  'apology, no recap. If much is left, do it in smaller pieces.';
const STREAM_DIED =
  'Your answer broke off. What you see of it was kept: go on right after it, without repeating ' +
  'anything.';

const CIRCLING = 'These calls keep giving the same results. Try something else.';
const SHAPE_WANTED = 'Give the answer by calling the StructuredOutput tool.';

/** The answer stands and a new one begins. */
const turn = (s: QueryState, ...notes: readonly MessageRef[]) => ({
  notes,
  turnCount: s.turnCount + 1,
  ...freshCounters,
});

/** How often in a row a round had the same calls with the same results. */
const repeat = ({ round, lastRound, repeats }: QueryState) => ({
  lastRound: round,
  repeats: round !== '' && round === lastRound ? repeats + 1 : 1,
});
/**
 * A summary that follows the one before at once is a sign that the window refills faster than it
 * can be emptied.
 */
export const compacted = (s: QueryState): AutoCompactTracking => {
  const { compacted: before, turnCounter, rapidRefills } = s.autoCompactTracking;
  const rapid = before && turnCounter <= s.limits.rapidRefillIterations;
  return {
    compacted: true,
    turnCounter: 0,
    consecutiveFailures: 0,
    rapidRefills: rapid ? rapidRefills + 1 : 0,
  };
};

export const reducers = {
  next_turn: (s) => {
    const progress = repeat(s);
    const circling = progress.repeats === s.limits.repeatsReminded;
    return {
      ...turn(s, ...(circling ? [note(s, 'circling', CIRCLING)] : [])),
      ...progress,
      pendingToolUseSummary: s.emitToolUseSummaries ? 'describer' : undefined,
    };
  },
  stop_hook_blocking: (s, e) => ({
    ...turn(s, ...(e.type === 'hooks.blocked' ? e.errors : [])),
    stopHookActive: true,
    stopHookBlocks: s.stopHookBlocks + 1,
  }),
  token_budget_continuation: (s) => {
    const budget = tokenBudgetOf(s);
    if (budget.action === 'stop') return turn(s); // the guard of the edge is the same function
    return {
      ...turn(s, note(s, 'budget', budget.nudgeMessage)),
      stopHookBlocks: 0,
      budgetTracker: budget.tracker,
    };
  },
  structured_output_retry: (s) =>
    s.schemaTry === 'invalid'
      ? { ...turn(s), schemaTries: s.schemaTries + 1 } // the tool result says already what is wrong
      : {
          ...turn(s, note(s, 'schema', SHAPE_WANTED)),
          schemaNudges: s.schemaNudges + 1,
        },

  max_output_tokens_escalate: (s) => ({ maxOutputTokensOverride: raisedCap(s) }),
  max_output_tokens_recovery: (s) => ({
    notes: [note(s, 'resume', OUTPUT_LIMIT)],
    maxOutputTokensRecoveryCount: s.maxOutputTokensRecoveryCount + 1,
  }),
  stream_resume: (s) => ({
    notes: [note(s, 'resume', STREAM_DIED)],
    streamResumeCount: s.streamResumeCount + 1,
  }),
  // the API wants its own message back and no word of ours
  pause_turn_continuation: (s) => ({ pauseCount: s.pauseCount + 1 }),
  malformed_tool_use_retry: (s) => ({ malformedCount: s.malformedCount + 1 }),
  empty_output_retry: (s) => ({ emptyCount: s.emptyCount + 1 }),

  collapse_drain_retry: (_, e) => (e.type === 'collapse.drained' ? { history: e.history } : {}),
  media_strip_retry: (_, e) =>
    e.type === 'media.stripped' ? { history: e.history, mediaLeft: e.left } : {},
  reactive_compact_retry: (s, e) =>
    e.type === 'compact.done'
      ? { history: e.history, spentUsd: s.spentUsd + e.usd, autoCompactTracking: compacted(s) }
      : {},
} satisfies Record<ContinueReason, (state: QueryState, event: QueryEvent) => Advance>;
