/** Images and documents in a history: where they are, how big they are, and how they are left out. */
import type { ContentBlock, LogMessage, ToolResultContent } from '../messages.ts';
import { revise } from './revise.ts';

export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
export interface ImageFacts {
  /** By its first bytes; `undefined` when they say nothing. */
  readonly type: ImageType | undefined;
  /** Pixels; `undefined` when the header does not tell. */
  readonly width: number | undefined;
  readonly height: number | undefined;
}
/** The block kinds that are media. A document of plain text counts too: it is stripped like one. */
export type MediaBlock = Extract<ContentBlock, { type: 'image' | 'document' }>;

export const isMedia = (block: { readonly type: string }): block is MediaBlock =>
  block.type === 'image' || block.type === 'document';

/** Header bytes that are looked at. JPEG sizes stand behind the metadata, which may be long. */
const HEADER_BASE64_CHARS = 256 * 1024;

const unknownImage: ImageFacts = { type: undefined, width: undefined, height: undefined };

/** JPEG: walk the segments to the frame header (SOF0–SOF15 without DHT, JPG and DAC). */
const jpegSize = (bytes: Buffer) => {
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes.readUInt8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return { width: undefined, height: undefined };
};
/** WebP: three encodings, each with its own place for the size. */
const webpSize = (bytes: Buffer) => {
  const kind = bytes.toString('latin1', 12, 16);
  if (kind === 'VP8X' && bytes.length >= 30)
    return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  if (kind === 'VP8 ' && bytes.length >= 30)
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  if (kind === 'VP8L' && bytes.length >= 25) {
    const bits = bytes.readUInt32LE(21);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  return { width: undefined, height: undefined };
};
/** What an image really is, from its bytes. Never throws. */
export const imageFacts = (base64: string): ImageFacts => {
  const bytes = Buffer.from(base64.slice(0, HEADER_BASE64_CHARS), 'base64');
  if (bytes.length < 10) return unknownImage;
  const latin = bytes.toString('latin1', 0, 12);
  if (latin.startsWith('\x89PNG\r\n'))
    return bytes.length < 24
      ? { ...unknownImage, type: 'image/png' }
      : { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  if (latin.startsWith('GIF8'))
    return { type: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
  if (latin.startsWith('RIFF') && latin.endsWith('WEBP'))
    return { type: 'image/webp', ...webpSize(bytes) };
  if (latin.startsWith('\xff\xd8\xff')) return { type: 'image/jpeg', ...jpegSize(bytes) };
  return unknownImage;
};

/** Pages of a PDF whose page tree is packed are counted by size: about so many bytes a page. */
const PDF_PAGE_BYTES = 100_000;
/**
 * Pages of a PDF: the largest `/Count` of its page tree, else its page objects, else a guess by
 * size (newer files pack the tree into compressed streams).
 */
export const pdfPages = (base64: string): number => {
  const text = Buffer.from(base64, 'base64').toString('latin1');
  const counts = [...text.matchAll(/\/Count\s+(\d{1,6})\b/g)].map((match) => Number(match[1]));
  const objects = text.match(/\/Type\s*\/Page\b(?!s)/g)?.length ?? 0;
  const known = Math.max(objects, ...counts, 0);
  return known > 0 ? known : Math.max(1, Math.round(text.length / PDF_PAGE_BYTES));
};

/** Size of one image or document. */
export interface MediaSize {
  readonly images: number;
  readonly pages: number;
  /** Characters of base64, or of text in a text document. */
  readonly chars: number;
}
const sizes = new WeakMap<object, MediaSize>();
const measure = (block: MediaBlock): MediaSize => {
  const { source } = block;
  if (block.type === 'image')
    return { images: 1, pages: 0, chars: source.type === 'base64' ? source.data.length : 0 };
  if (source.type === 'base64')
    return { images: 0, pages: pdfPages(source.data), chars: source.data.length };
  const inside = source.type === 'content' && Array.isArray(source.content) ? source.content : [];
  const images = inside.filter((part) => part.type === 'image').length;
  return { images, pages: 0, chars: JSON.stringify(source).length };
};
/** Measured once for each block: a PDF has to be read to count its pages. */
export const mediaSize = (block: MediaBlock): MediaSize => {
  const known = sizes.get(block);
  if (known) return known;
  const size = measure(block);
  sizes.set(block, size);
  return size;
};

/** All media of a message, those in tool results too, in order. */
export const mediaOf = (message: LogMessage): readonly MediaBlock[] =>
  message.content.flatMap((block): readonly MediaBlock[] => {
    if (isMedia(block)) return [block];
    if (block.type !== 'tool_result' || typeof block.content !== 'object') return [];
    return block.content.filter(isMedia);
  });

/**
 * A message with media replaced by text.
 * @param left what to say in place of a block; `undefined`: the block stays.
 * @returns the message itself when nothing was replaced.
 */
export const replaceMedia = (
  message: LogMessage,
  left: (block: MediaBlock) => string | undefined,
): LogMessage => {
  let changed = false;
  const swap = <B extends ContentBlock | ToolResultContent>(block: B) => {
    const text = isMedia(block) ? left(block) : undefined;
    if (text === undefined) return block;
    changed = true;
    return { type: 'text', text } as const;
  };
  const content = message.content.map((block): ContentBlock => {
    if (block.type !== 'tool_result' || typeof block.content !== 'object') return swap(block);
    const inside = block.content.map(swap);
    const same = inside.every((part, at) => part === block.content?.[at]);
    return same ? block : { ...block, content: inside };
  });
  return changed ? revise(message, content) : message;
};
