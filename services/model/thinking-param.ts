/** From the host's wish to what a model accepts: models differ in the words, and refuse others. */
import type Anthropic from '@anthropic-ai/sdk';
import { modelFacts } from './model-table.ts';
import type { ThinkingConfig } from './types.ts';

/** The API's own lower bound. */
const BUDGET_TOKENS_MIN = 1_024;
/** Of `max_tokens`, when the budget would eat it: thinking without an answer helps nobody. */
const ANSWER_SHARE = 1 / 4;

/**
 * The `thinking` parameter, `undefined` for leaving it out.
 * A budget is always ≥ 1,024 and below `maxTokens`: it is lowered with it, and given up where
 * there is no room.
 */
export function thinkingParam(
  wish: ThinkingConfig,
  model: string,
  maxTokens: number,
): Anthropic.ThinkingConfigParam | undefined {
  const { isKnown, thinking, off } = modelFacts(model);
  switch (wish.type) {
    case 'disabled':
      return off === undefined ? undefined : { type: off };
    case 'adaptive':
      if (thinking === 'adaptive') return { type: 'adaptive' };
      // Nothing is asked of a model that may not know the word.
      if (thinking === 'none') return undefined;
      return budget(maxTokens, maxTokens);
    case 'enabled':
      // 4.6 would still take a budget, the later ones answer it with a 400.
      if (thinking === 'adaptive') return { type: 'adaptive' };
      // A budget for a model that the table does not have is the host's own knowledge.
      if (thinking === 'none' && isKnown) return undefined;
      return budget(wish.budgetTokens, maxTokens);
  }
}

function budget(tokens: number, maxTokens: number): Anthropic.ThinkingConfigEnabled | undefined {
  if (maxTokens <= BUDGET_TOKENS_MIN) return undefined;
  const wanted = Math.max(Math.floor(tokens) || 0, BUDGET_TOKENS_MIN);
  const most = Math.max(BUDGET_TOKENS_MIN, Math.floor(maxTokens * (1 - ANSWER_SHARE)));
  return { type: 'enabled', budget_tokens: wanted < maxTokens ? wanted : most };
}
