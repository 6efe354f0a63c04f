/** What a session has used and paid, by model. Every call is billed here once, of whatever kind. */
import { isRecord } from '../is-record.ts';
import { costOf, modelFacts } from './model-table.ts';
import type { Usage } from './types.ts';

/** Of one model. The shape that hosts read in a result. */
export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly cacheCreationInputTokens: number;
  /** We offer no server tools. */
  readonly webSearchRequests: number;
  /** `null`: the price of this model is not known. */
  readonly costUSD: number | null;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
}

/** `usage` is always the sum of `modelUsage`. */
export interface UsageSnapshot {
  readonly usage: Usage;
  readonly modelUsage: Readonly<Record<string, ModelUsage>>;
  /** `null` when a model without a known price has a part in it. */
  readonly costUsd: number | null;
}

export const noUsage: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
};

/**
 * Sums over answers. Within an answer numbers are overwritten (`readUsage`), never added; the last
 * numbers of a broken stream count, since they are billed.
 */
export class UsageMeter {
  readonly #sums = new Map<string, Sum>();

  /** One answer, or what was reported of a broken one. @returns dollars; `null`: nobody knows. */
  add(model: string, usage: Usage): number | null {
    const usd = costOf(model, usage);
    this.addSum(model, usage, usd ?? 0);
    return usd;
  }

  /**
   * Sums of many answers, with the price that was paid for them. It cannot be worked out from the
   * sums: what an answer costs may depend on the length of its prompt.
   */
  addSum(model: string, usage: Usage, usd: number): void {
    const before = this.#sums.get(model) ?? { usage: noUsage, usd: 0 };
    this.#sums.set(model, { usage: combine(before.usage, usage, 1), usd: before.usd + usd });
  }

  /** Of the whole session, now. */
  snapshot(): UsageSnapshot {
    return report(this.#sums);
  }

  /** What came after a snapshot: a turn. Models that were not called in between are left out. */
  since({ modelUsage }: UsageSnapshot): UsageSnapshot {
    const fresh = new Map<string, Sum>();
    for (const [model, { usage, usd }] of this.#sums) {
      const before = modelUsage[model];
      const added = combine(usage, before ? usageOf(before) : noUsage, -1);
      if (before && isNothing(added)) continue;
      fresh.set(model, { usage: added, usd: usd - (before?.costUSD ?? 0) });
    }
    return report(fresh);
  }
}

interface Sum {
  readonly usage: Usage;
  readonly usd: number;
}

const usageOf = (sum: ModelUsage): Usage => ({
  input_tokens: sum.inputTokens,
  output_tokens: sum.outputTokens,
  cache_read_input_tokens: sum.cacheReadInputTokens,
  cache_creation_input_tokens: sum.cacheCreationInputTokens,
});
const isNothing = (usage: Usage): boolean => Object.values(usage).every((tokens) => tokens === 0);

/**
 * The numbers after one more report of the same answer. Reports are cumulative and nullable by
 * field: overwritten, never added. What is no count (negative, endless, text) is not believed, and a
 * 0 does not take back a prompt that was counted: some gateways fill in only one of the reports.
 */
export function readUsage(known: Usage | undefined, reported: unknown): Usage | undefined {
  if (typeof reported !== 'object' || reported === null) return known;
  const fields = reported as Readonly<Record<string, unknown>>;
  const before = known ?? noUsage;
  const prompt = (name: keyof Usage) => count(fields[name]) || before[name];
  return {
    input_tokens: prompt('input_tokens'),
    output_tokens: count(fields.output_tokens) ?? before.output_tokens,
    cache_read_input_tokens: prompt('cache_read_input_tokens'),
    cache_creation_input_tokens: prompt('cache_creation_input_tokens'),
  };
}

/** More than any prompt or answer has: a budget that believed it would be none any more. */
const TOKENS_MAX = 100_000_000;

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= TOKENS_MAX ? Math.round(value) : undefined;

/**
 * What of a report can be no count. `null` and what is absent say nothing; but the answer itself is
 * counted at its end.
 */
export function oddCounts(reported: unknown, isLast: boolean): readonly (keyof Usage)[] {
  if (!isRecord(reported)) return [];
  const names = Object.keys(noUsage) as (keyof Usage)[];
  return names.filter((name) => {
    const value = reported[name];
    if (value === undefined) return false;
    if (value === null) return isLast && name === 'output_tokens';
    return count(value) === undefined;
  });
}

/** Tokens of so many characters, when nobody has counted them. Rather too many than too few. */
export const estimatedTokens = (chars: number): number => Math.ceil(chars / 3);

const combine = (a: Usage, b: Usage, sign: 1 | -1): Usage => ({
  input_tokens: a.input_tokens + sign * b.input_tokens,
  output_tokens: a.output_tokens + sign * b.output_tokens,
  cache_read_input_tokens: a.cache_read_input_tokens + sign * b.cache_read_input_tokens,
  cache_creation_input_tokens: a.cache_creation_input_tokens + sign * b.cache_creation_input_tokens,
});

function report(sums: ReadonlyMap<string, Sum>): UsageSnapshot {
  let usage = noUsage;
  let costUsd: number | null = 0;
  const modelUsage: Record<string, ModelUsage> = {};
  for (const [model, sum] of sums) {
    const { contextWindowTokens, outputTokensMax, price } = modelFacts(model);
    const costUSD = price === null ? null : sum.usd;
    usage = combine(usage, sum.usage, 1);
    costUsd = costUsd === null || costUSD === null ? null : costUsd + costUSD;
    modelUsage[model] = {
      inputTokens: sum.usage.input_tokens,
      outputTokens: sum.usage.output_tokens,
      cacheReadInputTokens: sum.usage.cache_read_input_tokens,
      cacheCreationInputTokens: sum.usage.cache_creation_input_tokens,
      webSearchRequests: 0,
      costUSD,
      contextWindow: contextWindowTokens,
      maxOutputTokens: outputTokensMax,
    };
  }
  return { usage, modelUsage, costUsd };
}
