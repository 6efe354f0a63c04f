import { describe, expect, it } from 'vitest';
import {
  costOf,
  defaultModel,
  isSameModel,
  modelByAlias,
  modelFacts,
  modelTable,
  smallModel,
  smallModelFor,
} from '../../../services/model/model-table.ts';
import { thinkingParam } from '../../../services/model/thinking-param.ts';
import { noUsage, readUsage, UsageMeter } from '../../../services/model/usage.ts';

const usage = (input: number, output: number, read = 0, write = 0) => ({
  input_tokens: input,
  output_tokens: output,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: write,
});

describe('the model table', () => {
  it.each([
    ['claude-opus-5-5', 1_000_000, 4, 20],
    ['claude-opus-5', 1_000_000, 5, 25],
    ['claude-opus-5-20260724', 1_000_000, 5, 25],
    ['claude-sonnet-5-5', 1_000_000, 2, 10],
    ['claude-sonnet-4-5', 200_000, 3, 15],
    ['claude-sonnet-4-5-20250929', 200_000, 3, 15],
    ['us.anthropic.claude-opus-4-5-20251101-v1:0', 200_000, 5, 25],
    ['claude-opus-4-1@20250805', 200_000, 15, 75],
    ['claude-opus-4-20250514', 200_000, 15, 75],
    ['claude-sonnet-4-0', 200_000, 3, 15],
    ['claude-3-7-sonnet-latest', 200_000, 3, 15],
    ['anthropic/claude-haiku-4.5', 200_000, 1, 5],
  ])('%s', (model, window, input, output) => {
    expect(modelFacts(model)).toMatchObject({
      isKnown: true,
      contextWindowTokens: window,
      price: { inputUsdPerMtok: input, outputUsdPerMtok: output },
    });
  });

  it('has the smallest window and no price for what it does not know', () => {
    for (const model of ['gpt-9', 'qwen3-coder', 'claude-opus-9', '', 'constructor']) {
      expect(modelFacts(model)).toMatchObject({
        isKnown: false,
        contextWindowTokens: 200_000,
        price: null,
      });
      expect(costOf(model, usage(1, 1))).toBeNull();
    }
  });

  it('names models of its own', () => {
    expect(defaultModel()).toBe('claude-sonnet-5-5');
    expect(modelFacts(smallModel())).toMatchObject({ isSmall: true, isKnown: true });
    expect(smallModelFor('llama', 'http://localhost:11434')).toBe('llama');
    expect(smallModelFor('llama', 'https://evil-anthropic.com')).toBe('llama');
    expect(smallModelFor('claude-opus-5-5')).toBe(smallModel());
    expect(modelByAlias('Opus')).toBe('claude-opus-5-5');
    expect(modelByAlias('gpt')).toBeUndefined();
    for (const { id } of modelTable) expect(modelFacts(id).isKnown).toBe(true);
  });

  it('knows an alias and its snapshot as one model, two snapshots as two', () => {
    expect(isSameModel('claude-sonnet-4-5', 'claude-sonnet-4-5-20250929')).toBe(true);
    expect(isSameModel('claude-sonnet-4-5-20250929', 'claude-sonnet-4-5-20260101')).toBe(false);
    expect(isSameModel('claude-sonnet-4-5', 'claude-sonnet-4')).toBe(false);
  });
});

describe('costs', () => {
  it('are what each kind of token costs (USE-01)', () => {
    expect(costOf('claude-sonnet-4-5', usage(27, 47, 1_000, 50))).toBeCloseTo(
      (27 * 3 + 47 * 15 + 1_000 * 0.3 + 50 * 3.75) / 1e6,
      12,
    );
  });

  it('of a long prompt are higher where the model says so', () => {
    expect(costOf('claude-haiku-5-5', usage(100_000, 0))).toBeCloseTo(0.01, 9);
    expect(costOf('claude-haiku-5-5', usage(50_000, 1_000_000, 50_001))).toBeCloseTo(2.5275, 3);
  });
});

