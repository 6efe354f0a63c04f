/** Those who look on at a session and its agents, and the one who may hold it. */
import { randomUUID } from 'node:crypto';
import { costOf } from '../services/model/model-table.ts';
import { buildRequest } from '../services/model/request.ts';
import type { CallModel, ModelEvent, ModelRequest } from '../services/model/types.ts';
import type {
  EngineEvent,
  EngineObserver,
  ObservedAnswer,
  ObservedQuery,
} from './engine-events.ts';
import type { QueryHold } from './query-hold.ts';

export class Watch {
  readonly #observers = new Set<EngineObserver>();
  readonly #broken = new WeakSet<EngineObserver>();
  /** The query that runs for a session or for an agent of it. */
  readonly #running = new WeakMap<object, string>();
  /** Breakpoints. Looked at when a query begins. */
  hold: QueryHold | undefined;
  /** Told once of each observer that has thrown. */
  onBroken: (text: string) => void = () => {};

  get isWatched(): boolean {
    return this.#observers.size > 0;
  }

  /** @returns ends it. */
  observe(observer: EngineObserver): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /** *Contract:* never throws. */
  tell(event: EngineEvent): void {
    for (const observer of this.#observers) {
      try {
        observer(event);
      } catch (error) {
        if (this.#broken.has(observer)) continue;
        this.#broken.add(observer);
        this.onBroken(`an observer of the engine threw: ${String(error)}`);
      }
    }
  }

  /** @param owner the session, or an agent's: its requests belong to this query. */
  began(owner: object, query: ObservedQuery): void {
    this.#running.set(owner, query.queryId);
    this.tell({ type: 'query.began', query });
  }

  ended(owner: object, ended: Omit<Extract<EngineEvent, { type: 'query.ended' }>, 'type'>): void {
    this.#running.delete(owner);
    this.tell({ type: 'query.ended', ...ended });
  }

  queryOf(owner: object): string | undefined {
    return this.#running.get(owner);
  }

  /** The same model, seen. */
  watched(callModel: CallModel, owner: object): CallModel {
    if (known.has(callModel)) return callModel;
    const seen: CallModel = (request) =>
      this.isWatched ? this.#call(callModel, request, owner) : callModel(request);
    known.add(seen);
    return seen;
  }

  /** Wrapped around one that is watched: what goes through it is seen already. */
  asSeen(callModel: CallModel): CallModel {
    known.add(callModel);
    return callModel;
  }

  async *#call(
    callModel: CallModel,
    request: ModelRequest,
    owner: object,
  ): AsyncGenerator<ModelEvent, void, void> {
    const requestId = randomUUID();
    const queryId = this.queryOf(owner);
    const whose = { requestId, ...(queryId === undefined ? {} : { queryId }) };
    const { model, querySource, maxTokens } = request;
    this.tell({
      type: 'request.sent',
      request: {
        ...whose,
        ...{ model, querySource, maxTokens, messages: request.messages.length },
        tools: request.tools.length,
        body: () => buildRequest(request).body,
      },
    });
    // A consumer that leaves hears nothing more: then it was cut off.
    let answer: ObservedAnswer = { ...whose, model, usd: 0, isAborted: true };
    try {
      for await (const event of callModel(request)) {
        if (event.type === 'opened') this.tell({ type: 'request.opened', requestId });
        if (event.type === 'ended' || event.type === 'failed') {
          answer = { ...whose, ...answerOf(event, model) };
        }
        yield event;
      }
    } finally {
      this.tell({ type: 'request.ended', answer });
    }
  }
}

/** Watched already: a model that is given on to others is seen once. */
const known = new WeakSet<CallModel>();

function answerOf(
  event: Extract<ModelEvent, { type: 'ended' | 'failed' }>,
  model: string,
): Omit<ObservedAnswer, 'requestId' | 'queryId'> {
  const { usage } = event;
  const spent = usage ? { usage, usd: costOf(model, usage) ?? null } : { usd: 0 };
  if (event.type === 'ended') {
    return { model, ...spent, stopReason: event.stopReason, isAborted: false };
  }
  return { model, ...spent, failure: event.failure, isAborted: event.isAborted === true };
}
