/** Holds every request to the purse of its session, whoever makes it and whatever runs beside. */
import type { Failure } from '../../machines/state.ts';
import type { Price } from './model-table.ts';
import type { Purse } from './purse.ts';
import { isReadAgain } from './request.ts';
import type { CallModel, ModelEvent, ModelRequest } from './types.ts';

export interface PayFromDeps {
  readonly purse: Purse;
  /** `undefined`: not known, and the budget is then checked afterwards only. */
  readonly priceOf: (model: string) => Price | undefined;
  /** Tokens of the prompt, estimated. */
  readonly sizeOf: (request: ModelRequest) => number;
  /** An answer of the loop that has less room is none. */
  readonly outputTokensMin: number;
}

/**
 * *Contract:* between its first event and its end a request has put aside what it costs at worst. A
 * request of the loop gets a lower cap when that makes it fit; else it waits for what others give
 * back. What can never fit fails as `over_budget`, unsent. Without a budget it is the same model.
 */
export function payFrom({ purse, ...deps }: PayFromDeps, callModel: CallModel): CallModel {
  return (request) => {
    const price = purse.isBounded ? deps.priceOf(request.model) : undefined;
    return price ? paid(request, price) : callModel(request);
  };

  async function* paid(request: ModelRequest, price: Price): ReturnType<CallModel> {
    const { isLoop, isPatient } = mannersOf(request);
    const promptUsd = request.promptUsd ?? worstPrompt(request, price);
    const perToken = price.outputUsdPerMtok / 1e6;
    const wanted = request.maxTokens;
    const least = isLoop ? Math.min(deps.outputTokensMin, wanted) : wanted;
    let maxTokens = 0;
    for (;;) {
      if (request.signal.aborted) break; // the service says so itself, and sends nothing
      maxTokens = Math.min(wanted, Math.floor((purse.left - promptUsd) / perToken));
      if (maxTokens >= least) break;
      if (!isPatient || !purse.isShared) {
        yield unaffordable(purse);
        return;
      }
      await purse.givenBack(request.signal);
    }
    const giveBack = purse.reserve(promptUsd + Math.max(0, maxTokens) * perToken);
    try {
      yield* callModel(request.signal.aborted ? request : { ...request, maxTokens });
    } finally {
      giveBack();
    }
  }

  /** Nothing of it is in the cache; only requests with breakpoints write into it. */
  function worstPrompt(request: ModelRequest, price: Price): number {
    const perMtok = isReadAgain(request) ? price.cacheWriteUsdPerMtok : price.inputUsdPerMtok;
    return (deps.sizeOf(request) * perMtok) / 1e6;
  }
}

function mannersOf({ querySource: source }: ModelRequest) {
  const isLoop = source === 'main' || source === 'subagent';
  return { isLoop, isPatient: isLoop || source === 'compact' };
}

function unaffordable({ usdMax, left }: Purse): ModelEvent {
  const failure: Failure = {
    class: 'over_budget',
    isFinal: true,
    detail:
      `the budget of $${usdMax} has $${Math.max(0, left).toFixed(4)} left, which does not pay for ` +
      'this request: it was not sent. A larger maxBudgetUsd lets the session go on',
  };
  return { type: 'failed', failure, usage: undefined };
}