describe('the meter', () => {
  it('sums over answers, by model', () => {
    const meter = new UsageMeter();
    expect(meter.add('claude-sonnet-5-5', usage(1_000_000, 0))).toBe(2);
    meter.add('claude-sonnet-5-5', usage(0, 100_000));
    meter.add('claude-haiku-4-5', usage(5, 7, 11, 13));
    const { usage: all, modelUsage, costUsd } = meter.snapshot();
    expect(all).toEqual(usage(1_000_005, 100_007, 11, 13));
    expect(modelUsage['claude-sonnet-5-5']).toMatchObject({ inputTokens: 1_000_000, costUSD: 3 });
    expect(modelUsage['claude-haiku-4-5']).toMatchObject({ contextWindow: 200_000 });
    expect(costUsd).toBeCloseTo(3.0000571, 5);
  });

  it('says what a turn has used, without models that had no part in it', () => {
    const meter = new UsageMeter();
    meter.add('claude-sonnet-5-5', usage(10, 1));
    meter.add('claude-haiku-4-5', usage(99, 9));
    const before = meter.snapshot();
    expect(meter.since(before)).toEqual({ usage: noUsage, modelUsage: {}, costUsd: 0 });
    meter.add('claude-sonnet-5-5', usage(5, 2));
    const turn = meter.since(before);
    expect(turn.usage).toEqual(usage(5, 2));
    expect(Object.keys(turn.modelUsage)).toEqual(['claude-sonnet-5-5']);
    expect(turn.costUsd).toBeCloseTo(30e-6, 12);
    expect(before.usage).toEqual(usage(109, 10));
  });

  it('never says 0 for a price that nobody knows', () => {
    const meter = new UsageMeter();
    expect(meter.add('llama', usage(1, 1))).toBeNull();
    meter.add('claude-sonnet-5-5', usage(1, 1));
    expect(meter.snapshot().costUsd).toBeNull();
    expect(meter.snapshot().modelUsage.llama?.costUSD).toBeNull();
  });

  it('overwrites within an answer, and believes counts only', () => {
    const first = readUsage(undefined, usage(27, 3, 1_000, 50));
    expect(readUsage(first, { output_tokens: 20 })).toEqual(usage(27, 20, 1_000, 50));
    expect(readUsage(first, usage(27, 47, 1_000, 50))).toEqual(usage(27, 47, 1_000, 50));
    expect(readUsage(first, { input_tokens: -1, output_tokens: Number.NaN })).toEqual(first);
    expect(readUsage(undefined, null)).toBeUndefined();
  });
});

describe('the thinking parameter', () => {
  it.each([
    ['claude-sonnet-5-5', { type: 'adaptive' }, { type: 'adaptive' }],
    ['claude-sonnet-5-5', { type: 'enabled', budgetTokens: 4_000 }, { type: 'adaptive' }],
    ['claude-sonnet-5-5', { type: 'disabled' }, { type: 'between_tools' }],
    ['claude-opus-5', { type: 'disabled' }, { type: 'disabled' }],
    ['claude-opus-5-5', { type: 'disabled' }, undefined],
    ['claude-opus-4-6', { type: 'disabled' }, undefined],
    ['claude-sonnet-4-5', { type: 'disabled' }, undefined],
    ['claude-sonnet-4-5', { type: 'adaptive' }, { type: 'enabled', budget_tokens: 6_000 }],
    [
      'claude-sonnet-4-5',
      { type: 'enabled', budgetTokens: 4_000 },
      { type: 'enabled', budget_tokens: 4_000 },
    ],
    [
      'claude-sonnet-4-5',
      { type: 'enabled', budgetTokens: 7_999 },
      { type: 'enabled', budget_tokens: 7_999 },
    ],
    [
      'claude-sonnet-4-5',
      { type: 'enabled', budgetTokens: 8_000 },
      { type: 'enabled', budget_tokens: 6_000 },
    ],
    [
      'claude-sonnet-4-5',
      { type: 'enabled', budgetTokens: 3 },
      { type: 'enabled', budget_tokens: 1_024 },
    ],
    ['claude-3-5-haiku-latest', { type: 'enabled', budgetTokens: 4_000 }, undefined],
    ['claude-opus-9', { type: 'adaptive' }, { type: 'adaptive' }],
    ['llama', { type: 'adaptive' }, undefined],
    ['llama', { type: 'enabled', budgetTokens: 2_000 }, { type: 'enabled', budget_tokens: 2_000 }],
  ] as const)('%s, %j', (model, wish, param) => {
    expect(thinkingParam(wish, model, 8_000)).toEqual(param);
  });

  it('is legal for every cap', () => {
    for (const cap of [1, 1_024, 1_025, 1_026, 2_000, 64_000]) {
      const param = thinkingParam(
        { type: 'enabled', budgetTokens: 50_000 },
        'claude-sonnet-4-5',
        cap,
      );
      if (param === undefined) expect(cap).toBeLessThanOrEqual(1_024);
      else if (param.type === 'enabled') {
        expect(param.budget_tokens).toBeGreaterThanOrEqual(1_024);
        expect(param.budget_tokens).toBeLessThan(cap);
      }
    }
  });
});
