/** What a server answers to `tools/call`, as the output of a tool. */
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '../is-record.ts';
import { makeFolder } from '../make-folder.ts';
import { messageOf } from '../message-of.ts';
import type { ToolResultContent } from '../messages.ts';
import { clipEnd } from '../tools/process/clip.ts';
import { amount } from '../tools/text/amounts.ts';
import type { ToolContext, ToolOutput } from '../tools/tool.ts';

/** The API's limit for an image, in characters of base64. */
const IMAGE_CHARS_MAX = 5_242_880;
/** With more images in a request the API demands smaller ones. */
const IMAGES_MAX = 20;
/**
 * Of all texts together. What is merely long is moved to a file later; more than this would be cut
 * before it gets there, so a text that does not fit goes to a file of its own here, whole.
 */
const TEXT_CHARS_MAX = 8_000_000;
/** Of a text in a file: enough to see what it is. */
const PREVIEW_CHARS = 2_000;
/** Written at a time, so that no second copy of a huge text is made. */
const SLICE_CHARS = 1 << 20;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Text stays as it is, images that the API takes go as images, everything else goes to a file of
 * the session whose path is told. *Contract:* never throws, whatever the server has sent.
 */
export async function outputOf(result: unknown, context: ToolContext): Promise<ToolOutput> {
  if (!isRecord(result)) return { content: JSON.stringify(result) ?? '' };
  const { content, structuredContent } = result;
  const isError = result.isError === true;
  const blocks: ToolResultContent[] = [];
  let images = 0;
  let charsLeft = TEXT_CHARS_MAX;
  for (const [index, block] of (Array.isArray(content) ? content : []).entries()) {
    const place = { context, index, mayShow: !isError && images < IMAGES_MAX };
    const made = await fitting(await blockOf(block, place), charsLeft, place);
    if (made.type === 'image') images += 1;
    if (made.type === 'text') charsLeft -= made.text.length;
    blocks.push(made);
  }
  if (blocks.length === 0 && structuredContent !== undefined) {
    const whole = text(JSON.stringify(structuredContent));
    blocks.push(await fitting(whole, charsLeft, { context, index: 0, mayShow: false }));
  }
  return {
    content: simplest(blocks),
    ...(isError ? { isError } : {}),
    ...(structuredContent === undefined ? {} : { data: structuredContent }),
  };
}

/** One text is sent as a string: smaller, and byte-identical to what the server said. */
function simplest(blocks: readonly ToolResultContent[]): ToolOutput['content'] {
  const [first, ...others] = blocks;
  if (!first) return '';
  return first.type === 'text' && others.length === 0 ? first.text : blocks;
}

interface Place {
  readonly context: ToolContext;
  readonly index: number;
  readonly mayShow: boolean;
}

async function blockOf(block: unknown, place: Place): Promise<ToolResultContent> {
  if (!isRecord(block)) return text(JSON.stringify(block) ?? '');
  switch (block.type) {
    case 'text':
      return text(textOf(block.text));
    case 'image':
    case 'audio':
      return binary(textOf(block.data), textOf(block.mimeType), place);
    case 'resource':
      return resource(block.resource, place);
    case 'resource_link': {
      const { name, uri, description } = block;
      const about = textOf(description) ? `: ${textOf(description)}` : '';
      return text(`Resource ${textOf(name) || 'without a name'} at ${textOf(uri)}${about}`);
    }
    default:
      return text(JSON.stringify(block));
  }
}

async function resource(value: unknown, place: Place): Promise<ToolResultContent> {
  if (!isRecord(value)) return text(JSON.stringify(value) ?? '');
  if (typeof value.text === 'string') {
    return text(`Resource ${textOf(value.uri)}:\n${value.text}`);
  }
  return typeof value.blob === 'string'
    ? binary(value.blob, textOf(value.mimeType), place)
    : text(JSON.stringify(value));
}

const text = (said: string): ToolResultContent => ({ type: 'text', text: said });

/** A block that has room, or where all of its text is. */
async function fitting(
  block: ToolResultContent,
  charsLeft: number,
  place: Place,
): Promise<ToolResultContent> {
  if (block.type !== 'text' || block.text.length <= charsLeft) return block;
  const { text: whole } = block;
  const begin = clipEnd(whole, PREVIEW_CHARS);
  const path = pathFor(place, 'txt');
  try {
    await writeText(path, whole, place.context);
    return text(
      `(A text of ${amount(whole.length)} characters. All of it is in the file ${path}: read a part of it (offset, limit) or search in it. It begins:)\n\n${begin}`,
    );
  } catch (error) {
    const left = whole.length - begin.length;
    return text(
      `${begin}\n(${amount(left)} more characters were left out, they could not be saved: ${messageOf(error)})`,
    );
  }
}

async function writeText(path: string, whole: string, context: ToolContext): Promise<void> {
  makeFolder(context.resultsFolder, 0o700);
  const file = await open(path, 'w', 0o600);
  try {
    for (let from = 0; from < whole.length; ) {
      // Half of a character is not written: the other half goes along.
      const end = from + SLICE_CHARS;
      const isHalf = /[\ud800-\udbff]/.test(whole.charAt(end - 1));
      const slice = whole.slice(from, isHalf ? end + 1 : end);
      await file.writeFile(slice);
      from += slice.length;
    }
  } finally {
    await file.close();
  }
}

function pathFor({ context, index }: Place, extension: string): string {
  const id = context.toolUseId.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 100);
  return join(context.resultsFolder, `${id}-${index}.${extension}`);
}

type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

/** By its first bytes: what a server says is often wrong, and the API refuses a wrong type. */
function imageTypeOf(base64: string): ImageType | undefined {
  const head = Buffer.from(base64.slice(0, 24), 'base64').toString('latin1');
  if (head.startsWith('\x89PNG')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (head.startsWith('GIF8')) return 'image/gif';
  return head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP' ? 'image/webp' : undefined;
}

async function binary(data: string, mimeType: string, place: Place): Promise<ToolResultContent> {
  const imageType = imageTypeOf(data);
  if (imageType && place.mayShow && data.length <= IMAGE_CHARS_MAX) {
    return { type: 'image', source: { type: 'base64', media_type: imageType, data } };
  }
  const bytes = Buffer.from(data, 'base64');
  const what = `${mimeType || 'binary data'}, ${bytes.length} bytes`;
  const extension = /^\w+\/([a-z0-9]{1,8})/.exec(mimeType)?.[1] ?? 'bin';
  const path = pathFor(place, extension);
  try {
    makeFolder(place.context.resultsFolder, 0o700);
    await writeFile(path, bytes, { mode: 0o600 });
    return text(`(${what}: saved as ${path})`);
  } catch (error) {
    return text(`(${what}: left out, it could not be saved: ${messageOf(error)})`);
  }
}
