/**
 * What a person sees of a turn: the messages of the wire as text for a terminal. Pure: a state and
 * a message give a new state and what to print. The demo and the interactive mode share it.
 */
import pc from 'picocolors';
import { continueReasons, terminalReasons } from '../../machines/reasons.ts';
import type { SDKMessage } from '../wire.ts';
import { isFields } from './control.ts';

/** What must be remembered between two messages. A plain value. */
export interface ViewState {
  /** Text was printed that does not end a line yet. */
  readonly isLineOpen: boolean;
  /** Messages whose deltas were printed: their text is not printed again. */
  readonly streamed: readonly string[];
  /** Calls that have no result yet, by id. */
  readonly calls: Readonly<Record<string, string>>;
}
export const emptyView: ViewState = { isLineOpen: false, streamed: [], calls: {} };

export interface ViewOptions {
  readonly isColored: boolean;
}

/** `NO_COLOR` and `FORCE_COLOR` as elsewhere; a dumb terminal and a pipe get plain text. */
export function isColorWanted(
  environment: Readonly<Record<string, string | undefined>>,
  isTTY: boolean,
): boolean {
  if (environment.NO_COLOR) return false;
  if (environment.FORCE_COLOR && environment.FORCE_COLOR !== '0') return true;
  return isTTY && environment.TERM !== 'dumb';
}

/** Lines of a result that are shown; the model sees all of them. A shell says the best at its end. */
const RESULT_LINES_MAX = 4;
const SHELL_LINES_MAX = 9;
const LINE_CHARS_MAX = 110;
/** Deltas are remembered until their message comes; more are open only if something is wrong. */
const STREAMED_MAX = 64;

/** @returns the next state and the text to print for this message, maybe none. */
export function showMessage(
  state: ViewState,
  message: SDKMessage,
  options: ViewOptions,
): readonly [ViewState, string] {
  const colors = pc.createColors(options.isColored);
  switch (message.type) {
    case 'stream_event':
      return showDelta(state, message);
    case 'assistant':
      return showAssistant(state, message, colors);
    case 'user':
      return showResults(state, message, colors);
    case 'system':
      return lines(state, systemLines(message, colors));
    case 'tombstone':
      return lines(state, [colors.dim('  ↩ taken back: what was said above does not count')]);
    case 'tool_progress':
      return [state, ''];
    case 'result':
      return lines(state, resultLines(message, colors));
    default:
      return [state, ''];
  }
}

type Colors = ReturnType<typeof pc.createColors>;

/** Whole lines; an open one is ended first. */
function lines(state: ViewState, texts: readonly string[]): readonly [ViewState, string] {
  if (texts.length === 0) return [state, ''];
  const text = `${state.isLineOpen ? '\n' : ''}${texts.map((line) => `${line}\n`).join('')}`;
  return [{ ...state, isLineOpen: false }, text];
}

function showDelta(
  state: ViewState,
  message: Extract<SDKMessage, { type: 'stream_event' }>,
): readonly [ViewState, string] {
  const event = isFields(message.event) ? message.event : {};
  const delta = isFields(event.delta) ? event.delta : {};
  const text = delta.type === 'text_delta' ? String(delta.text ?? '') : '';
  if (text === '' || message.parent_tool_use_id !== null) return [state, ''];
  const uuid = message.message_uuid;
  const streamed =
    uuid === undefined || state.streamed.includes(uuid)
      ? state.streamed
      : [...state.streamed, uuid].slice(-STREAMED_MAX);
  return [{ ...state, streamed, isLineOpen: !text.endsWith('\n') }, text];
}

function showAssistant(
  state: ViewState,
  message: Extract<SDKMessage, { type: 'assistant' }>,
  colors: Colors,
): readonly [ViewState, string] {
  const isStreamed = state.streamed.includes(message.uuid);
  const streamed = state.streamed.filter((uuid) => uuid !== message.uuid);
  const indent = message.parent_tool_use_id === null ? '' : '  ';
  const calls: Record<string, string> = { ...state.calls };
  const shown: string[] = [];
  for (const block of message.message.content) {
    if (block.type === 'text' && !isStreamed && block.text.trim() !== '') {
      shown.push(`${indent}${message.error === undefined ? block.text : colors.red(block.text)}`);
    }
    if (block.type === 'tool_use') {
      calls[block.id] = block.name;
      shown.push(`${indent}${colors.cyan('●')} ${colors.bold(block.name)} ${gistOf(block.input)}`);
    }
  }
  return lines({ ...state, streamed, calls }, shown);
}

/** The input's own words for what it is about. */
function gistOf(input: unknown): string {
  if (!isFields(input)) return '';
  const known = ['command', 'file_path', 'pattern', 'url', 'description', 'query', 'path'];
  const named = known.find((key) => typeof input[key] === 'string');
  return oneLine(named === undefined ? JSON.stringify(input) : String(input[named]));
}

function showResults(
  state: ViewState,
  message: Extract<SDKMessage, { type: 'user' }>,
  colors: Colors,
): readonly [ViewState, string] {
  const { content } = message.message;
  if (typeof content === 'string') return lines(state, syntheticLines(message, content, colors));
  const calls: Record<string, string> = { ...state.calls };
  const shown = content.flatMap((block) => {
    if (block.type === 'text') return syntheticLines(message, block.text, colors);
    if (block.type !== 'tool_result') return [];
    const isShell = calls[block.tool_use_id] === 'Bash';
    delete calls[block.tool_use_id];
    const text = textOf(block.content);
    return isShell
      ? shellLines(text, colors)
      : resultTextLines(text, block.is_error === true, colors);
  });
  return lines({ ...state, calls }, shown);
}

