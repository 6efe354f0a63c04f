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
  const left = text.length - charsMax;
  return `${wellFormed(text.slice(0, charsMax))}\n(${left} more characters were left out)`;
}

/** Whether this is all that a tool has said: who tells of it must not say so otherwise. */
export const isCut = (text: string): boolean =>
  /\n\(\d+ more characters were left out\)$/.test(text.slice(-100));

function blocksWithin(blocks: unknown, isError: boolean): Answer['content'] {
  if (!Array.isArray(blocks)) return textWithin(jsonOf(blocks), RESULT_CHARS_MAX);
  const kept: ToolResultContent[] = [];
  let charsLeft = RESULT_CHARS_MAX;
  for (const block of blocks as readonly ToolResultContent[]) {
    if (isKnown(block) && block.type !== 'text') {
      // The API takes text only when is_error is set.
      if (isError) kept.push({ type: 'text', text: `(${block.type} left out of an error)` });
      else kept.push(block);
      continue;
    }
    const text = isKnown(block) && block.type === 'text' ? block.text : jsonOf(block);
    if (text.trim() === '' || charsLeft <= 0) continue;
    kept.push({ type: 'text', text: textWithin(text, charsLeft) });
    charsLeft -= text.length;
  }
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
