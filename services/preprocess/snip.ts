/** Drops the oldest turns, on request of the host or above a number of messages. */
import type { MessageLog } from '../message-log.ts';
import type { LogMessage } from '../messages.ts';
import { isRequest, piecesOf } from '../recovery/split-history.ts';
import { pass, type Stage, type Tell } from './stage.ts';
import type { TokenCounter } from './token-count.ts';
import { unbindThinking } from './unbind-thinking.ts';

export interface Snipped {
  /** Uuids of what was dropped: a store of messages drops the same. */
  readonly dropped: readonly string[];
  /** Stands in their place. */
  readonly boundary: LogMessage;
}
export interface SnipDeps {
  readonly log: MessageLog;
  readonly counter: TokenCounter;
  readonly tell: Tell;
  /** `historySnip.maxMessages`; `undefined`: no bound. Read at each use. */
  readonly messagesMax: () => number | undefined;
  /** Takes the host's wish: the uuid of the message before which all goes. */
  readonly takeRequest: () => string | undefined;
  /** Uuids of what a message stands for; mostly its own. */
  readonly namesOf?: (message: LogMessage) => readonly string[];
  readonly onSnipped: (snipped: Snipped) => void;
  readonly uuid: () => string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Above its bound a history is cut to this part of it, so that the next round does not cut again. */
const SHARE_KEPT = 0.5;

/** *Contract:* cuts between rounds only; the last request and the last round always stay. */
export function createSnip(deps: SnipDeps): Stage {
  const { log, counter, tell } = deps;
  const namesOf = deps.namesOf ?? (({ uuid }: LogMessage) => [uuid]);

  /** Index of the first message that should stay; 0: all of them. */
  const wantedFrom = (messages: readonly LogMessage[], request: string | undefined) => {
    if (request !== undefined)
      return messages.findIndex((message) => namesOf(message).includes(request));
    const max = deps.messagesMax();
    if (max === undefined || messages.length <= max) return 0;
    return messages.length - Math.max(1, Math.floor(max * SHARE_KEPT));
  };

  /** The last place to cut at or before the wanted one: rather one round more than half of one. */
  const cutAt = (messages: readonly LogMessage[], wanted: number) => {
    let from = 0;
    let at = 0;
    const pieces = piecesOf(messages);
    const lastRound = pieces.findLastIndex((piece) => piece.hasAnswer);
    pieces.forEach((piece, index) => {
      if (at <= wanted && index <= lastRound) from = at;
      at += piece.messages.length;
    });
    return from;
  };

  return async (state, signal) => {
    const { history } = state;
    const request = deps.takeRequest();
    const max = deps.messagesMax();
    if (request === undefined && (max === undefined || history.count <= max))
      return pass(state, signal);
    const messages = log.at(history.head);
    const from = cutAt(messages, wantedFrom(messages, request));
    const last = messages.findLast(isRequest);
    const dropped = messages.slice(0, from).filter((message) => message !== last);
    if (dropped.length === 0) return pass(state, signal);
    const ids = dropped.flatMap(namesOf);
    const boundary: LogMessage = {
      uuid: deps.uuid(),
      timestamp: new Date(deps.now()).toISOString(),
      role: 'user',
      kind: 'note',
      origin: 'nudge',
      isMeta: true,
      content: [{ type: 'text', text: `(The ${ids.length} messages before this were dropped.)` }],
    };
    const gone = new Set(dropped);
    const rest = messages.filter((message) => !gone.has(message));
    const kept = [boundary, ...unbindThinking(rest, 0)];
    const before = counter.estimate(history.head);
    const { head, count } = log.rewrite(kept, 0);
    counter.noteRewrite(history.head, head);
    const tokens = counter.estimate(head);
    deps.onSnipped({ dropped: ids, boundary });
    tell({ type: 'contextEdit', stage: 'snip', tokensFreed: Math.max(0, before - tokens), ids });
    return { type: 'stage.done', history: { head, count, tokens }, usd: 0 };
  };
}
