/**
 * Rules about all media of a request together: number of images, pages of documents, bytes (S12,
 * S13, S14). The oldest go first, and a few more than must: each change costs the prompt cache.
 */
import type { ContentBlock, LogMessage, ToolResultContent } from '../messages.ts';
import type { MediaLimits } from './legal-blocks.ts';
import { isMedia, type MediaBlock, mediaOf, mediaSize, replaceMedia } from './media.ts';

export interface MediaTotals {
  readonly images: number;
  readonly pages: number;
  /** Of all messages as JSON. */
  readonly bytes: number;
}
export const noMedia: MediaTotals = { images: 0, pages: 0, bytes: 0 };

/** Down to this part of a limit, so that the next picture does not break the cache again. */
const ROOM_LEFT = 0.8;

const known = new WeakMap<LogMessage, MediaTotals>();
/** What a media block weighs beside its data. */
const MEDIA_FRAME_BYTES = 128;
const bytesOf = (block: ContentBlock | ToolResultContent): number => {
  if (isMedia(block)) return MEDIA_FRAME_BYTES;
  if (block.type === 'tool_result' && typeof block.content === 'object')
    return block.content.map(bytesOf).reduce((sum, bytes) => sum + bytes, MEDIA_FRAME_BYTES);
  return Buffer.byteLength(JSON.stringify(block));
};
/** Size of one message; measured once. Base64 is ASCII: its bytes are its characters. */
export const totalsOf = (message: LogMessage): MediaTotals => {
  const seen = known.get(message);
  if (seen) return seen;
  const media = mediaOf(message).map(mediaSize);
  const totals = {
    images: media.reduce((sum, size) => sum + size.images, 0),
    pages: media.reduce((sum, size) => sum + size.pages, 0),
    bytes:
      message.content.reduce((sum, block) => sum + bytesOf(block), 0) +
      media.reduce((sum, size) => sum + size.chars, 0),
  };
  known.set(message, totals);
  return totals;
};

/** Sizes added up. */
export const addTotals = (totals: MediaTotals, messages: readonly LogMessage[]): MediaTotals =>
  messages.map(totalsOf).reduce(
    (sum, size) => ({
      images: sum.images + size.images,
      pages: sum.pages + size.pages,
      bytes: sum.bytes + size.bytes,
    }),
    totals,
  );

/** Is something to be left out? Text alone is never: a summary has to cure that. */
export const mediaOverflows = (totals: MediaTotals, limits: MediaLimits): boolean =>
  totals.images > limits.imagesMax ||
  totals.pages > limits.pagesMax ||
  (totals.bytes > limits.messagesBytesMax && totals.images + totals.pages > 0);

/** Leaves out what does not fit, oldest first. The same array when everything fits. */
export const fitMedia = (
  messages: readonly LogMessage[],
  limits: MediaLimits,
  note: (repair: string) => void,
): readonly LogMessage[] => {
  let totals = addTotals(noMedia, messages);
  if (!mediaOverflows(totals, limits)) return messages;
  const down = (part: keyof MediaTotals, max: number) =>
    totals[part] > max ? Math.floor(max * ROOM_LEFT) : max;
  const goal = {
    images: down('images', limits.imagesMax),
    pages: down('pages', limits.pagesMax),
    bytes: down('bytes', limits.messagesBytesMax),
  };
  const leave = (block: MediaBlock) => {
    const { images, pages, chars } = mediaSize(block);
    const helps =
      (totals.images > goal.images && images > 0) ||
      (totals.pages > goal.pages && pages > 0) ||
      totals.bytes > goal.bytes;
    if (!helps) return undefined;
    totals = {
      images: totals.images - images,
      pages: totals.pages - pages,
      bytes: totals.bytes - chars,
    };
    note(`an old ${block.type} was left out: the request had too much media`);
    return `[${block.type} left out: it was among the oldest, and a request can carry only so much]`;
  };
  return messages.map((message) => replaceMedia(message, leave));
};
