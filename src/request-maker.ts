/** From the chart's state to the request that it stands for. */
import { outputCap, type QueryState } from '../machines/state.ts';
import { modelFacts } from '../services/model/model-table.ts';
import type { ModelRequest, ThinkingConfig } from '../services/model/types.ts';
import type { Session } from './session.ts';

const thinkingOff: ThinkingConfig = { type: 'disabled' };

/**
 * The next request of the loop. Changes nothing: the same state gives the same request, also for
 * those who only want to count it, or to share its beginning.
 */
export function requestOf(session: Session, state: QueryState, signal: AbortSignal): ModelRequest {
  const { log, config, systemPrompt, userContext, lastRequest, primaryModel } = session;
  const { head } = state.history;
  const { taskBudget } = config;
  const remaining = session.taskBudgetRemaining;
  const hasFallenBack = state.model !== primaryModel;
  // The host's newest choice counts from the next request on, unless the chart has fallen back. The
  // bounds of the query are still those of the model that it began with, so its cap is looked at.
  const model = hasFallenBack ? state.model : (session.chosenModel ?? state.model);
  return {
    messages: log.at(head),
    ...(lastRequest?.chain === chainOf(head) ? { previousCount: lastRequest.count } : {}),
    systemPrompt,
    userContext,
    thinking: config.thinkingConfig ?? thinkingOff,
    tools: session.tools(),
    model,
    maxTokens: Math.min(outputCap(state), modelFacts(model).outputTokensMax),
    querySource: state.querySource,
    ...(taskBudget
      ? { taskBudget: { ...taskBudget, ...(remaining === undefined ? {} : { remaining }) } }
      : {}),
    signal,
  };
}

/** The request is sent: the one after it keeps a cache breakpoint where this one ended. */
export function noteRequest(session: Session, state: QueryState): void {
  const { head, count } = state.history;
  session.lastRequest = { chain: chainOf(head), count, head };
}

const chainOf = (head: string): string => head.slice(0, head.indexOf('/'));
