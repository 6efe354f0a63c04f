/** One scripted block as the events that stream it, and as the client has it in the end. */
import { isRecord } from '../../services/is-record.ts';
import type { JsonObject } from './json.ts';
import type { RawBlock, ScriptedBlock } from './script.ts';

export interface StreamedBlock {
  /** `content_block` of `content_block_start`. */
  readonly start: JsonObject;
  /** `delta` of each `content_block_delta`. */
  readonly deltas: readonly JsonObject[];
  readonly whole: JsonObject;
}

/** Cut into at most `pieces` parts of about the same length, never between two surrogates. */
function cutIntoPieces(words: string, pieces = 1): string[] {
  const characters = [...words];
  const size = Math.max(1, Math.ceil(characters.length / Math.max(1, pieces)));
  const parts: string[] = [];
  for (let at = 0; at < characters.length; at += size) {
    parts.push(characters.slice(at, at + size).join(''));
  }
  return parts.length > 0 ? parts : [''];
}

const truncated = (words: string, { truncateAt }: ScriptedBlock): string =>
  truncateAt === undefined ? words : words.slice(0, Math.floor(words.length * truncateAt));

const SIGNATURE_CHARS = 64;
/** Signature of a thinking block that has none: the same text, the same signature. */
const signatureOf = (words: string): string =>
  Buffer.from(`signed:${words}`).toString('base64').slice(0, SIGNATURE_CHARS);

/** How a block is streamed. `nextToolUseId` makes the id of a call that has none. */
export function streamBlock(block: ScriptedBlock, nextToolUseId: () => string): StreamedBlock {
  switch (block.type) {
    case 'text': {
      const words = truncated(block.text, block);
      return {
        start: { type: 'text', text: '' },
        deltas: cutIntoPieces(words, block.pieces).map((part) => ({
          type: 'text_delta',
          text: part,
        })),
        whole: { type: 'text', text: words },
      };
    }
    case 'thinking': {
      const words = truncated(block.thinking, block);
      const signature = block.signature ?? signatureOf(words);
      const parts = cutIntoPieces(words, block.pieces);
      return {
        start: { type: 'thinking', thinking: '', signature: '' },
        deltas: [
          ...parts.map((part) => ({ type: 'thinking_delta', thinking: part })),
          { type: 'signature_delta', signature },
        ],
        whole: { type: 'thinking', thinking: words, signature },
      };
    }
    case 'redacted_thinking': {
      const whole = { type: 'redacted_thinking', data: block.data };
      return { start: whole, deltas: [], whole };
    }
    case 'tool_use': {
      const id = block.id ?? nextToolUseId();
      const input = block.input ?? {};
      const json = truncated(block.rawJson ?? JSON.stringify(input), block);
      return {
        start: { type: 'tool_use', id, name: block.name, input: {} },
        deltas: cutIntoPieces(json, block.pieces).map((part) => ({
          type: 'input_json_delta',
          partial_json: part,
        })),
        whole: { type: 'tool_use', id, name: block.name, input },
      };
    }
    case 'raw':
      return { start: block.start, deltas: block.deltas ?? [], whole: wholeOfRaw(block) };
  }
}

/** Fields that deltas append to. JSON is parsed at the end. */
const APPENDED = ['text', 'thinking', 'signature'] as const;

/** A raw block with the deltas that it understands taken in. */
function wholeOfRaw({ start, deltas = [] }: RawBlock): JsonObject {
  const whole: Record<string, unknown> = { ...start };
  let json = '';
  for (const delta of deltas) {
    if (typeof delta.partial_json === 'string') json += delta.partial_json;
    for (const field of APPENDED) {
      if (typeof delta[field] !== 'string') continue;
      whole[field] = `${typeof whole[field] === 'string' ? whole[field] : ''}${delta[field]}`;
    }
  }
  if (json !== '') whole.input = parsedOr(json, start.input);
  return whole;
}

function parsedOr(json: string, otherwise: unknown): unknown {
  try {
    const value: unknown = JSON.parse(json);
    return isRecord(value) ? value : otherwise;
  } catch {
    return otherwise; // a raw block may be broken on purpose
  }
}
