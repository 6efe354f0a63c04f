import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type BudgetTracker,
  checkTokenBudget,
  type TokenBudgetDecision,
} from '../../machines/token-budget.ts';

const fresh: BudgetTracker = { continuationCount: 0, lastDeltaTokens: 0, lastGlobalTurnTokens: 0 };
/** Checks after each answer of so many tokens, until it says stop. */
const run = (budget: number, answers: readonly number[]) => {
  let tracker = fresh;
  let tokens = 0;
  const decisions: TokenBudgetDecision[] = [];
  for (const answer of answers) {
    tokens += answer;
    const decision = checkTokenBudget(tracker, undefined, budget, tokens);
    decisions.push(decision);
    if (decision.action === 'stop') break;
    tracker = decision.tracker;
  }
  return decisions;
};

describe('checkTokenBudget', () => {
  it('goes on below 90 %', () => {
    expect(run(2_000, [700, 700, 700]).map(({ action }) => action)).toEqual([
      ...['continue', 'continue', 'stop'],
    ]);
    expect(run(1_000, [899])[0]?.action).toBe('continue');
    expect(run(1_000, [900])[0]?.action).toBe('stop');
  });
  it('names what is used, to the model and to the host', () => {
    const [first, last] = run(1_000, [420, 600]);
    expect(first).toMatchObject({
      percentage: 42,
      nudgeMessage: expect.stringMatching(/^42 %.*420 of 1000/),
    });
    expect(last).toEqual({
      action: 'stop',
      completionEvent: {
        continuationCount: 1,
        percentage: 102,
        turnTokens: 1_020,
        budgetTokens: 1_000,
        diminishingReturns: false,
      },
    });
  });
  it('stops when the model has nothing more to say: 3 continuations, the last two small', () => {
    const decisions = run(100_000, [100, 100, 100, 100]);
    expect(decisions.length).toBe(4);
    expect(decisions.at(-1)).toMatchObject({ completionEvent: { diminishingReturns: true } });
    // one large answer among the last two is not diminishing
    expect(run(100_000, [100, 100, 600, 100, 100]).length).toBe(5);
    expect(run(100_000, [100, 100, 600, 100, 100]).at(-1)?.action).toBe('stop');
  });
  it('has nothing to say without a budget, or for a subagent', () => {
    const nothing = { action: 'stop', completionEvent: null };
    expect(checkTokenBudget(fresh, undefined, null, 10)).toEqual(nothing);
    expect(checkTokenBudget(fresh, undefined, 0, 10)).toEqual(nothing);
    expect(checkTokenBudget(fresh, 'agent', 1_000, 10)).toEqual(nothing);
  });
  it('nudges at most 50 times, whatever the budget and the answers are', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000_000 }),
        fc.array(fc.integer({ min: 500, max: 900 }), { minLength: 60, maxLength: 60 }),
        (budget, answers) => {
          const decisions = run(budget, answers);
          expect(decisions.length).toBeLessThanOrEqual(51);
          expect(decisions.at(-1)?.action).toBe('stop');
        },
      ),
    );
    expect(run(1e9, Array(60).fill(700)).length).toBe(51);
  });
});
