/** The bounds of one query: the host's budgets, and what the model's window and price allow. */
import type { QueryLimits } from '../machines/limits.ts';
import { type ModelFacts, modelFacts } from '../services/model/model-table.ts';
import { windows } from '../services/preprocess/windows.ts';
import type { QueryEngineConfig } from './config.ts';

/** Asked for first: most answers are shorter, and a cap that is not needed costs throughput. */
const OUTPUT_TOKENS_FIRST = 8_000;

export function queryLimits(
  config: QueryEngineConfig,
  model: string,
  budgetInWords: number | undefined,
): Partial<QueryLimits> {
  const tokenBudget = budgetInWords ?? config.tokenBudget;
  const { maxTurns, maxBudgetUsd, maxDurationMs } = config;
  return {
    ...modelLimits(config, modelFacts(model)),
    ...(maxTurns === undefined ? {} : { turnsMax: maxTurns }),
    ...(maxBudgetUsd === undefined ? {} : { usdMax: maxBudgetUsd }),
    ...(maxDurationMs === undefined ? {} : { durationMs: maxDurationMs }),
    ...(tokenBudget === undefined ? {} : { tokenBudget }),
    ...config.limits,
  };
}

/** What changes with the model: also asked when another one takes over. */
export function modelLimits(config: QueryEngineConfig, facts: ModelFacts): Partial<QueryLimits> {
  const { outputTokensMax, price } = facts;
  const own = config.maxOutputTokens;
  // A host that names a smaller window means it: nothing above it is sent.
  const window = Math.min(facts.contextWindowTokens, config.autoCompactWindow ?? Infinity);
  const first = Math.min(OUTPUT_TOKENS_FIRST, outputTokensMax, Math.floor(window / 4));
  return {
    windowTokens: windows(window, outputTokensMax).blocking,
    outputTokens: own ?? first,
    // A host that names its cap has said what it wants: nothing to escalate to.
    outputTokensMax: own ?? outputTokensMax,
    ...(own === undefined ? {} : { outputTokensEscalated: own }),
    outputUsdPerToken: price ? price.outputUsdPerMtok / 1e6 : 0,
  };
}
