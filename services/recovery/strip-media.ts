/** The rung of the ladder that takes images and documents out of a request that was refused. */
import type { QueryEvent } from '../../machines/events.ts';
import type { QueryState } from '../../machines/state.ts';
import type { MessageLog } from '../message-log.ts';
import type { LogMessage } from '../messages.ts';
import { projectMessages } from '../model/request.ts';
import { addTotals, noMedia } from '../preprocess/legal-media.ts';
import { isMedia, type MediaBlock, mediaOf, mediaSize, replaceMedia } from '../preprocess/media.ts';
import type { Tell } from '../preprocess/stage.ts';
import type { TokenCounter } from '../preprocess/token-count.ts';
import { unbindThinking } from '../preprocess/unbind-thinking.ts';
import type { SharedParts } from './ask-summary.ts';

export type StripAnswer = Extract<QueryEvent, { type: 'media.stripped' | 'media.absent' }>;
export interface StripMediaDeps {
  readonly log: MessageLog;
  readonly counter: TokenCounter;
  readonly partsOf: (state: QueryState) => Pick<SharedParts, 'model' | 'userContext'>;
  readonly tell: Tell;
  /** Messages as they stand now, so that a resumed session need not be refused once more. */
  readonly onStripped: (changed: readonly LogMessage[]) => void;
}

/** Down to this part of the bytes that were refused: nobody knows what the server would take. */
const BYTES_SHARE_LEFT = 0.5;

/** `messages.3.content.0.image…`, `messages.3.content.0.tool_result.content.1.image…` */
const PLACE = /messages\.(\d+)\.content\.(\d+)(?:\.tool_result)?(?:\.content\.(\d+))?/;

/** The block that the API names in its refusal, if it names one. */
const namedBlock = (
  detail: string,
  messages: readonly LogMessage[],
  parts: Pick<SharedParts, 'model' | 'userContext'>,
): MediaBlock | undefined => {
  const [, message, block, inside] = PLACE.exec(detail) ?? [];
  if (message === undefined || block === undefined) return undefined;
  const { messages: sent } = projectMessages(messages, parts);
  const outer = sent[Number(message)]?.content[Number(block)];
  if (!outer) return undefined;
  if (outer.type !== 'tool_result') return isMedia(outer) ? outer : undefined;
  const { content } = outer;
  if (typeof content !== 'object') return undefined;
  const media = content.filter(isMedia);
  const named = inside === undefined ? undefined : content[Number(inside)];
  if (named) return isMedia(named) ? named : undefined;
  return media.length === 1 ? media[0] : undefined;
};

/** Which blocks go: the one that was named, all, or the oldest half of the bytes. */
const chooseBlocks = (
  state: QueryState,
  messages: readonly LogMessage[],
  parts: Pick<SharedParts, 'model' | 'userContext'>,
): ReadonlySet<MediaBlock> => {
  const all = messages.flatMap(mediaOf);
  if (state.withheld?.class !== 'request_too_large') {
    const named = namedBlock(state.withheld?.detail ?? '', messages, parts);
    return new Set(named && all.includes(named) ? [named] : all);
  }
  const { bytes } = addTotals(noMedia, messages);
  let over = bytes * (1 - BYTES_SHARE_LEFT);
  const going = new Set<MediaBlock>();
  for (const block of all) {
    if (over <= 0) break;
    going.add(block);
    over -= mediaSize(block).chars;
  }
  return going;
};

/** Replaced by a text that says so, also in prompts: the answer to a call stays an answer. */
export const createStripMedia =
  ({ log, counter, partsOf, tell, onStripped }: StripMediaDeps) =>
  async (state: QueryState): Promise<StripAnswer> => {
    const { history } = state;
    const messages = log.at(history.head);
    const going = chooseBlocks(state, messages, partsOf(state));
    if (going.size === 0) return { type: 'media.absent' };
    const isTooLarge = state.withheld?.class === 'request_too_large';
    const why = isTooLarge ? 'the request had too many bytes' : 'the API refused it';
    const stripped = messages.map((message) =>
      replaceMedia(message, (block) =>
        going.has(block) ? `[${block.type} left out: ${why}]` : undefined,
      ),
    );
    const before = counter.estimate(history.head);
    const firstChanged = messages.findIndex((message, at) => message !== stripped[at]);
    const next = unbindThinking(stripped, firstChanged);
    onStripped(next.filter((message, at) => message !== messages[at]));
    const { head, count } = log.rewriteFrom(history.head, next, 0);
    counter.noteRewrite(history.head, head);
    const tokens = counter.estimate(head);
    const changed = messages.filter((message, at) => message !== stripped[at]);
    tell({
      type: 'contextEdit',
      stage: 'media_strip',
      tokensFreed: Math.max(0, before - tokens),
      ids: changed.map(({ uuid }) => uuid),
    });
    const left = stripped.flatMap(mediaOf).length;
    return { type: 'media.stripped', history: { head, count, tokens }, left };
  };
