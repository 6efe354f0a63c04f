/**
 * Rules that a block can break by itself: S3 (input, name), S4, S5, S10, S12, S13, and the role that
 * it may stand in. Thinking is never edited, only kept or left out whole.
 */
import type { ContentBlock, LogMessage, ToolResultBlock, ToolUseBlock } from '../messages.ts';
import { deepWellFormed } from '../well-formed.ts';
import { imageFacts, type MediaBlock, mediaSize, replaceMedia } from './media.ts';
import { revise } from './revise.ts';

/** What the API takes of media; source: `strict-rules` S12, S13. Replaceable for other servers. */
export interface MediaLimits {
  /** One image, characters of base64. */
  readonly imageCharsMax: number;
  /** One side of an image, pixels. */
  readonly imageSideMax: number;
  /** Images in one request. */
  readonly imagesMax: number;
  /** PDF pages in one request. */
  readonly pagesMax: number;
  /** All messages of a request, bytes of JSON: below the API's 32 MB, room for system and tools. */
  readonly messagesBytesMax: number;
}
export const defaultMediaLimits: MediaLimits = {
  imageCharsMax: 5_242_880,
  imageSideMax: 8_000,
  imagesMax: 100,
  pagesMax: 100,
  messagesBytesMax: 30 * 1024 * 1024,
};

/** The API's rule for the name of a call; longest that all servers take. */
const NAME_CHARS_MAX = 64;
/** What a tool says that says nothing: the API refuses empty text. */
const NO_OUTPUT = '(no output)';

const isBlank = (text: string) => text.trim() === '';
const isThinking = (block: ContentBlock) =>
  block.type === 'thinking' || block.type === 'redacted_thinking';
/** `tool_result` of ours, not one of the server's tools (`web_search_tool_result`, …). */
const onlyUser = (block: ContentBlock) =>
  block.type === 'tool_result' || block.type === 'image' || block.type === 'document';
const onlyAssistant = (block: ContentBlock) =>
  isThinking(block) || block.type.endsWith('tool_use') || block.type.endsWith('_tool_result');

const legalName = (name: unknown) =>
  String(name ?? '')
    .replace(/[^a-zA-Z0-9_-]/g, '_')
    .slice(0, NAME_CHARS_MAX) || 'unknown';
const legalCall = (block: ToolUseBlock, note: (repair: string) => void): ToolUseBlock => {
  const { input } = block;
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  if (!isObject) note(`the input of call ${block.id} was no object: {} in its place`);
  const isNamed = /^[a-zA-Z0-9_-]{1,128}$/.test(block.name);
  const name = isNamed ? block.name : legalName(block.name);
  if (!isNamed) note(`the tool name of call ${block.id} was not legal: ${name} in its place`);
  return isObject && isNamed ? block : { ...block, input: isObject ? input : {}, name };
};

const legalResult = (block: ToolResultBlock, note: (repair: string) => void): ToolResultBlock => {
  const { content } = block;
  if (block.is_error && typeof content === 'object' && content.some((b) => b.type !== 'text')) {
    note(`what is no text in the failed result of call ${block.tool_use_id} was left out`);
    const words = content.map((b) =>
      b.type === 'text' ? b : ({ type: 'text', text: `[${b.type} left out]` } as const),
    );
    return legalResult({ ...block, content: words }, note);
  }
  const told = typeof content === 'object' ? content.filter((b) => !isBlankText(b)) : content;
  const isEmpty = told === undefined || (typeof told === 'string' ? isBlank(told) : !told.length);
  if (isEmpty) {
    note(`the result of call ${block.tool_use_id} was empty: "${NO_OUTPUT}" in its place`);
    return { ...block, content: NO_OUTPUT };
  }
  if (told.length === content?.length) return block;
  note(`empty text in the result of call ${block.tool_use_id} was left out`);
  return { ...block, content: told };
};
const isBlankText = (block: { readonly type: string; readonly text?: unknown }) =>
  block.type === 'text' && (typeof block.text !== 'string' || isBlank(block.text));

