/** The gate that no illegal history passes: a refused request would be refused for ever. */
import type { Cursor, QueryState } from '../../machines/state.ts';
import type { MessageLog } from '../message-log.ts';
import type { LogMessage } from '../messages.ts';
import { defaultMediaLimits, type MediaLimits } from './legal-blocks.ts';
import { repairHistory, repairPart } from './legal-history.ts';
import { addTotals, type MediaTotals, mediaOverflows, noMedia } from './legal-media.ts';
import type { Stage, Tell } from './stage.ts';
import type { TokenCounter } from './token-count.ts';
import { unbindThinking } from './unbind-thinking.ts';

/** US dollars a token; of the model that is asked. */
export interface PromptPrices {
  readonly cacheReadUsdPerToken: number;
  readonly cacheWriteUsdPerToken: number;
}
export interface LegalizeDeps {
  readonly log: MessageLog;
  readonly counter: TokenCounter;
  readonly tell: Tell;
  /** `undefined`: the price is not known, and the prompt counts as free. */
  readonly pricesOf: (model: string) => PromptPrices | undefined;
  readonly mediaLimits?: MediaLimits;
}

/** A part of a history that is known to be legal; what comes after it is looked at alone. */
interface Known {
  readonly head: string;
  readonly ids: Set<string>;
  readonly totals: MediaTotals;
  /** Of its last answer: in a request, what comes of the same answer later stands in this part. */
  readonly apiId: string | undefined;
}
const nothingKnown = (): Known => ({
  head: '',
  ids: new Set(),
  totals: noMedia,
  apiId: undefined,
});

const lastAnswerOf = (messages: readonly LogMessage[]): LogMessage | undefined =>
  messages.findLast(({ role }) => role === 'assistant');

/** Rewrites only what must be: a repair at the end is appended, so that the prompt cache holds. */
const storeRepaired = (
  log: MessageLog,
  history: Cursor,
  fresh: readonly LogMessage[],
  repaired: readonly LogMessage[],
): Cursor => {
  const onlyAppended = fresh.every((message, at) => message === repaired[at]);
  if (onlyAppended) return log.append(history, repaired.slice(fresh.length));
  const all = log.at(history.head);
  const whole = [...all.slice(0, all.length - fresh.length), ...repaired];
  return rewritten(log, history, whole);
};

/** What was thought after the first repair was thought in another conversation. */
const rewritten = (log: MessageLog, history: Cursor, messages: readonly LogMessage[]): Cursor => {
  const before = log.at(history.head);
  const changed = messages.findIndex((message, at) => message !== before[at]);
  return log.rewriteFrom(history.head, unbindThinking(messages, changed), history.tokens);
};

/**
 * The last stage before the request. One for each history that grows: it remembers up to where the
 * history is legal, and costs what is new.
 *
 * The output is legal by rules S1–S7, S10, S12–S14 for any history; a legal one keeps its head.
 * Repairs are told in words, and recorded by being a history of their own.
 */
export function createLegalize(deps: LegalizeDeps): Stage {
  const { log, counter, tell } = deps;
  const limits = deps.mediaLimits ?? defaultMediaLimits;
  let known = nothingKnown();

  /** @returns the messages that are not known to be legal, and what is known of the rest. */
  const split = (head: string) => {
    const fresh = log.since(known.head, head);
    const reachesBack = fresh.some(({ apiId }) => apiId !== undefined && apiId === known.apiId);
    const isOn =
      log.depthOf(known.head) > 0 &&
      log.depthOf(known.head) + fresh.length === log.depthOf(head) &&
      !reachesBack;
    return isOn ? { base: known, fresh } : { base: nothingKnown(), fresh: log.at(head) };
  };

  const makeLegal = (state: QueryState): Cursor => {
    const isPaused = state.transition?.reason === 'pause_turn_continuation';
    const { base, fresh } = split(state.history.head);
    const goesOn = base.head !== '';
    const isKnown = (id: string) => base.ids.has(id);
    const part = repairPart(fresh, { isKnown, goesOn, isPaused, limits });
    const repairs = [...part.repairs];
    let history =
      repairs.length === 0
        ? state.history
        : storeRepaired(log, state.history, fresh, part.messages);
    let totals = addTotals(base.totals, part.messages);
    if (mediaOverflows(totals, limits)) {
      const whole = repairHistory(log.at(history.head), { isPaused, limits });
      repairs.push(...whole.repairs);
      if (whole.repairs.length > 0) history = rewritten(log, history, whole.messages);
      totals = addTotals(noMedia, whole.messages);
    }
    // A paused answer is not at its end: what follows may complete it, so it is looked at again.
    if (!isPaused) {
      for (const id of part.ids) base.ids.add(id);
      const answer = lastAnswerOf(part.messages);
      const apiId = answer ? answer.apiId : base.apiId;
      known = { head: history.head, ids: base.ids, totals, apiId };
    }
    if (repairs.length > 0) {
      counter.noteRewrite(state.history.head, history.head);
      tell({ type: 'historyRepaired', repairs });
    }
    return history;
  };

  const promptUsd = (model: string, history: Cursor) => {
    const prices = deps.pricesOf(model);
    if (!prices) return 0;
    const covered = Math.min(counter.covered(history.head), history.tokens);
    const written = history.tokens - covered;
    return covered * prices.cacheReadUsdPerToken + written * prices.cacheWriteUsdPerToken;
  };

  return async (state) => {
    const legal = makeLegal(state);
    const tokens = counter.estimate(legal.head);
    const history = tokens === legal.tokens ? legal : { ...legal, tokens };
    return { type: 'stage.done', history, usd: 0, promptUsd: promptUsd(state.model, history) };
  };
}
