/**
 * The server's own count of tokens: a quarter of the characters of each block, rounded up, and a
 * flat price for media. One count for everything (window, usage, cache, count_tokens), so that the
 * numbers of a script agree with each other and can be worked out by hand.
 */
import { isRecord } from '../../services/is-record.ts';
import { type JsonObject, recordsIn } from './json.ts';
import { blocksOf, type RequestBody } from './received-request.ts';

const CHARS_PER_TOKEN = 4;
/** What the API charges for a large image, about. */
const IMAGE_TOKENS = 1_500;

/** Tokens of a text: a quarter of its characters, rounded up. */
export const tokensOfText = (words: string): number => Math.ceil(words.length / CHARS_PER_TOKEN);

const json = (value: unknown): string => JSON.stringify(value) ?? '';

/** Tokens of one content block; 0 for one without content. */
export function tokensOfBlock(block: JsonObject): number {
  switch (block.type) {
    case 'text':
      return tokensOfText(String(block.text ?? ''));
    case 'thinking':
      return tokensOfText(String(block.thinking ?? ''));
    case 'image':
      return IMAGE_TOKENS;
    case 'document':
      return tokensOfDocument(block.source);
    case 'tool_use':
      return tokensOfText(`${String(block.name)}${json(block.input)}`);
    case 'tool_result':
      return blocksOf(block.content).reduce((sum, part) => sum + tokensOfBlock(part), 0);
    default: {
      const { cache_control: _mark, ...rest } = block;
      return tokensOfText(json(rest));
    }
  }
}

function tokensOfDocument(source: unknown): number {
  if (isRecord(source) && source.type === 'text') {
    return tokensOfText(String(source.data ?? ''));
  }
  return IMAGE_TOKENS;
}

/** Tokens of a tool's definition. */
export function tokensOfTool(tool: JsonObject): number {
  const { cache_control: _mark, ...rest } = tool;
  return tokensOfText(json(rest));
}

/** Tokens of a whole request: tools, system prompt and messages. */
export function tokensOfRequest(body: RequestBody): number {
  const sum = (blocks: readonly JsonObject[], count: (block: JsonObject) => number) =>
    blocks.reduce((total, block) => total + count(block), 0);
  return (
    sum(recordsIn(body.tools), tokensOfTool) +
    sum(blocksOf(body.system), tokensOfBlock) +
    recordsIn(body.messages).reduce(
      (total, message) => total + sum(blocksOf(message.content), tokensOfBlock),
      0,
    )
  );
}
