/** Lines about rounds of tools, as far as a session has a say in it: who writes and who pays. */
import type { QueryState } from '../machines/state.ts';
import {
  createRoundDescriber,
  type RoundDescriber,
} from '../services/describer/round-describer.ts';
import { modelFacts } from '../services/model/model-table.ts';
import type { QueryDeps } from './deps.ts';
import type { QueryScope } from './query-scope.ts';
import { bill, type Session } from './session.ts';
import type { SessionServices } from './session-services.ts';
import { smallModelOf } from './small-model.ts';

/** Of what is left of the budget: a line for people must not cost them the work. */
const BUDGET_SHARE = 0.1;

/** One for each query. */
export function roundDescriber(scope: QueryScope, services: SessionServices): RoundDescriber {
  const { session } = scope;
  return createRoundDescriber({
    log: session.log,
    callModel: services.callModel,
    model: (main) => smallModelOf(session.config, main),
    mayPay: (state, size) => mayPay(session, state, size),
    sizeOf: (text) => session.tokens.estimateText(text),
    onUsage: (model, usage) => bill(session, model, usage),
    makeNote: (text) => ({
      uuid: session.uuid(),
      timestamp: session.now().toISOString(),
      role: 'user',
      kind: 'note',
      origin: 'nudge',
      isMeta: true,
      content: [{ type: 'text', text }],
    }),
    tell: services.tell,
  });
}

/** What is read with a round waits a moment for the line about the round before. */
export const afterDescription =
  (describer: RoundDescriber, attachments: QueryDeps['attachments']): QueryDeps['attachments'] =>
  async (state, signal) => {
    const [ready] = await Promise.all([attachments(state, signal), describer.settle(state)]);
    return ready;
  };

/** At its worst. Without a budget always; with one never at a price that nobody knows. */
function mayPay(
  { config, spending }: Session,
  { limits, model }: QueryState,
  size: { readonly prompt: number; readonly answer: number },
): boolean {
  if (config.maxBudgetUsd === undefined) return true;
  const { price } = modelFacts(smallModelOf(config, model));
  if (!price) return false;
  const worst = (size.prompt * price.inputUsdPerMtok + size.answer * price.outputUsdPerMtok) / 1e6;
  return worst <= (limits.usdMax - spending.usd) * BUDGET_SHARE;
}
