/**
 * What may go into a conversation of the blocks that others make: hosts, tools, servers, hooks, and
 * the file of a session, which may be cut, merged or edited by hand. One block without what its kind
 * must have would break every reader after this one, and the API refuses it, for ever. So it ends
 * here.
 */
import { isRecord } from '../is-record.ts';
import { jsonFault } from '../json-fault.ts';
import type { ContentBlock, LogMessage } from '../messages.ts';
import { deepWellFormed } from '../well-formed.ts';

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
  const sound = isRecord(value) ? soundBlocks(value.content) : undefined;
  if (!sound || !isRecord(value) || !isNamed(value)) return { message: undefined, damaged: 1 };
  const { blocks, damaged } = sound;
  if (damaged === 0) return { message: value as unknown as LogMessage, damaged };
  const rest = { ...value, content: blocks } as unknown as LogMessage;
  return { message: blocks.length === 0 ? undefined : rest, damaged };
}

const isNamed = ({ uuid, role, content }: Readonly<Record<string, unknown>>) =>
  typeof uuid === 'string' && (role === 'user' || role === 'assistant') && Array.isArray(content);

const isSound = (block: unknown): block is ContentBlock => blockFlaw(block) === undefined;

/**
 * Why a block can be read by nobody, and would be refused by the API for ever: for people, as the
 * end of a sentence that begins with its place. `undefined`: it is sound.
 */
export function blockFlaw(block: unknown): string | undefined {
  if (!isRecord(block))
    return `is ${nameOf(block)}, and no block: {"type":"text","text":"…"} is one`;
  switch (block.type) {
    case 'thinking':
      return lacksText(block, 'thinking', 'signature');
    case 'redacted_thinking':
      return lacksText(block, 'data');
    case 'tool_use':
      return (
        lacksText(block, 'id', 'name') ?? lacks(isRecord(block.input), block, 'an object', 'input')
      );
    case 'tool_result':
      return lacksText(block, 'tool_use_id') ?? answerFlaw(block);
    default:
      return partFlaw(block);
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** What a tool has answered. None is an answer, too. */
function answerFlaw(block: Fields): string | undefined {
  const { content } = block;
  if (content === undefined || isText(content)) return undefined;
  return (
    lacks(Array.isArray(content), block, 'a text or a list of blocks', 'content') ?? inside(content)
  );
}

/** The first flaw in a list. */
const inside = (content: unknown): string | undefined => {
  if (!Array.isArray(content)) return undefined;
  for (const [at, part] of content.entries()) {
    const flaw = isRecord(part) ? partFlaw(part) : blockFlaw(part);
    if (flaw !== undefined) return `has a content[${at}] that ${flaw}`;
  }
  return undefined;
};

/** What may also stand in an answer. */
function partFlaw(block: Fields): string | undefined {
  switch (block.type) {
    case 'text':
      return lacksText(block, 'text');
    case 'image':
    case 'document':
      return isRecord(block.source)
        ? sourceFlaw(block, block.source)
        : lacks(
            false,
            block,
            'an object such as {"type":"base64","media_type":"…","data":"…"}',
            'source',
          );
    case 'search_result':
      return (
        lacksText(block, 'source', 'title') ??
        lacks(Array.isArray(block.content), block, 'a list of blocks', 'content') ??
        inside(block.content)
      );
    case 'tool_reference':
      return lacksText(block, 'tool_name');
    default:
      return isText(block.type) ? undefined : 'is a block without a type: give "type" a text';
  }
}

/** Kinds of later days pass. */
function sourceFlaw(block: Fields, source: Fields): string | undefined {
  const flaw = (...names: readonly string[]) =>
    lacksText(block, ...names.map((name) => `source.${name}`));
  switch (source.type) {
    case 'base64':
      return flaw('data', 'media_type');
    case 'text':
      return flaw('data');
    case 'url':
      return flaw('url');
    case 'file':
      return flaw('file_id');
    case 'content':
      return isText(source.content)
        ? undefined
        : (lacks(
            Array.isArray(source.content),
            block,
            'a text or a list of blocks',
            'source.content',
          ) ?? inside(source.content));
    default:
      return flaw('type');
  }
}

const lacksText = (block: Fields, ...names: readonly string[]): string | undefined => {
  const lost = names.find((name) => !isText(at(block, name)));
  return lost === undefined ? undefined : lacks(false, block, 'a text', lost);
};

const lacks = (
  isThere: boolean,
  block: Fields,
  wanted: string,
  name: string,
): string | undefined =>
  isThere
    ? undefined
    : `is of the type ${String(block.type)}, and its "${name}" is ${nameOf(at(block, name))}: give it ${wanted}`;

/** A field, or one of its source. */
const at = (block: Fields, name: string): unknown =>
  name.startsWith('source.') && isRecord(block.source)
    ? block.source[name.slice('source.'.length)]
    : block[name];

const nameOf = (value: unknown): string => {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `of the type ${typeof value}`;
};

const isText = (value: unknown): value is string => typeof value === 'string';

/**
 * A block as it will stand in a file and in a request: nothing in it that is no JSON (a circle, a
 * number without end, a method), and nobody who can change it later.
 */
export function asSoundBlock(
  block: unknown,
): { readonly block: ContentBlock } | { readonly flaw: string } {
  let copy: unknown;
  try {
    copy = JSON.parse(JSON.stringify(block) ?? 'null');
    deepWellFormed(copy); // says how deep is too deep
  } catch (error) {
    return { flaw: `cannot be written as JSON (${jsonFault(error)}): give plain data` };
  }
  const flaw = blockFlaw(copy);
  return flaw === undefined ? { block: copy as ContentBlock } : { flaw };
}
