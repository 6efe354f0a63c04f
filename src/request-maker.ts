/** From the chart's state to the request that it stands for. */
import { outputCap, type QueryState } from '../machines/state.ts';
import type { ModelRequest, ThinkingConfig } from '../services/model/types.ts';
import type { QueryConfig } from './config.ts';
import { hasFallenBack, type Session } from './session.ts';

const thinkingOff: ThinkingConfig = { type: 'disabled' };

/** @param primary the model that the turn began with. */
export const requestMaker =
  (session: Session, _config: QueryConfig, primary: string) =>
  (state: QueryState, signal: AbortSignal): ModelRequest => {
    const { log, config, systemPrompt, userContext } = session;
    const { head, count } = state.history;
    const chain = head.slice(0, head.indexOf('/'));
    const previous = session.lastRequest;
    session.lastRequest = { chain, count };
    const { taskBudget } = config;
    return {
      messages: log.at(head),
      ...(previous?.chain === chain ? { previousCount: previous.count } : {}),
      systemPrompt,
      userContext,
      thinking: config.thinkingConfig ?? thinkingOff,
      tools: session.tools(),
      // The host's newest choice counts from the next request on, unless the chart has fallen back.
      model: hasFallenBack(state, primary) ? state.model : (session.chosenModel ?? state.model),
      maxTokens: outputCap(state),
      querySource: state.querySource,
      ...(taskBudget ? { taskBudget: { total: taskBudget.total } } : {}),
      signal,
    };
  };
