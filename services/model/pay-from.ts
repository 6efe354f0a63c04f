/** Holds every request to the purse of its session, whoever makes it and whatever runs beside. */
import type { QueryLimits } from '../../machines/limits.ts';
import type { Failure } from '../../machines/state.ts';
import { Deadline } from '../deadline.ts';
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
  /** How long a request may wait for others, in ms. 0: not at all. */
  readonly waitMs: (request: ModelRequest) => number;
}

/**
 * *Contract:* between its first event and its end a request has put aside what it costs at worst. A
 * request of the loop gets a lower cap when that makes it fit; else it says that it waits
 * (`waiting`, once), and waits for what others give back. What can never fit, or not in time, fails as
 * `over_budget`, unsent. Without a budget it is the same model.
 */
export function payFrom({ purse, ...deps }: PayFromDeps, callModel: CallModel): CallModel {
  return (request) => {
    const price = purse.isBounded ? deps.priceOf(request.model) : undefined;
    return price ? paid(request, price) : callModel(request);
  };

  async function* paid(request: ModelRequest, price: Price): ReturnType<CallModel> {
    const promptUsd = request.promptUsd ?? worstPrompt(request, price);
    const perToken = price.outputUsdPerMtok / 1e6;
    const bid: Bid = { request, promptUsd, perToken, least: leastOf(request) };
    const maxTokens = yield* affordable(bid);
    if (maxTokens === undefined) return;
    const giveBack = purse.reserve(promptUsd + Math.max(0, maxTokens) * perToken);
    try {
      yield* callModel(request.signal.aborted ? request : { ...request, maxTokens });
    } finally {
      giveBack();
    }
  }

  /**
   * Waits, within its own bound, until a request can be paid.
   * @returns the cap that it can have; `undefined`: it was refused. What it says of an aborted one
   * does not count: the service says so itself, and sends nothing.
   */
  async function* affordable({
    request,
    promptUsd,
    perToken,
    least,
  }: Bid): AsyncGenerator<ModelEvent, number | undefined, void> {
    const { signal } = request;
    let patience: Deadline | undefined;
    try {
      for (;;) {
        const fitting = Math.floor((purse.left - promptUsd) / perToken);
        const maxTokens = Math.min(request.maxTokens, fitting);
        if (signal.aborted || maxTokens >= least) return maxTokens;
        const waitMs = deps.waitMs(request);
        if (waitMs === 0 || !purse.isShared) {
          yield unaffordable(purse, 'which does not pay for this request');
          return undefined;
        }
        if (!patience) {
          patience = new Deadline(waitMs);
          yield { type: 'waiting', detail: waitingFor(purse) };
          continue; // it may have come back while the word was heard
        }
        if (patience.signal.aborted) {
          const others = `other work of the session has held the rest for ${waitMs / 1_000} s`;
          yield unaffordable(purse, `and ${others}`);
          return undefined;
        }
        await purse.givenBack(AbortSignal.any([signal, patience.signal]));
      }
    } finally {
      patience?.dispose();
    }
  }

  /** An answer of the loop may be shorter than was wished, others are all or nothing. */
  function leastOf(request: ModelRequest): number {
    return isLoop(request) ? Math.min(deps.outputTokensMin, request.maxTokens) : request.maxTokens;
  }

  /** Nothing of it is in the cache; only requests with breakpoints write into it. */
  function worstPrompt(request: ModelRequest, price: Price): number {
    const perMtok = isReadAgain(request) ? price.cacheWriteUsdPerMtok : price.inputUsdPerMtok;
    return (deps.sizeOf(request) * perMtok) / 1e6;
  }
}

interface Bid {
  readonly request: ModelRequest;
  readonly promptUsd: number;
  readonly perToken: number;
  /** Tokens: below this it is no answer. */
  readonly least: number;
}

const isLoop = ({ querySource: source }: ModelRequest): boolean =>
  source === 'main' || source === 'subagent';

/**
 * How long a request waits for what others have put aside, in ms: none of the chart's clocks may
 * ring in the middle. Work beside the loop does not wait.
 */
export function waitMsOf(
  { querySource: source }: Pick<ModelRequest, 'querySource'>,
  { streamMs, summaryMs }: Pick<QueryLimits, 'streamMs' | 'summaryMs'>,
): number {
  if (source === 'compact') return Math.min(WAIT_MS, summaryMs / 2);
  return source === 'main' || source === 'subagent' ? Math.min(WAIT_MS, streamMs / 2) : 0;
}
const WAIT_MS = 10 * 60_000;

const waitingFor = ({ usdMax, left }: Purse): string =>
  `The next request waits: of the budget of $${usdMax} other requests of the session hold what it ` +
  `would cost ($${Math.max(0, left).toFixed(4)} is left)`;

function unaffordable({ usdMax, left }: Purse, why: string): ModelEvent {
  const failure: Failure = {
    class: 'over_budget',
    isFinal: true,
    detail:
      `the budget of $${usdMax} has $${Math.max(0, left).toFixed(4)} left, ${why}: ` +
      'it was not sent. A larger maxBudgetUsd lets the session go on',
  };
  return { type: 'failed', failure, usage: undefined };
}
