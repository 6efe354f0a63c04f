import { describe, expect, it } from 'vitest';
import type { QueryLimits } from '../../../machines/limits.ts';
import type { Cursor, QueryState } from '../../../machines/state.ts';
import {
  type AutocompactDeps,
  createAutocompact,
} from '../../../services/preprocess/autocompact.ts';
import { httpError } from '../../../src/testing/index.ts';
import { type Given, prose, world } from '../recovery/world.ts';
import { assistant, call, result, user } from './histories.ts';

const signal = new AbortController().signal;
const rounds = (count: number, tokens: number, from = 0) =>
  Array.from({ length: count }, (_, n) => [
    call(`m${from + n}`, `c${from + n}`),
    result(`c${from + n}`, prose(tokens)),
  ]).flat();
/** Window 20,000: reserve 5,000, effective 15,000, threshold 13,125, kept 3,750. */
const setup = async (given: Given, more: Partial<AutocompactDeps> = {}) => {
  const w = await world({ windowTokens: 20_000, ...given });
  const autocompact = createAutocompact({
    compact: w.compact,
    counter: w.counter,
    tell: w.deps.tell,
    windowOf: w.deps.windowOf,
    autoCompactWindow: () => undefined,
    pricesOf: () => undefined,
    ...more,
  });
  const run = (
    history: Cursor = w.history,
    state: Omit<Partial<QueryState>, 'limits'> & { limits?: Partial<QueryLimits> } = {},
  ) => autocompact(w.stateWith(history, state), signal);
  return { ...w, run };
};
const full = [user('go'), ...rounds(5, 3_000)];

describe('autocompact', () => {
  it('does nothing below the threshold', async () => {
    const w = await setup({ history: [user('go'), ...rounds(4, 3_000)] });
    expect(w.history.tokens).toBeLessThan(13_125);
    const done = await w.run();
    expect(done).toEqual({ type: 'stage.done', history: w.history, usd: 0 });
    expect(done.history).toBe(w.history);
    expect(w.server.requests).toEqual([]);
  });

  it('sums up above it, and says so', async () => {
    const w = await setup({ history: full });
    const done = await w.run();
    expect(done).toMatchObject({ compaction: 'done', usd: 0.5 });
    expect(done.history.tokens).toBeLessThan(5_000);
    expect(w.server.requestsOf('compact')).toHaveLength(1);
  });

  it("takes the host's window instead of the model's", async () => {
    const history = [user('go'), ...rounds(4, 1_500)];
    const small = await setup({ history }, { autoCompactWindow: () => 8_000 });
    expect((await small.run()).compaction).toBe('done');
    const model = await setup({ history });
    expect((await model.run()).compaction).toBeUndefined();
  });

  it.each<[string, Partial<AutocompactDeps>, Partial<QueryState>]>([
    ['not a loop', {}, { querySource: 'compact' }],
    [
      'CMP-09 three failures in a row',
      {},
      {
        autoCompactTracking: {
          compacted: false,
          turnCounter: 0,
          consecutiveFailures: 3,
          rapidRefills: 0,
        },
      },
    ],
    [
      'its own worst cost is not left',
      { pricesOf: () => ({ inputUsdPerToken: 1e-4, outputUsdPerToken: 1e-3 }) },
      { spentUsd: 5 },
    ],
  ])('does not try: %s', async (_, deps, state) => {
    const w = await setup({ history: full }, deps);
    const done = await w.run(w.history, { ...state, limits: { usdMax: 10 } });
    expect(done.compaction).toBeUndefined();
    expect(done.history.head).toBe(w.history.head);
    expect(w.server.requests).toEqual([]);
  });

  it('CMP-09 a failure leaves history as it was', async () => {
    const refused = httpError(400, 'invalid_request_error', 'no summary');
    const w = await setup({ history: full, script: { compactions: [refused] } });
    const done = await w.run();
    expect(done).toMatchObject({ compaction: 'failed' });
    expect(done.history.head).toBe(w.history.head);
    expect(w.server.requests).toHaveLength(1);
  });

  it('a summary that is refused by the purse was not tried: no failure is counted', async () => {
    const w = await setup(
      { history: full },
      {
        compact: async () => ({ kind: 'failed', fault: 'unpaid', reason: 'no money', usd: 0 }),
      },
    );
    expect(await w.run()).toEqual({ type: 'stage.done', history: w.history, usd: 0 });
  });

  it('says once that there is nothing to sum up, and counts no failure', async () => {
    const w = await setup({ history: [user('go'), ...rounds(1, 15_000)] });
    expect((await w.run()).compaction).toBeUndefined();
    expect((await w.run()).compaction).toBeUndefined();
    expect(w.told('compactSkipped')).toHaveLength(1);
    expect(w.server.requests).toEqual([]);
  });

  it('CMP-06 looks at what has just come, not at the last usage', async () => {
    const w = await setup({ history: [user('go'), ...rounds(2, 3_000)] });
    w.counter.noteUsage(w.history.head, { input_tokens: 7_000, output_tokens: 10 });
    expect((await w.run()).compaction).toBeUndefined();
    const grown = w.log.append(w.history, [assistant('m9', 'ok'), user(prose(7_000))]);
    const done = await w.run(grown);
    expect(done.compaction).toBe('done');
    expect(w.messagesAt(done.history).at(-1)).toBe(w.messagesAt(grown).at(-1));
  });

  it('asks the API for its count only where an estimate could decide wrongly', async () => {
    let asked = 0;
    const countTokens = async () => {
      asked += 1;
      return 11_000;
    };
    const near = await setup({ history: [user('go'), ...rounds(3, 4_500)] }, { countTokens });
    expect(near.history.tokens).toBeGreaterThan(13_125);
    const done = await near.run();
    expect([asked, done.compaction, done.history.tokens]).toEqual([1, undefined, 11_000]);
    const far = await setup({ history: [user('go'), ...rounds(1, 3_000)] }, { countTokens });
    await far.run();
    expect(asked).toBe(1);
  });
});