/** Why an image or a document cannot be sent, in the words that stand in its place. */
const refusal = (block: MediaBlock, limits: MediaLimits): string | undefined => {
  const { chars, pages } = mediaSize(block);
  if (block.type === 'document')
    return pages > limits.pagesMax
      ? `[document left out: ${pages} pages, at most ${limits.pagesMax} can be sent]`
      : undefined;
  if (block.source.type !== 'base64') return undefined;
  if (chars > limits.imageCharsMax)
    return `[image left out: ${chars} characters of base64, at most ${limits.imageCharsMax} can be sent]`;
  const { width = 0, height = 0 } = imageFacts(block.source.data);
  return Math.max(width, height) > limits.imageSideMax
    ? `[image left out: ${width} x ${height} pixels, at most ${limits.imageSideMax} on a side]`
    : undefined;
};

/** The media type must be the real one. Bytes that tell nothing are left to the API to judge. */
const legalImage = <B extends { readonly type: string }>(
  block: B | MediaBlock,
  note: (repair: string) => void,
): B | MediaBlock => {
  if (!('source' in block) || block.type !== 'image' || block.source.type !== 'base64')
    return block;
  const { type } = imageFacts(block.source.data);
  if (type === undefined || type === block.source.media_type) return block;
  note(`an image said to be ${block.source.media_type} is ${type}`);
  return { ...block, source: { ...block.source, media_type: type } };
};

/** S10. `undefined`: nothing of it can be sent. */
const sendable = (block: ContentBlock): ContentBlock | undefined => {
  try {
    return deepWellFormed(block);
  } catch {
    return block.type === 'tool_use' ? { ...block, input: {} } : undefined;
  }
};

/**
 * One message made legal in itself.
 * @returns the message itself when it was; `undefined` when nothing is left of it.
 */
export const legalMessage = (
  message: LogMessage,
  limits: MediaLimits,
  note: (repair: string) => void,
): LogMessage | undefined => {
  const kept = message.content.flatMap((block): readonly ContentBlock[] => {
    const misplaced = message.role === 'assistant' ? onlyUser(block) : onlyAssistant(block);
    if (misplaced) {
      note(`${block.type} cannot stand in a message of the ${message.role}: left out`);
      return [];
    }
    if (isBlankText(block)) {
      note(`an empty text block of the ${message.role} was left out`);
      return [];
    }
    const clean = sendable(block);
    if (clean !== block) {
      note(`what cannot be sent as JSON (half characters, deep nesting) in ${block.type} went`);
      // Signed: changed thinking would be refused, so it goes as a whole.
      if (clean === undefined || isThinking(block)) return [];
    }
    if (clean.type === 'tool_use') return [legalCall(clean, note)];
    if (clean.type === 'image') return [legalImage(clean, note)];
    if (clean.type !== 'tool_result') return [clean];
    const result = legalResult(clean, note);
    if (typeof result.content !== 'object') return [result];
    const inside = result.content.map((part) => legalImage(part, note));
    const same = inside.every((part, at) => part === result.content?.[at]);
    return [same ? result : { ...result, content: inside }];
  });
  if (kept.length === 0) {
    if (message.content.length === 0) note(`an empty message of the ${message.role} was left out`);
    return undefined;
  }
  const results = kept.filter((block) => block.type === 'tool_result');
  const ordered = [...results, ...kept.filter((block) => block.type !== 'tool_result')];
  if (ordered.some((block, at) => block !== kept[at]))
    note('tool results were moved in front of the rest of their message');
  const same =
    ordered.length === message.content.length &&
    ordered.every((block, at) => block === message.content[at]);
  return replaceMedia(same ? message : revise(message, ordered), (block) => {
    const text = refusal(block, limits);
    if (text) note(text.slice(1, -1));
    return text;
  });
};