/** What the engine said in the host's name: shown small, for it was not said by a person. */
function syntheticLines(
  message: Extract<SDKMessage, { type: 'user' }>,
  text: string,
  colors: Colors,
): readonly string[] {
  return message.isSynthetic === true ? [colors.dim(`  » ${oneLine(text)}`)] : [];
}

function resultTextLines(text: string, isError: boolean, colors: Colors): readonly string[] {
  const all = text.split('\n').filter((line) => line.trim() !== '');
  const paint = isError ? colors.red : colors.dim;
  const shown = all.slice(0, RESULT_LINES_MAX).map((line, index) => {
    return paint(`  ${index === 0 ? '⎿' : ' '} ${cut(line)}`);
  });
  const more = all.length - RESULT_LINES_MAX;
  return more > 0 ? [...shown, colors.dim(`    … ${more} more lines`)] : shown;
}

/** The end of the output, with what test runners print in the colours that people look for. */
function shellLines(text: string, colors: Colors): readonly string[] {
  const all = text.split('\n').filter((line) => line.trim() !== '');
  const paint = (line: string) => {
    if (/^\s*(not ok|✖|[#ℹ] fail [1-9])/.test(line)) return colors.red(line);
    return /^\s*(ok \d|✔|[#ℹ] (pass|fail 0))/.test(line) ? colors.green(line) : colors.dim(line);
  };
  const shown = all.slice(-SHELL_LINES_MAX).map((line) => paint(`    ${cut(line)}`));
  const before = all.length - shown.length;
  return [colors.dim(`  ⎿ ${before > 0 ? `… ${before} lines, then` : 'output:'}`), ...shown];
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (isFields(part) && typeof part.text === 'string' ? part.text : '[no text]'))
    .join('\n');
}

/** Every reason, where it happens: this is what the machine is for. */
function systemLines(
  message: Extract<SDKMessage, { type: 'system' }>,
  colors: Colors,
): readonly string[] {
  switch (message.subtype) {
    case 'transition':
      return [colors.dim(`  ↻ ${message.reason}: ${continueReasons[message.reason]}`)];
    case 'api_retry': {
      const what = failureWords(message.error_status, message.error);
      const count = `try ${message.attempt} of ${message.max_retries}`;
      const seconds = secondsOf(message.retry_delay_ms);
      return [colors.yellow(`  ⚠ ${what}, again in ${seconds} s (${count})`)];
    }
    case 'model_fallback':
      return [colors.yellow(`  ⚠ ${message.content}`)];
    case 'compact_boundary': {
      const { pre_tokens: before, post_tokens: after } = message.compact_metadata;
      return [colors.dim(`  ⇊ summarised: ${before} tokens became ${after}`)];
    }
    case 'context_edit':
      return [colors.dim(`  ⇊ ${message.stage}: ${message.tokens_freed} tokens freed`)];
    case 'history_repaired':
      return message.repairs.map((repair) => colors.dim(`  ✚ history repaired: ${repair}`));
    case 'informational':
      return [message.level === 'info' ? colors.dim(message.content) : warned(message, colors)];
    case 'permission_denied':
      return [colors.red(`  ✖ ${message.tool_name} was denied: ${oneLine(message.message)}`)];
    default:
      // Beginnings, states and hooks: for programs.
      return [];
  }
}

/** `529 overloaded` for the API's own errors, else the words as they are. */
function failureWords(status: number | null, error: string): string {
  const type = /\b([a-z_]+)_error\b/.exec(error)?.[1]?.replaceAll('_', ' ');
  if (status === null) return oneLine(error);
  return `${status} ${type ?? oneLine(error.replace(new RegExp(`^${status}\\s*`), ''))}`;
}

const warned = (message: { readonly content: string }, colors: Colors): string =>
  colors.yellow(`  ⚠ ${message.content}`);

function resultLines(
  message: Extract<SDKMessage, { type: 'result' }>,
  colors: Colors,
): readonly string[] {
  const { terminal_reason: reason, num_turns: turns, total_cost_usd: usd } = message;
  const facts = [
    `${turns} model call${turns === 1 ? '' : 's'}`,
    `${secondsOf(message.duration_ms)} s`,
    usd === null ? 'price unknown' : `$${usd.toFixed(4)}`,
  ];
  const mark = message.is_error ? colors.red('✖') : colors.green('✔');
  const why = reason === 'turn_setup_failed' ? 'the turn could not begin' : terminalReasons[reason];
  const errors = message.errors.map((error) => colors.red(`  ${oneLine(error)}`));
  return [
    '',
    `${mark} ${colors.bold(reason)} · ${facts.join(' · ')}`,
    colors.dim(`  ${why}`),
    ...errors,
  ];
}

const secondsOf = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1);
const oneLine = (text: string): string => cut(text.replace(/\s+/g, ' ').trim());
const cut = (line: string): string =>
  line.length > LINE_CHARS_MAX ? `${line.slice(0, LINE_CHARS_MAX - 1)}…` : line;
