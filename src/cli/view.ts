/**
 * What a person sees of a turn: the messages of the wire as text for a terminal. Pure: a state and
 * a message give a new state and what to print. The demo and the interactive mode share it.
 */
import pc from 'picocolors';
import { continueReasons, terminalReasons } from '../../machines/reasons.ts';
import { isRecord } from '../../services/is-record.ts';
import type { SDKMessage } from '../wire.ts';
import { clipCells } from './cells.ts';
import { diffLines, hunksOf } from './diff-lines.ts';
import { printable } from './printable.ts';

/** What must be remembered between two messages. A plain value. */
export interface ViewState {
  /** Text was printed that does not end a line yet. */
  readonly isLineOpen: boolean;
  /** Messages whose deltas were printed: their text is not printed again. */
  readonly streamed: readonly string[];
  /** How the newest messages began, by their uuid: what is taken back can be named. */
  readonly beginnings: Readonly<Record<string, string>>;
  /** Calls that have no result yet, by id. */
  readonly calls: Readonly<Record<string, string>>;
}
export const emptyView: ViewState = {
  isLineOpen: false,
  streamed: [],
  beginnings: {},
  calls: {},
};

export interface ViewOptions {
  readonly isColored: boolean;
  /** Width of the terminal in cells. Default: lines are cut as for a wide one. */
  readonly columns?: number;
  /**
   * A person works in it: what happens in every turn (`next_turn`, the meaning of `completed`) is
   * left out unless `isVerbose`.
   */
  readonly isInteractive?: boolean;
  readonly isVerbose?: boolean;
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
/** Longer lines are hard to read, however wide the terminal is. */
const LINE_CELLS_MAX = 110;
const LINE_CELLS_MIN = 20;
/** Deltas are remembered until their message comes; more are open only if something is wrong. */
const STREAMED_MAX = 64;
/** Retractions name messages of the newest attempt. */
const BEGINNINGS_MAX = 64;
const BEGINNING_CHARS = 50;

/** How lines are made: colours, and room for the text behind a mark and a margin. */
interface Style {
  readonly colors: ReturnType<typeof pc.createColors>;
  readonly cellsMax: number;
  readonly options: ViewOptions;
}

function styleOf(options: ViewOptions): Style {
  const room = (options.columns ?? LINE_CELLS_MAX + MARGIN_CELLS) - MARGIN_CELLS;
  const cellsMax = Math.min(LINE_CELLS_MAX, Math.max(LINE_CELLS_MIN, room));
  return { colors: pc.createColors(options.isColored), cellsMax, options };
}
/** What stands before the text of a line: blanks and a mark. */
const MARGIN_CELLS = 6;

/**
 * @returns the next state and the text to print for this message, maybe none. Nothing in it but our
 * own colours is a control sequence, whatever the message says.
 */
export function showMessage(
  state: ViewState,
  message: SDKMessage,
  options: ViewOptions,
): readonly [ViewState, string] {
  const style = styleOf(options);
  switch (message.type) {
    case 'stream_event':
      return showDelta(state, message);
    case 'assistant':
      return showAssistant(state, message, style);
    case 'user':
      return showResults(state, message, style);
    case 'system':
      return lines(state, systemLines(message, style));
    case 'tombstone':
      return showRetraction(state, message.message.uuid, style);
    case 'tool_progress':
      return [state, ''];
    case 'tool_use_summary':
      return lines(state, [style.colors.dim(`  · ${oneLine(message.summary, style.cellsMax)}`)]);
    case 'result':
      return lines(state, resultLines(message, style));
    default:
      return [state, ''];
  }
}

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
  const event = isRecord(message.event) ? message.event : {};
  const delta = isRecord(event.delta) ? event.delta : {};
  const text = delta.type === 'text_delta' ? printable(String(delta.text ?? '')) : '';
  if (text === '' || message.parent_tool_use_id !== null) return [state, ''];
  const uuid = message.message_uuid;
  const streamed =
    uuid === undefined || state.streamed.includes(uuid)
      ? state.streamed
      : [...state.streamed, uuid].slice(-STREAMED_MAX);
  const next = uuid === undefined ? state : begun(state, uuid, text);
  return [{ ...next, streamed, isLineOpen: !text.endsWith('\n') }, text];
}

/** Remembers how a message begins, as far as it is not known yet. */
function begun(state: ViewState, uuid: string, text: string): ViewState {
  const known = state.beginnings[uuid] ?? '';
  if (known.length >= BEGINNING_CHARS) return state;
  const beginning = (known + text).slice(0, BEGINNING_CHARS);
  const entries = Object.entries({ ...state.beginnings, [uuid]: beginning });
  return { ...state, beginnings: Object.fromEntries(entries.slice(-BEGINNINGS_MAX)) };
}

