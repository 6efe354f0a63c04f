/** The last and dearest stage that makes room: a summary, once the threshold is passed. */
import type { QueryState } from '../../machines/state.ts';
import type { Compact, ModelWindow } from '../recovery/compact.ts';
import { pass, type Stage, type StageDone, type Tell } from './stage.ts';
import type { TokenCounter } from './token-count.ts';
import { windows } from './windows.ts';

export interface AutocompactDeps {
  readonly compact: Compact;
  readonly counter: TokenCounter;
  readonly tell: Tell;
  readonly windowOf: (model: string) => ModelWindow;
  /** The host's own window for compaction (`autoCompactWindow`), tokens. */
  readonly autoCompactWindow: () => number | undefined;
  /** Dollars a token, `undefined`: not known, and the budget is checked afterwards only. */
  readonly pricesOf: (
    model: string,
  ) => { readonly inputUsdPerToken: number; readonly outputUsdPerToken: number } | undefined;
  /** Asks the API for the size of the prompt; asked only where an estimate could decide wrongly. */
  readonly countTokens?: (state: QueryState, signal: AbortSignal) => Promise<number | undefined>;
}

/** So near to the threshold an estimate may be on the wrong side of it. */
const NEAR_SHARE = 0.1;
/** With less than that estimated, a usage of the API tells enough. */
const UNCOVERED_SHARE = 0.05;

/** *Contract:* says `compaction` exactly when it tried; otherwise the head stays. */
export function createAutocompact(deps: AutocompactDeps): Stage {
  const { counter, tell } = deps;
  /** So that a long query says only once that there is nothing to sum up. */
  let skippedIn = '';

  const mayTry = (state: QueryState) =>
    (state.querySource === 'main' || state.querySource === 'subagent') &&
    state.autoCompactTracking.consecutiveFailures < state.limits.compactFailuresMax;

  const numbersOf = (model: string) => {
    const { windowTokens, outputTokensMax } = deps.windowOf(model);
    const own = deps.autoCompactWindow();
    return windows(Math.min(windowTokens, own ?? windowTokens), outputTokensMax);
  };

  /** An own summary may cost the whole prompt and the whole reserve. */
  const canPay = (state: QueryState, tokens: number, reserve: number) => {
    const prices = deps.pricesOf(state.model);
    if (!prices) return true;
    const worst = tokens * prices.inputUsdPerToken + reserve * prices.outputUsdPerToken;
    return worst <= state.limits.usdMax - state.spentUsd;
  };

  const size = async (state: QueryState, threshold: number, signal: AbortSignal) => {
    const { head } = state.history;
    const estimate = counter.estimate(head);
    const uncovered = estimate - counter.covered(head);
    const isNear = Math.abs(estimate - threshold) < NEAR_SHARE * threshold;
    if (!deps.countTokens || !isNear || uncovered < UNCOVERED_SHARE * estimate) return estimate;
    const counted = await deps.countTokens(state, signal);
    if (counted !== undefined) counter.noteCount(head, counted);
    return counter.estimate(head);
  };

  return async (state, signal): Promise<StageDone> => {
    if (signal.aborted || !mayTry(state)) return pass(state, signal);
    const { autocompact, reserve } = numbersOf(state.model);
    const tokens = await size(state, autocompact, signal);
    const history = tokens === state.history.tokens ? state.history : { ...state.history, tokens };
    const unchanged: StageDone = { type: 'stage.done', history, usd: 0 };
    if (tokens <= autocompact || !canPay(state, tokens, reserve)) return unchanged;
    const outcome = await deps.compact({ state: { ...state, history }, trigger: 'auto', signal });
    switch (outcome.kind) {
      case 'done':
        return { ...unchanged, history: outcome.history, compaction: 'done', usd: outcome.usd };
      case 'failed': {
        // what was not sent, for want of money or time, is no fault of a summary
        const wasTried = !signal.aborted && outcome.fault !== 'unpaid';
        return { ...unchanged, ...(wasTried ? { compaction: 'failed' } : {}), usd: outcome.usd };
      }
      case 'nothing':
        if (skippedIn !== state.queryId) tell({ type: 'compactSkipped', reason: outcome.reason });
        skippedIn = state.queryId;
        return unchanged;
    }
  };
}
