/**
 * It always ends: whatever the counters and the bounds are, each continue edge of the real chart
 * strictly lowers what is left. Every state of the query is made up here; the step is the chart's.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnyEventObject } from 'xstate';
import type { QueryEvent } from '../../machines/events.ts';
import { limitsOf, type QueryLimits } from '../../machines/limits.ts';
import { queryMachine } from '../../machines/query.machine.ts';
import type { ContinueReason } from '../../machines/reasons.ts';
import { begin, type Failure, type QueryState } from '../../machines/state.ts';
import { edgeById, type Snapshot, startWith, stepFrom } from './chart.ts';
import { isLower, rankOf, refilled, spendsTurn } from './rank.ts';

const history = { head: '0/u', count: 1, tokens: 10 };
const said = { attempt: [{ uuid: 'a', role: 'assistant', kind: 'text' }] } as const;
const withheld = (name: Failure['class']) => ({ withheld: { class: name, detail: name } });
const answer = (id: string, output: QueryEvent): AnyEventObject => ({
  type: `xstate.done.actor.${id}`,
  output,
});
/** Nobody minds this one: it only makes the chart look at its facts. */
const nothing: AnyEventObject = { type: 'round.described', text: '', toolUseIds: [], usd: 0 };

interface Way {
  /** Where the query is made to be. */
  readonly at: Readonly<Record<string, string>>;
  readonly facts: Partial<QueryState>;
  /** What is heard there, up to the edge. */
  readonly heard: readonly AnyEventObject[];
}
const ladder = { recovery: 'ladder' };
const ways: Record<ContinueReason, Way> = {
  next_turn: {
    at: { toolRun: 'answered' },
    facts: { callCount: 1, stopReason: 'tool_use' },
    heard: [nothing],
  },
  stop_hook_blocking: {
    at: { stopHooks: 'evaluating' },
    facts: { ...said, stopReason: 'end_turn' },
    heard: [answer('stopHooks', { type: 'hooks.blocked', errors: [] })],
  },
  token_budget_continuation: {
    at: { stopHooks: 'evaluating' },
    facts: { ...said, stopReason: 'end_turn' },
    heard: [answer('stopHooks', { type: 'hooks.passed' })],
  },
  structured_output_retry: {
    at: { stopHooks: 'structuredOutput' },
    facts: { ...said, stopReason: 'end_turn', wantsSchema: true },
    heard: [nothing],
  },
  max_output_tokens_escalate: { at: ladder, facts: { stopReason: 'max_tokens' }, heard: [nothing] },
  max_output_tokens_recovery: {
    at: ladder,
    facts: { callCount: 1, stopReason: 'max_tokens' },
    heard: [nothing],
  },
  collapse_drain_retry: {
    at: ladder,
    facts: withheld('prompt_too_long'),
    heard: [nothing, answer('drainCollapses', { type: 'collapse.drained', history })],
  },
  media_strip_retry: {
    at: ladder,
    facts: withheld('bad_image'),
    heard: [nothing, answer('stripMedia', { type: 'media.stripped', history, left: 0 })],
  },
  reactive_compact_retry: {
    at: ladder,
    facts: { ...withheld('prompt_too_long'), hasAttemptedCollapseDrain: true },
    heard: [nothing, answer('reactiveCompact', { type: 'compact.done', history, usd: 0 })],
  },
  stream_resume: {
    at: ladder,
    facts: { ...said, ...withheld('connection') },
    heard: [nothing],
  },
  pause_turn_continuation: {
    at: { sampling: 'ended' },
    facts: { ...said, stopReason: 'pause_turn' },
    heard: [nothing],
  },
  malformed_tool_use_retry: { at: ladder, facts: { stopReason: 'tool_use' }, heard: [nothing] },
  empty_output_retry: { at: ladder, facts: { stopReason: 'end_turn' }, heard: [nothing] },
};

const bound = fc.integer({ min: 0, max: 12 });
const limits: fc.Arbitrary<Partial<QueryLimits>> = fc.record({
  turnsMax: fc.integer({ min: 1, max: 1_000 }),
  outputResumesMax: bound,
  streamResumesMax: bound,
  pausesMax: bound,
  malformedMax: bound,
  emptyMax: bound,
  stopHookBlocksMax: bound,
  tokenNudgesMax: bound,
  schemaNudgesMax: bound,
  schemaTriesMax: bound,
  tokenBudget: fc.constantFrom(1_000, 1_000_000),
});
/** Used: any part of a bound. */
const part = fc.double({ min: 0, max: 1, noNaN: true });
const parts = fc.array(part, { minLength: 10, maxLength: 10 });
const flags = fc.array(fc.boolean(), { minLength: 5, maxLength: 5 });

/** Any state in which a query could be, as far as its budgets go. */
const state = fc.tuple(limits, parts, flags).map(([given, used, flag]) => {
  const l = limitsOf(given);
  const of = (i: number, max: number) => Math.floor((used[i] ?? 0) * (max + 0.999));
  return {
    ...begin({ queryId: 'q', history, model: 'm', limits: given }),
    turnCount: 1 + of(0, l.turnsMax - 1),
    maxOutputTokensRecoveryCount: of(1, l.outputResumesMax),
    streamResumeCount: of(2, l.streamResumesMax),
    pauseCount: of(3, l.pausesMax),
    malformedCount: of(4, l.malformedMax),
    emptyCount: of(5, l.emptyMax),
    stopHookBlocks: of(6, l.stopHookBlocksMax),
    schemaNudges: of(7, l.schemaNudgesMax),
    schemaTries: of(8, l.schemaTriesMax),
    budgetTracker: {
      continuationCount: of(9, l.tokenNudgesMax),
      lastDeltaTokens: 1_000,
      lastGlobalTurnTokens: 0,
    },
    hasAttemptedCollapseDrain: flag[0] ?? false,
    hasAttemptedMediaStrip: flag[1] ?? false,
    hasAttemptedReactiveCompact: flag[2] ?? false,
    maxOutputTokensOverride: flag[3] ? 64_000 : undefined,
    schemaTry: flag[4] ? ('invalid' as const) : undefined,
  } satisfies QueryState;
});

const running = startWith({ queryId: 'q', history, model: 'm' }).after.children;

describe.each(Object.entries(ways))('%s', (reason, { at, facts, heard }) => {
  it('lowers what is left, and refills only if it spends a turn', () => {
    let taken = 0;
    fc.assert(
      fc.property(state, (made) => {
        const context: QueryState = { ...made, ...facts };
        let snapshot = queryMachine.resolveState({ value: at, context } as never) as Snapshot;
        Object.assign(snapshot.children, running); // the tools and the describer
        const ids: string[] = [];
        for (const event of heard) {
          const step = stepFrom(snapshot, event);
          snapshot = step.after;
          ids.push(...step.edges);
        }
        if (!ids.some((id) => edgeById.get(id)?.reason === reason)) return; // a guard said no
        taken += 1;
        const [before, after] = [rankOf(context), rankOf(snapshot.context)];
        expect(isLower(after, before)).toBe(true);
        const spends = spendsTurn.includes(reason as ContinueReason);
        expect(after.turns).toBe(before.turns - (spends ? 1 : 0));
        if (!spends) expect(refilled(before, after)).toEqual([]);
        // a bound that is used up is never overdrawn
        const overdrawn = Object.values(after.counters).filter((left) => left < 0);
        expect(overdrawn).toEqual([]);
      }),
      { numRuns: 100, seed: 4 },
    );
    expect(taken).toBeGreaterThan(10); // else nothing was shown
  });
});