/** What is printed cannot be unprinted, least of all in a dumb terminal: it is said instead. */
function showRetraction(
  state: ViewState,
  uuid: string,
  { colors, cellsMax }: Style,
): readonly [ViewState, string] {
  const { [uuid]: beginning, ...beginnings } = state.beginnings;
  const words = oneLine(beginning ?? '', Math.max(LINE_CELLS_MIN, cellsMax - 50));
  const what = words === '' ? 'what was said above' : `“${words}”`;
  const streamed = state.streamed.filter((one) => one !== uuid);
  return lines({ ...state, streamed, beginnings }, [
    colors.dim(`  ↩ taken back: ${what} does not count`),
  ]);
}

function showAssistant(
  state: ViewState,
  message: Extract<SDKMessage, { type: 'assistant' }>,
  { colors, cellsMax }: Style,
): readonly [ViewState, string] {
  const { uuid } = message;
  const isStreamed = state.streamed.includes(uuid);
  const streamed = state.streamed.filter((one) => one !== uuid);
  const indent = message.parent_tool_use_id === null ? '' : '  ';
  const calls: Record<string, string> = { ...state.calls };
  const shown: string[] = [];
  let next = state;
  for (const block of message.message.content) {
    if (block.type === 'text' && !isStreamed && block.text.trim() !== '') {
      const text = printable(block.text);
      next = begun(next, uuid, text);
      shown.push(`${indent}${message.error === undefined ? text : colors.red(text)}`);
    }
    if (block.type === 'tool_use') {
      const name = oneLine(block.name, cellsMax);
      const gist = gistOf(block.input, Math.max(LINE_CELLS_MIN, cellsMax - name.length));
      calls[block.id] = block.name;
      next = begun(next, uuid, `${name} ${gist}`);
      shown.push(`${indent}${colors.cyan('●')} ${colors.bold(name)} ${gist}`);
    }
  }
  return lines({ ...next, streamed, calls }, shown);
}

/** The input's own words for what it is about. */
function gistOf(input: unknown, cellsMax: number): string {
  if (!isRecord(input)) return '';
  const known = ['command', 'file_path', 'pattern', 'url', 'description', 'query', 'path'];
  const named = known.find((key) => typeof input[key] === 'string');
  return oneLine(named === undefined ? JSON.stringify(input) : String(input[named]), cellsMax);
}

function showResults(
  state: ViewState,
  message: Extract<SDKMessage, { type: 'user' }>,
  style: Style,
): readonly [ViewState, string] {
  const { colors, cellsMax } = style;
  const { content } = message.message;
  if (typeof content === 'string') return lines(state, syntheticLines(message, content, style));
  const calls: Record<string, string> = { ...state.calls };
  const shown = content.flatMap((block) => {
    if (block.type === 'text') return syntheticLines(message, block.text, style);
    if (block.type !== 'tool_result') return [];
    const isShell = calls[block.tool_use_id] === 'Bash';
    delete calls[block.tool_use_id];
    const text = textOf(block.content);
    if (isShell) return shellLines(text, style);
    const hunks = block.is_error === true ? [] : hunksOf(message.tool_use_result);
    if (hunks.length === 0) return resultTextLines(text, block.is_error === true, style);
    // The rest of the text repeats the changed lines for the model.
    const [first = ''] = text.split('\n');
    return [
      ...resultTextLines(first, false, style),
      ...diffLines(hunks, colors, cellsMax + MARGIN_CELLS),
    ];
  });
  return lines({ ...state, calls }, shown);
}

/** What the engine said in the host's name: shown small, for it was not said by a person. */
function syntheticLines(
  message: Extract<SDKMessage, { type: 'user' }>,
  text: string,
  { colors, cellsMax }: Style,
): readonly string[] {
  return message.isSynthetic === true ? [colors.dim(`  » ${oneLine(text, cellsMax)}`)] : [];
}

function resultTextLines(
  text: string,
  isError: boolean,
  { colors, cellsMax }: Style,
): readonly string[] {
  const all = fullLines(text);
  const paint = isError ? colors.red : colors.dim;
  const shown = all.slice(0, RESULT_LINES_MAX).map((line, index) => {
    return paint(`  ${index === 0 ? '⎿' : ' '} ${cut(line, cellsMax)}`);
  });
  const more = all.length - RESULT_LINES_MAX;
  return more > 0 ? [...shown, colors.dim(`    … ${more} more lines`)] : shown;
}

