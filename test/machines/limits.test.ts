import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  backoffMs,
  defaultLimits,
  delays,
  limitsOf,
  timeLeftMs,
  UNBOUNDED,
} from '../../machines/limits.ts';
import { affordableTokens, begin, outputCap } from '../../machines/state.ts';

const query = (limits: Partial<typeof defaultLimits> = {}, more: object = {}) =>
  begin({
    queryId: 'q',
    model: 'm',
    history: { head: '0/', count: 0, tokens: 0 },
    limits,
    ...more,
  });

describe('limitsOf', () => {
  it('survives JSON: Infinity is a number that does', () => {
    const limits = limitsOf({ usdMax: Infinity, durationMs: Infinity });
    expect(limits.usdMax).toBe(UNBOUNDED);
    expect(JSON.parse(JSON.stringify(limits))).toEqual(limits);
  });
  it('what is no bound is not taken for one', () => {
    const given = { turnsMax: Number.NaN, retriesMax: -1 };
    const limits = limitsOf({ ...given, stageMs: undefined as never });
    expect(limits).toEqual(defaultLimits);
  });
  it('turns are unlimited only together with money or time', () => {
    expect(limitsOf({ turnsMax: Infinity }).turnsMax).toBe(1_000);
    expect(limitsOf({ turnsMax: Infinity, usdMax: 5 }).turnsMax).toBe(UNBOUNDED);
    expect(limitsOf({ turnsMax: Infinity, durationMs: 5 }).turnsMax).toBe(UNBOUNDED);
  });
});

describe('waits', () => {
  it('are never longer than a timer can be, nor negative', () => {
    const anything = fc.double({ min: 0, max: Number.MAX_VALUE, noNaN: true });
    fc.assert(
      fc.property(
        anything,
        fc.nat({ max: 2_000 }),
        fc.double({ min: -0.25, max: 0.25, noNaN: true }),
        (ms, n, jitter) => {
          const names = Object.keys(defaultLimits).filter((name) => name.endsWith('Ms'));
          const given = Object.fromEntries(names.map((name) => [name, ms]));
          const context = {
            ...query(given),
            retryCount: n,
            withheld: { class: 'server', detail: '', jitter } as const,
            openToolUses: [{ id: 'a', deadlineMs: ms }],
          };
          for (const delay of [...Object.values(delays), timeLeftMs]) {
            const wait = delay({ context });
            expect(wait).toBeGreaterThanOrEqual(0);
            expect(wait).toBeLessThanOrEqual(2 ** 31 - 1);
          }
        },
      ),
    );
  });
  it('grow with each try up to 8 s, and obey retry-after', () => {
    const limits = limitsOf();
    const waits = [1, 2, 3, 4, 5, 6].map((n) => backoffMs(limits, undefined, n));
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000]);
    const failure = { class: 'rate_limited', detail: '', jitter: 0.25 } as const;
    expect(backoffMs(limits, failure, 1)).toBe(625);
    expect(backoffMs(limits, { ...failure, retryAfterMs: 30_000 }, 1)).toBe(30_000);
  });
  it("are the design's", () => {
    expect(defaultLimits).toMatchObject({
      stageMs: 10_000,
      summaryMs: 180_000,
      drainMs: 1_000,
      attachMs: 5_000,
      streamMs: 1_800_000,
      retryBaseMs: 500,
      retryCapMs: 8_000,
      retryAfterMaxMs: 60_000,
    });
  });
});

describe('the cap of the next answer', () => {
  it('is what the budget can pay, the prompt paid first', () => {
    const context = query({ usdMax: 0.08, outputUsdPerToken: 15e-6 }, { promptUsd: 0.03 });
    expect(affordableTokens(context)).toBe(3_333);
    expect(outputCap(context)).toBe(3_333);
  });
  it('is never above what the model can do, also after a switch to a smaller one', () => {
    const raised = query({ outputTokensMax: 8_192 }, { maxOutputTokensOverride: 64_000 });
    expect(outputCap(raised)).toBe(8_192);
  });
  it('is the first one else', () => expect(outputCap(query())).toBe(8_000));
});
