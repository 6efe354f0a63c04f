/** From the chart's state to the request that it stands for. */
import { type Cursor, outputCap, type QueryState } from '../machines/state.ts';
import type { MessageLog } from '../services/message-log.ts';
import { modelFacts } from '../services/model/model-table.ts';
import type { ModelRequest, ThinkingConfig } from '../services/model/types.ts';
import { defaultGates } from './config.ts';
import type { Session } from './session.ts';

const thinkingOff: ThinkingConfig = { type: 'disabled' };

/**
 * The next request of the loop. Changes nothing: the same state gives the same request, also for
 * those who only want to count it, or to share its beginning.
 */
export function requestOf(session: Session, state: QueryState, signal: AbortSignal): ModelRequest {
  const { log, config, systemPrompt, userContext, primaryModel } = session;
  const { head } = state.history;
  const { taskBudget } = config;
  const remaining = session.taskBudgetRemaining;
  const { stripSignatures } = { ...defaultGates, ...config.gates };
  const hasFallenBack = state.model !== primaryModel;
  // The host's newest choice counts from the next request on, unless the chart has fallen back. The
  // bounds of the query are still those of the model that it began with, so its cap is looked at.
  const model = hasFallenBack ? state.model : (session.chosenModel ?? state.model);
  return {
    messages: log.at(head),
    ...cacheCounts(session, state),
    systemPrompt,
    userContext,
    thinking: config.thinkingConfig ?? thinkingOff,
    tools: session.tools(),
    ...(stripSignatures ? {} : { keepsSignatures: true }),
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
  const { lastRequest } = session;
  const isRewritten = lastRequest !== undefined && lastRequest.chain !== chainOf(head);
  const anchorCount = isRewritten ? lastRequest.count : lastRequest?.anchorCount;
  session.lastRequest = { chain: chainOf(head), count, head, anchorCount };
}

/**
 * Messages of the past have become one each: what was counted is counted anew. The next collapse
 * begins behind these, so a cache breakpoint is kept at their end.
 * @param places of what was replaced, in the history before, in order.
 */
export function noteCollapsed(
  session: Session,
  { head }: Cursor,
  places: readonly { readonly from: number; readonly to: number }[],
): void {
  const { lastRequest } = session;
  if (!lastRequest) return;
  const countAt = (count: number) =>
    places
      .filter(({ to }) => to <= count)
      .reduce((left, { from, to }) => left - (to - from - 1), count);
  session.lastRequest = {
    chain: chainOf(head),
    head,
    count: countAt(lastRequest.count),
    anchorCount: countAt(places.at(-1)?.to ?? 0),
  };
}

/**
 * Where the prompt cache is sure to find something: the end of the last request. When the past was
 * rewritten since then, the place where the rewrite before that had ended is still the same, for
 * stages work from the oldest on; and the end of the last request is where the next one will begin.
 */
function cacheCounts(
  { log, lastRequest }: Session,
  { history }: QueryState,
): Pick<ModelRequest, 'previousCount' | 'anchorCount'> {
  if (!lastRequest) return {};
  const { chain, count: previousCount, anchorCount } = lastRequest;
  if (
    chain === chainOf(history.head) ||
    isSameUpTo(log, lastRequest.head, history.head, anchorCount)
  )
    return { previousCount, ...(anchorCount === undefined ? {} : { anchorCount }) };
  return { previousCount };
}

/** The past may be rewritten anywhere: after a summary nothing is where it was. */
function isSameUpTo(log: MessageLog, before: string, after: string, count = 0): boolean {
  const was = log.at(before);
  const is = log.at(after);
  return count > 0 && was.slice(0, count).every((message, at) => message === is[at]);
}

const chainOf = (head: string): string => head.slice(0, head.indexOf('/'));