/** The end of the output, with what test runners print in the colours that people look for. */
function shellLines(text: string, { colors, cellsMax }: Style): readonly string[] {
  const all = fullLines(text);
  const paint = (line: string) => {
    if (/^\s*(not ok|✖|[#ℹ] fail [1-9])/.test(line)) return colors.red(line);
    return /^\s*(ok \d|✔|[#ℹ] (pass|fail 0))/.test(line) ? colors.green(line) : colors.dim(line);
  };
  const shown = all.slice(-SHELL_LINES_MAX).map((line) => paint(`    ${cut(line, cellsMax)}`));
  const before = all.length - shown.length;
  if (all.length <= 1) return all.map((line) => colors.dim(`  ⎿ ${cut(line.trim(), cellsMax)}`));
  return [colors.dim(`  ⎿ ${before > 0 ? `… ${before} lines, then` : 'output:'}`), ...shown];
}

const fullLines = (text: string): readonly string[] =>
  printable(text)
    .split('\n')
    .filter((line) => line.trim() !== '');

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (isRecord(part) && typeof part.text === 'string' ? part.text : '[no text]'))
    .join('\n');
}

/** Every reason, where it happens: this is what the machine is for. */
function systemLines(
  message: Extract<SDKMessage, { type: 'system' }>,
  { colors, cellsMax, options }: Style,
): readonly string[] {
  const short = (text: string) => oneLine(text, cellsMax);
  switch (message.subtype) {
    case 'transition': {
      const { reason } = message;
      const isRoutine = options.isInteractive === true && options.isVerbose !== true;
      if (isRoutine && reason === 'next_turn') return [];
      return [colors.dim(`  ↻ ${reason}: ${continueReasons[reason]}`)];
    }
    case 'api_retry': {
      const what = failureWords(message.error_status, message.error, cellsMax);
      const count = `try ${message.attempt} of ${message.max_retries}`;
      const seconds = secondsOf(message.retry_delay_ms);
      return [colors.yellow(`  ⚠ ${what}, again in ${seconds} s (${count})`)];
    }
    case 'model_fallback':
      return [colors.yellow(`  ⚠ ${printable(message.content)}`)];
    case 'compact_boundary': {
      const { pre_tokens: before, post_tokens: after } = message.compact_metadata;
      return [colors.dim(`  ⇊ summarised: ${before} tokens became ${after}`)];
    }
    case 'context_edit':
      return [colors.dim(`  ⇊ ${message.stage}: ${message.tokens_freed} tokens freed`)];
    case 'history_repaired':
      return message.repairs.map((repair) => colors.dim(`  ✚ history repaired: ${short(repair)}`));
    case 'informational': {
      const text = printable(message.content);
      return [message.level === 'info' ? colors.dim(text) : colors.yellow(`  ⚠ ${text}`)];
    }
    case 'permission_denied': {
      const name = short(message.tool_name);
      return [colors.red(`  ✖ ${name} was denied: ${short(message.message)}`)];
    }
    default:
      // Beginnings, states and hooks: for programs.
      return [];
  }
}

/** `529 overloaded` for the API's own errors, else the words as they are. */
function failureWords(status: number | null, error: string, cellsMax: number): string {
  const type = /\b([a-z_]+)_error\b/.exec(error)?.[1]?.replaceAll('_', ' ');
  if (status === null) return oneLine(error, cellsMax);
  const words = type ?? oneLine(error.replace(new RegExp(`^${status}\\s*`), ''), cellsMax);
  return `${status} ${words}`;
}

function resultLines(
  message: Extract<SDKMessage, { type: 'result' }>,
  { colors, cellsMax, options }: Style,
): readonly string[] {
  const { terminal_reason: reason, num_turns: turns, total_cost_usd: usd } = message;
  const facts = [
    `${turns} model call${turns === 1 ? '' : 's'}`,
    `${secondsOf(message.duration_ms)} s`,
    usd === null ? 'price unknown' : `$${usd.toFixed(4)}`,
  ];
  const mark = message.is_error ? colors.red('✖') : colors.green('✔');
  const why = reason === 'turn_setup_failed' ? 'the turn could not begin' : terminalReasons[reason];
  const isPlain = options.isInteractive === true && reason === 'completed';
  const errors = message.errors.map((error) => colors.red(`  ${oneLine(error, cellsMax)}`));
  // What a command answers no model has said, so nothing of it was shown.
  const isOurs = turns === 0 && reason === 'completed' && message.subtype === 'success';
  return [
    ...(isOurs ? fullLines(message.result) : []),
    '',
    `${mark} ${colors.bold(reason)} · ${facts.join(' · ')}`,
    ...(isPlain && options.isVerbose !== true ? [] : [colors.dim(`  ${why}`)]),
    ...errors,
  ];
}

const secondsOf = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1);
const oneLine = (text: string, cellsMax: number): string =>
  cut(printable(text).replace(/\s+/g, ' ').trim(), cellsMax);
const cut = (line: string, cellsMax: number): string =>
  clipCells(line.replaceAll('\t', '  '), cellsMax);
