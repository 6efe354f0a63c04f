/**
 * What may go into a conversation of the blocks that stand in a file. A file may be written by any
 * program, and cut, merged or edited by hand: one block without what its kind must have would break
 * every reader after this one, and the API refuses it, for ever. So it ends here.
 */
import type { ContentBlock, LogMessage } from '../messages.ts';

export interface SoundBlocks {
  readonly blocks: readonly ContentBlock[];
  /** Blocks that were left out. */
  readonly damaged: number;
}

/** Blocks of kinds that are not known pass. @returns `undefined` for what is no content at all. */
export function soundBlocks(content: unknown): SoundBlocks | undefined {
  if (typeof content === 'string') {
    const isBlank = content.trim() === '';
    return { blocks: isBlank ? [] : [{ type: 'text', text: content }], damaged: 0 };
  }
  if (!Array.isArray(content)) return undefined;
  const blocks = content.filter(isSound);
  return { blocks, damaged: content.length - blocks.length };
}

/** A message as we write it down ourselves; `undefined` when none is left of it. */
export interface SoundMessage {
  readonly message: LogMessage | undefined;
  /** What is no message at all counts as one. */
  readonly damaged: number;
}

export function soundMessage(value: unknown): SoundMessage {
  const sound = isObject(value) ? soundBlocks(value.content) : undefined;
  if (!sound || !isObject(value) || !isNamed(value)) return { message: undefined, damaged: 1 };
  const { blocks, damaged } = sound;
  if (damaged === 0) return { message: value as unknown as LogMessage, damaged };
  const rest = { ...value, content: blocks } as unknown as LogMessage;
  return { message: blocks.length === 0 ? undefined : rest, damaged };
}

const isNamed = ({ uuid, role, content }: Readonly<Record<string, unknown>>) =>
  typeof uuid === 'string' && (role === 'user' || role === 'assistant') && Array.isArray(content);

function isSound(block: unknown): block is ContentBlock {
  if (!isObject(block)) return false;
  switch (block.type) {
    case 'thinking':
      return isText(block.thinking) && isText(block.signature);
    case 'redacted_thinking':
      return isText(block.data);
    case 'tool_use':
      return isText(block.id) && isText(block.name) && isObject(block.input);
    case 'tool_result':
      return isText(block.tool_use_id) && isAnswer(block.content);
    default:
      return isPart(block);
  }
}

/** What a tool has answered. None is an answer, too. */
const isAnswer = (content: unknown): boolean =>
  content === undefined ||
  isText(content) ||
  (Array.isArray(content) && content.every((part) => isObject(part) && isPart(part)));

/** What may also stand in an answer. */
function isPart({ type, text, source }: Readonly<Record<string, unknown>>): boolean {
  if (type === 'text') return isText(text);
  if (type === 'image' || type === 'document') return isObject(source) && isSource(source);
  return isText(type);
}

function isSource({ type, data, media_type }: Readonly<Record<string, unknown>>): boolean {
  if (type === 'base64') return isText(data) && isText(media_type);
  return type === 'text' ? isText(data) : isText(type);
}

const isText = (value: unknown): value is string => typeof value === 'string';

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
