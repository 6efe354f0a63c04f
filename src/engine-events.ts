/** What an engine tells those who look on: inspectors, tracers, meters. */
import type Anthropic from '@anthropic-ai/sdk';
import type { InspectionEvent } from 'xstate';
import type { Failure, QueryResult, QuerySource, StopReason } from '../machines/state.ts';
import type { LogMessage } from '../services/messages.ts';
import type { Usage } from '../services/model/types.ts';
import type { SDKMessage } from './wire.ts';

/** One run of the chart: a turn of the session, or an agent's work for a call. */
export interface ObservedQuery {
  readonly queryId: string;
  readonly querySource: QuerySource;
  readonly model: string;
  /** The prompt's first words, or the agent's task. */
  readonly title: string;
  /** Of an agent: the call that it works for, and its name. */
  readonly toolUseId?: string;
  readonly agent?: string;
}

/** A request as it goes over the wire. Headers, and with them every key, are not told. */
export interface ObservedRequest {
  readonly requestId: string;
  /** Whose it is; absent between queries (a summary that a person asked for). */
  readonly queryId?: string;
  readonly querySource: QuerySource;
  readonly model: string;
  readonly messages: number;
  readonly tools: number;
  readonly maxTokens: number;
  /** Made when it is asked for, always the same. Costs its size: not for every request. */
  readonly body: () => Anthropic.MessageCreateParamsStreaming;
}

export interface ObservedAnswer {
  readonly requestId: string;
  readonly queryId?: string;
  readonly model: string;
  /** What was reported; absent when nothing was. */
  readonly usage?: Usage;
  /** Dollars; null when the model's price is not known. */
  readonly usd: number | null;
  readonly stopReason?: StopReason;
  readonly failure?: Failure;
  readonly isAborted: boolean;
}

/**
 * One thing that happened. All values are those of the engine, by reference: never change them.
 * @experimental New types come without a major version: pass over what you do not know.
 */
export type EngineEvent =
  | { readonly type: 'query.began'; readonly query: ObservedQuery }
  /** As XState 5 tells it to any inspector. */
  | {
      readonly type: 'query.inspected';
      readonly queryId: string;
      readonly event: InspectionEvent;
    }
  | {
      readonly type: 'query.ended';
      readonly queryId: string;
      /** Absent when the query broke. */
      readonly result?: QueryResult;
    }
  /** A prompt, or a note of the engine, that goes into history before a query. */
  | { readonly type: 'prompt.taken'; readonly message: LogMessage }
  /** As the host hears it, when it hears it. Deltas are not told. */
  | { readonly type: 'message.said'; readonly message: SDKMessage }
  | { readonly type: 'request.sent'; readonly request: ObservedRequest }
  /** The first sign of the answer. */
  | { readonly type: 'request.opened'; readonly requestId: string }
  | { readonly type: 'request.ended'; readonly answer: ObservedAnswer }
  | { readonly type: 'engine.closed' };

/**
 * Told of everything, in order, while it happens.
 * *Contract:* returns at once, for the engine goes on when it has returned. What it throws is told
 * to the host once and changes nothing. Must not call the engine from within.
 * @experimental
 *
 * @example
 * const leave = engine.observe((event) => {
 *   if (event.type === 'request.ended') meter.add(event.answer.model, event.answer.usage);
 * });
 */
export type EngineObserver = (event: EngineEvent) => void;
