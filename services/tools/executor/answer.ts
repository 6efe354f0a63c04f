/**
 * How a call is answered: the message in the log, and the words for everything that can go wrong.
 * All texts are read by the model, so each says what happened and what can be done about it.
 */
import { createHash } from 'node:crypto';
import { inspect } from 'node:util';
import { messageOf } from '../../message-of.ts';
import type { LogMessage, ToolResultContent, Unreadable } from '../../messages.ts';
import type { Tool, ToolInput, ToolOutput } from '../tool.ts';

/** A result before it has a place in the log. */
export interface Answer {
  readonly content: string | readonly ToolResultContent[];
  readonly isError: boolean;
  readonly data?: unknown;
}

/** Enough to recognise what was cut, little enough not to fill the window with it again. */
const QUOTE_CHARS_MAX = 2_000;
/** The names of more tools than this help nobody. */
const NAMES_MAX = 60;

export const failed = (content: string): Answer => ({ content, isError: true });

export const answers = {
  unknownTool: (name: string, tools: readonly Tool[]) => {
    const names = tools.map((tool) => tool.name);
    const shown = names.slice(0, NAMES_MAX).join(', ');
    const more = names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : '';
    return failed(
      `There is no tool named "${bounded(name, 200)}". Nothing was run. ` +
        (names.length > 0 ? `Available tools: ${shown}${more}.` : 'No tools are available.'),
    );
  },
  badInput: (tool: Tool, message: string) =>
    failed(`${tool.name} was not run, its input is wrong: ${message}`),
  badEdit: (tool: Tool, editor: string, message: string) =>
    failed(`${tool.name} was not run: ${editor} changed its input to a wrong one: ${message}`),
  unreadable: ({ cause, raw, detail }: Unreadable) =>
    failed(
      cause === 'cut'
        ? `The call was not run: the output limit cut it off in the middle of its input. Make the call again with less input, or in several smaller calls. What arrived: ${bounded(raw, QUOTE_CHARS_MAX)}`
        : `The call was not run: its input did not parse as a JSON object (${detail}). Make the call again with valid JSON. What arrived: ${bounded(raw, QUOTE_CHARS_MAX)}`,
    ),
  overdue: (tool: Tool, deadlineMs: number) =>
    failed(
      `${tool.name} gave no result within ${seconds(deadlineMs)} and did not stop when it was told to. The outcome is unknown: it may have run in part, or still be running. Check before you run it again.`,
    ),
  aborted: (tool: Tool) =>
    failed(`${tool.name} was interrupted. The outcome is unknown: it may have run in part.`),
  threw: (tool: Tool, error: unknown) => failed(`${tool.name} failed: ${messageOf(error)}`),
  notRun: (why: string) => failed(`The call was not run: ${why}`),
  ownFault: (error: unknown) =>
    failed(
      `The call failed inside of the engine (${messageOf(error)}). Whether it has run is not known.`,
    ),
};

/** What a deadline has to say about an output that came after the tool was told to stop. */
export const late = (output: ToolOutput, deadlineMs: number): ToolOutput => {
  const note = `No result within ${seconds(deadlineMs)}, so the call was stopped. It may have run in part. What it said until then:`;
  const content =
    typeof output.content === 'string'
      ? `${note}\n${output.content}`
      : [{ type: 'text' as const, text: note }, ...output.content];
  return { ...output, content, isError: true };
};

const seconds = (milliseconds: number) => `${Math.round(milliseconds / 100) / 10} seconds`;

/** Head and tail of a text, and how much is missing between them. */
export const bounded = (text: string, charsMax: number): string => {
  if (text.length <= charsMax) return text;
  const head = text.slice(0, Math.ceil(charsMax * 0.7));
  const tail = text.slice(text.length - Math.floor(charsMax * 0.3));
  return `${head} … (${text.length - charsMax} characters left out) … ${tail}`;
};

/** The message that answers a call, not yet in the log. */
export const resultMessage = (
  toolUseId: string,
  answer: Answer,
  stamp: { readonly uuid: string; readonly nowMs: number },
): LogMessage => ({
  uuid: stamp.uuid,
  role: 'user',
  kind: 'tool_result',
  toolUseId,
  origin: 'tool',
  timestamp: new Date(stamp.nowMs).toISOString(),
  content: [
    {
      type: 'tool_result',
      tool_use_id: toolUseId,
      content: typeof answer.content === 'string' ? answer.content : [...answer.content],
      ...(answer.isError ? { is_error: true } : {}),
    },
  ],
  ...(answer.data === undefined ? {} : { toolUseResult: answer.data }),
});

/** The message of a call whose input was edited. What it is beside that stays. */
export const amended = (message: LogMessage, input: ToolInput): LogMessage => ({
  ...message,
  content: message.content.map((block) =>
    block.type === 'tool_use' && block.id === message.toolUseId
      ? { ...block, input: { ...input } }
      : block,
  ),
});

/** The text of a result, for hooks and fingerprints. */
export const textOf = (content: Answer['content']): string =>
  typeof content === 'string'
    ? content
    : content
        .map((block) => (block.type === 'text' ? block.text : JSON.stringify(block)))
        .join('\n');

/**
 * The same for the same call with the same result: repeats of it are progress for nobody. The order
 * of the keys does not count.
 */
export const fingerprintOf = (name: string, input: unknown, answer: Answer): string =>
  createHash('sha256')
    .update(`${name}\0${stableJson(input)}\0${textOf(answer.content)}`)
    .digest('hex')
    .slice(0, 32);

export const inputHashOf = (input: ToolInput): string =>
  createHash('sha256').update(stableJson(input)).digest('hex');

/**
 * JSON whose keys are sorted at every depth. Never throws: what a tool's parser has made of an input
 * (numbers without end, circles) need be no JSON.
 */
export const stableJson = (value: unknown): string => {
  try {
    return JSON.stringify(value, sorted) ?? 'undefined';
  } catch {
    return inspect(value, { depth: 20, sorted: true, breakLength: Number.POSITIVE_INFINITY });
  }
};
const sorted = (_: string, inner: unknown) =>
  inner !== null && typeof inner === 'object' && !Array.isArray(inner)
    ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
    : inner;
