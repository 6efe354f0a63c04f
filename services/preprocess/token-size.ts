/** How big a message is, before it is known how many tokens the model makes of it. */
import type { ContentBlock, LogMessage, ToolResultContent } from '../messages.ts';
import { imageFacts, isMedia, type MediaBlock, mediaSize } from './media.ts';

/** Where tokens go, for people. `fixed`: system prompt and tool schemas. */
export const categories = [
  'fixed',
  'prompts',
  'answers',
  'thinking',
  'calls',
  'results',
  'media',
  'notes',
  'summaries',
] as const;
export type Category = (typeof categories)[number];

/** Bytes of text of two kinds, and media in tokens. */
export interface TextSize {
  /** Prose and code: about three bytes a token. */
  readonly proseBytes: number;
  /** Logs, JSON, base64, minified code: about two bytes a token. */
  readonly denseBytes: number;
  readonly mediaTokens: number;
}
export const noSize: TextSize = { proseBytes: 0, denseBytes: 0, mediaTokens: 0 };

export const addSizes = (a: TextSize, b: TextSize): TextSize => ({
  proseBytes: a.proseBytes + b.proseBytes,
  denseBytes: a.denseBytes + b.denseBytes,
  mediaTokens: a.mediaTokens + b.mediaTokens,
});

/** An image whose size is not known; also what the largest one costs (the API scales it down). */
const IMAGE_TOKENS = 1_500;
/** The API's own rule for images: pixels / 750. */
const PIXELS_PER_TOKEN = 750;
/** A page goes in as text and as a picture: 1,500 to 3,000 tokens of text alone, says the API. */
const PAGE_TOKENS = 3_000;
/** Each block costs a little beside its text. */
const BLOCK_BYTES = 16;

/** Text is judged by samples of so many characters from its beginning, middle and end. */
const SAMPLE_CHARS = 2_000;
/** Prose and source code have fewer digits and signs than this; JSON, logs and base64 more … */
const DENSE_SHARE = 0.3;
/** … or hardly any white space (base64 has few signs). */
const SPACE_SHARE = 0.03;
/** … with many different characters (a line of equal signs has few, and few tokens). */
const VARIETY_MIN = 20;
/** Too short to be judged. */
const JUDGED_CHARS_MIN = 200;

const isDense = (text: string) => {
  if (text.length < JUDGED_CHARS_MIN) return false;
  const middle = Math.max(0, Math.floor(text.length / 2) - SAMPLE_CHARS / 2);
  const sample =
    text.length <= 3 * SAMPLE_CHARS
      ? text
      : text.slice(0, SAMPLE_CHARS) +
        text.slice(middle, middle + SAMPLE_CHARS) +
        text.slice(-SAMPLE_CHARS);
  const signs = sample.match(/[0-9!-/:-@[-`{-~]/g)?.length ?? 0;
  const spaces = sample.match(/\s/g)?.length ?? 0;
  // Scripts without spaces (Chinese, Japanese) are prose: their characters have three bytes each.
  const letters = sample.match(/[\u0080-\uffff]/g)?.length ?? 0;
  if (letters > sample.length / 4) return false;
  const isTight = spaces / sample.length < SPACE_SHARE && new Set(sample).size >= VARIETY_MIN;
  return isTight || signs / sample.length > DENSE_SHARE;
};

/** Size of a piece of text. */
export const textSize = (text: string): TextSize => {
  const bytes = Buffer.byteLength(text);
  return isDense(text) ? { ...noSize, denseBytes: bytes } : { ...noSize, proseBytes: bytes };
};

/** Tokens of an image or a document. */
export const mediaTokens = (block: MediaBlock): number => {
  const { images, pages } = mediaSize(block);
  if (block.type === 'document') return pages * PAGE_TOKENS + images * IMAGE_TOKENS;
  if (block.source.type !== 'base64') return IMAGE_TOKENS;
  const { width, height } = imageFacts(block.source.data);
  if (!width || !height) return IMAGE_TOKENS;
  return Math.min(IMAGE_TOKENS, Math.ceil((width * height) / PIXELS_PER_TOKEN));
};

const blockText = (block: ContentBlock | ToolResultContent): string => {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'thinking':
      return block.thinking + block.signature;
    case 'redacted_thinking':
      return block.data;
    case 'tool_use':
      return block.name + JSON.stringify(block.input);
    default:
      return JSON.stringify(block);
  }
};

const blockSize = (block: ContentBlock | ToolResultContent): TextSize => {
  if (isMedia(block)) {
    const isText = block.type === 'document' && block.source.type === 'text';
    const text = isText ? textSize(JSON.stringify(block.source)) : noSize;
    return { ...text, mediaTokens: mediaTokens(block) };
  }
  if (block.type === 'tool_result') {
    const { content = '' } = block;
    const parts = typeof content === 'string' ? [textSize(content)] : content.map(blockSize);
    return parts.reduce(addSizes, { ...noSize, denseBytes: block.tool_use_id.length });
  }
  return textSize(blockText(block));
};

const sizes = new WeakMap<LogMessage, TextSize>();
/** Size of a message; measured once. */
export const messageSize = (message: LogMessage): TextSize => {
  const known = sizes.get(message);
  if (known) return known;
  const frame = { ...noSize, proseBytes: BLOCK_BYTES * message.content.length };
  const size = message.content.map(blockSize).reduce(addSizes, frame);
  sizes.set(message, size);
  return size;
};

/** What a message is, for the breakdown; its media are counted apart. */
export const categoryOf = (message: LogMessage): Category => {
  if (message.origin === 'summary') return 'summaries';
  switch (message.kind) {
    case 'thinking':
      return 'thinking';
    case 'tool_use':
      return 'calls';
    case 'tool_result':
      return 'results';
    default:
      if (message.role === 'assistant') return 'answers';
      return message.origin === 'prompt' ? 'prompts' : 'notes';
  }
};
