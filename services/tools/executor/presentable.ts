/** Makes what a tool gave back fit for a request: well-formed, not empty, not endless. */
import { isRecord } from '../../is-record.ts';
import { asSoundBlock } from '../../journal/sound-blocks.ts';
import type { ToolResultContent } from '../../messages.ts';
import { wellFormed } from '../../well-formed.ts';
import type { ToolOutput } from '../tool.ts';
import type { Answer } from './answer.ts';

/**
 * A last line of defence: what is merely long is moved to a file later. Above this the copies that
 * the log, the transcript and the host's stream make of it become a danger to the process.
 */
const RESULT_CHARS_MAX = 10_000_000;
/** Said in place of nothing: the API refuses an empty text. */
const NO_OUTPUT = '(no output)';

/**
 * A tool's output as an answer. *Contract:* never throws, whatever a tool of somebody else returns:
 * a block of an unknown kind becomes text, a broken one the word of what is wrong with it. When it
 * is all broken, the answer is an error.
 */
export function presentable(output: ToolOutput): Answer {
  const isError = output.isError === true;
  const data = dataOf(output.data);
  const said: Said =
    typeof output.content === 'string'
      ? { content: textWithin(output.content, RESULT_CHARS_MAX), isError }
      : blocksWithin(output.content, isError);
  return { ...said, ...(data === undefined ? {} : { data }) };
}

type Said = Pick<Answer, 'content' | 'isError'>;

function textWithin(text: string, charsMax: number): string {
  if (text.trim() === '') return NO_OUTPUT;
  if (text.length <= charsMax) return wellFormed(text);
  return `${wellFormed(text.slice(0, charsMax))}\n${leftOut(text.length - charsMax)}`;
}

const leftOut = (chars: number) => `(${chars} more characters were left out)`;

/** How much of what a tool has said is not there: who tells of a result must not call it all. */
export function charsLeftOut(text: string): number {
  const [, chars = '0'] = /\n\((\d+) more characters were left out\)$/.exec(text.slice(-100)) ?? [];
  return Number(chars);
}

function blocksWithin(blocks: unknown, isError: boolean): Said {
  if (!Array.isArray(blocks)) {
    return { content: textWithin(jsonOf(blocks), RESULT_CHARS_MAX), isError };
  }
  const read = blocks.map(partOf);
  const isBroken = read.some(({ isFlaw }) => isFlaw) && !read.some(({ isFlaw }) => !isFlaw);
  const kept: ToolResultContent[] = [];
  let charsLeft = RESULT_CHARS_MAX;
  let missing = 0;
  for (const { part } of read) {
    if (part.type !== 'text') {
      // The API takes text only when is_error is set.
      if (isError) kept.push({ type: 'text', text: `(${part.type} left out of an error)` });
      else kept.push(part);
      continue;
    }
    const { text } = part;
    if (text.trim() === '') continue;
    missing += Math.max(0, text.length - charsLeft);
    if (charsLeft > 0) kept.push({ type: 'text', text: wellFormed(text.slice(0, charsLeft)) });
    charsLeft = Math.max(0, charsLeft - text.length);
  }
  if (missing > 0) kept.push({ type: 'text', text: leftOut(missing) });
  return { content: kept.length > 0 ? kept : NO_OUTPUT, isError: isError || isBroken };
}

interface Part {
  readonly part: ToolResultContent;
  /** It is not what the tool has given but why that could not be kept. */
  readonly isFlaw: boolean;
}

/**
 * What can stand in a result stays, and is a copy: the tool may go on changing its own. What is of
 * another kind is text; what lacks something that its kind must have would be refused for ever.
 */
function partOf(given: unknown, index: number): Part {
  if (!isKindOfPart(given)) return { part: { type: 'text', text: jsonOf(given) }, isFlaw: false };
  const sound = asSoundBlock(given);
  if ('block' in sound) return { part: sound.block as ToolResultContent, isFlaw: false };
  const text = `(left out of this result: content[${index}] ${sound.flaw})`;
  return { part: { type: 'text', text }, isFlaw: true };
}

const kinds: readonly unknown[] = ['text', 'image', 'document', 'search_result', 'tool_reference'];
const isKindOfPart = (block: unknown): boolean => isRecord(block) && kinds.includes(block.type);

const jsonOf = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return String(value);
  }
};

/** The host gets it as JSON, so it has to be some, and no more of it than of the text. */
function dataOf(data: unknown): unknown {
  if (data === undefined) return undefined;
  try {
    const json = JSON.stringify(data);
    if (json === undefined || json.length > RESULT_CHARS_MAX) return undefined;
    // Lone surrogates are escaped in JSON, and would be lone again in the host.
    return json.includes('\\ud') ? JSON.parse(json, wellFormedStrings) : JSON.parse(json);
  } catch {
    return undefined; // a circle, a bigint: the text says it all
  }
}
const wellFormedStrings = (_: string, value: unknown) =>
  typeof value === 'string' ? wellFormed(value) : value;
