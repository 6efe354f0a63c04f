/** Makes what a tool gave back fit for a request: well-formed, not empty, not endless. */
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
 * a block of an unknown kind becomes text.
 */
export function presentable(output: ToolOutput): Answer {
  const isError = output.isError === true;
  const data = dataOf(output.data);
  const content =
    typeof output.content === 'string'
      ? textWithin(output.content, RESULT_CHARS_MAX)
      : blocksWithin(output.content, isError);
  return { content, isError, ...(data === undefined ? {} : { data }) };
}

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

function blocksWithin(blocks: unknown, isError: boolean): Answer['content'] {
  if (!Array.isArray(blocks)) return textWithin(jsonOf(blocks), RESULT_CHARS_MAX);
  const kept: ToolResultContent[] = [];
  let charsLeft = RESULT_CHARS_MAX;
  let missing = 0;
  for (const block of blocks as readonly ToolResultContent[]) {
    if (isKnown(block) && block.type !== 'text') {
      // The API takes text only when is_error is set.
      if (isError) kept.push({ type: 'text', text: `(${block.type} left out of an error)` });
      else kept.push(block);
      continue;
    }
    const text = isKnown(block) && block.type === 'text' ? block.text : jsonOf(block);
    if (text.trim() === '') continue;
    missing += Math.max(0, text.length - charsLeft);
    if (charsLeft > 0) kept.push({ type: 'text', text: wellFormed(text.slice(0, charsLeft)) });
    charsLeft = Math.max(0, charsLeft - text.length);
  }
  if (missing > 0) kept.push({ type: 'text', text: leftOut(missing) });
  return kept.length > 0 ? kept : NO_OUTPUT;
}

const isKnown = (block: unknown): block is ToolResultContent => {
  if (block === null || typeof block !== 'object') return false;
  const { type, text } = block as { type?: unknown; text?: unknown };
  if (type === 'text') return typeof text === 'string';
  return (
    type === 'image' || type === 'document' || type === 'search_result' || type === 'tool_reference'
  );
};

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
