/**
 * From the events of one stream to log messages, a block at a time. Our own: the SDK's accumulator
 * fails the whole answer for one bad tool call, and repairs a cut one silently.
 *
 * *Contract:* every block that was begun under a uuid becomes exactly one of `block`, `toolUse`
 * and `dropped`. Nothing throws for what a server sends, but its own `error` event. A delta costs
 * what it brings: text grows as a rope, no event is copied.
 */
import type Anthropic from '@anthropic-ai/sdk';
import type { StopReason } from '../../machines/state.ts';
import { CACHED_MICROCOMPACT } from '../features.ts';
import { isRecord } from '../is-record.ts';
import type { ContentBlock, LogMessage, ToolUseBlock, Unreadable } from '../messages.ts';
import { deepWellFormed, isWellFormed, wellFormed } from '../well-formed.ts';
import { type AppliedEdit, readAppliedEdit } from './context-editing.ts';
import { readToolInput } from './tool-input.ts';
import type { ModelEvent, Usage } from './types.ts';
import { estimatedTokens, noUsage, oddCounts, readUsage } from './usage.ts';

type RawEvent = Anthropic.RawMessageStreamEvent;

/** What the accumulator needs of the world around it. */
export interface AccumulatorOptions {
  /** That was asked: thinking goes back to it alone. */
  readonly model: string;
  /** Whether a call in history has this id. */
  readonly isKnownCall: (id: string) => boolean;
  /** Of all calls of the session, also those that a summary stands for. Grows with each new one. */
  readonly callIds: Set<string>;
  /** Of the answer before this one: a gateway may give all its answers the same. */
  readonly previousApiId: string | undefined;
  /** Tokens of what was sent, estimated. Asked for when the server tells nonsense. */
  readonly promptTokens: () => number;
  readonly uuid: () => string;
  /** ISO 8601. */
  readonly now: () => string;
}

/** A block whose end has not come. */
interface OpenBlock {
  readonly uuid: string;
  readonly start: Readonly<Record<string, unknown>> & { readonly type: string };
  /** Text, thinking or JSON, as far as it came. */
  text: string;
  signature: string | undefined;
  readonly citations: unknown[];
}

/** A finished call whose input cannot be read, until we know what cut it. */
interface HeldCall {
  readonly block: OpenBlock;
  readonly detail: string;
}

const STOP_REASONS: ReadonlySet<string> = new Set<StopReason>([
  'end_turn',
  'stop_sequence',
  'tool_use',
  'max_tokens',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
]);
/** Rule S3, and S11 for names. */
const LEGAL_ID = /^[a-zA-Z0-9_-]+$/;
const LEGAL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const NAME_CHARS_MAX = 128;

export class Accumulator {
  readonly #options: AccumulatorOptions;
  readonly #open = new Map<number, OpenBlock>();
  /** Indices of blocks that nobody may see: doubles of a call. */
  readonly #hidden = new Set<number>();
  readonly #ids = new Set<string>();
  #apiId: string | undefined;
  #held: HeldCall | undefined;
  #calls = 0;
  #stopReason: unknown;
  #stopDetails: unknown;
  #usage: Usage | undefined;
  /** What was told for numbers that cannot be, and not corrected. */
  readonly #odd = new Map<keyof Usage, unknown>();
  /** Characters of what was said so far. */
  #chars = 0;
  #edited: AppliedEdit | undefined;
  #isOver = false;

  constructor(options: AccumulatorOptions) {
    this.#options = options;
  }

  /** `message_stop` has come. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The last numbers; `undefined` before the first. What could be no number is estimated. */
  get usage(): Usage | undefined {
    const known = this.#usage;
    if (known === undefined || this.#odd.size === 0) return known;
    const output = this.#odd.has('output_tokens') ? estimatedTokens(this.#chars) : 0;
    const isPromptOdd = this.#odd.has('input_tokens') && known.input_tokens === 0;
    return {
      ...known,
      input_tokens: isPromptOdd ? this.#options.promptTokens() : known.input_tokens,
      output_tokens: Math.max(known.output_tokens, output),
    };
  }

  /** What the API has left out of the prompt; `undefined`: it says nothing of that. */
  get edited(): AppliedEdit | undefined {
    return this.#edited;
  }

  get stopDetails(): unknown {
    return this.#stopDetails;
  }

  /** One event of the stream. @throws the API's error, when the event is one. */
  take(event: RawEvent): readonly ModelEvent[] {
    // Clients other than the SDK may hand over what is not in its types.
    const raw: unknown = event;
    if (!isRecord(raw)) return [];
    switch (raw.type) {
      case 'message_start':
        return this.#start(event, raw);
      case 'content_block_start':
        return this.#begin(event, raw);
      case 'content_block_delta':
        return this.#grow(event, raw);
      case 'content_block_stop':
        return this.#finish(event, raw);
      case 'message_delta':
        return this.#note(event, raw);
      case 'message_stop':
        this.#isOver = true;
        return [rawEvent(event)];
      case 'error':
        throw new StreamErrorEvent(raw.error);
      default:
        return [rawEvent(event)];
    }
  }

  /** After `message_stop`: what was held back, and how it ended. */
  end(): readonly ModelEvent[] {
    const isCut = this.#stopReason === 'max_tokens';
    const events: ModelEvent[] = isCut ? this.#settleCut() : this.#release();
    events.push(...this.abandon());
    if (this.#odd.size > 0) events.push({ type: 'warning', text: this.#oddUsage() });
    const known = typeof this.#stopReason === 'string' && STOP_REASONS.has(this.#stopReason);
    if (!known) {
      const text = `the answer ended with the unknown stop reason ${this.#stopReason}: taken as end_turn`;
      events.push({ type: 'warning', text: wellFormed(text) });
    }
    return events;
  }

  #oddUsage(): string {
    const told = [...this.#odd].map(([name, value]) => `${name} ${shown(value)}`).join(', ');
    const { input_tokens: prompt, output_tokens: answer } = this.usage ?? noUsage;
    return (
      `the server's usage cannot be (${told}): ${prompt} input and ${answer} output tokens are ` +
      'billed in its place, by what was told before or by the length of the text'
    );
  }

  /** Of an answer that has ended. */
  get stopReason(): StopReason {
    const reason = this.#stopReason;
    return typeof reason === 'string' && STOP_REASONS.has(reason)
      ? (reason as StopReason)
      : 'end_turn';
  }

  /** The stream is dead, or nobody wants it any more: what was begun is taken back. Once. */
  abandon(): readonly ModelEvent[] {
    const lost = [...(this.#held ? [this.#held.block] : []), ...this.#open.values()];
    this.#held = undefined;
    this.#open.clear();
    return lost.map(({ uuid }) => ({ type: 'dropped', messageUuid: uuid }));
  }

  #start(event: RawEvent, { message }: Record<string, unknown>): readonly ModelEvent[] {
    if (isRecord(message)) {
      this.#count(message.usage, false);
      if (typeof message.id === 'string') this.#apiId ??= this.#freshApiId(message.id);
    }
    return [rawEvent(event)];
  }

  /** Blocks of two answers with the same id would become one message. */
  #freshApiId(id: string): string {
    const isUsable = id !== '' && isWellFormed(id) && id !== this.#options.previousApiId;
    return isUsable ? id : `msg_${this.#options.uuid()}`;
  }

  #begin(event: RawEvent, { index, content_block: given }: Record<string, unknown>) {
    if (typeof index !== 'number' || !isRecord(given) || typeof given.type !== 'string') {
      return [rawEvent(event)];
    }
    const events = [...this.#release(), ...this.#replace(index)];
    const start = { ...given, type: given.type };
    const call = start.type === 'tool_use' ? this.#identify(given) : undefined;
    if (call?.isDouble) {
      this.#hidden.add(index);
      return [...events, ...call.warnings];
    }
    const block: OpenBlock = {
      uuid: this.#options.uuid(),
      start: { ...start, ...call?.changes },
      text: startText(given),
      signature: undefined,
      citations: [],
    };
    this.#open.set(index, block);
    const shown = call?.changes
      ? ({ type: 'content_block_start', index, content_block: block.start } as unknown as RawEvent)
      : event;
    return [...events, ...(call?.warnings ?? []), rawEvent(shown, block.uuid)];
  }

  /** A block that begins where another one never stopped. */
  #replace(index: number): readonly ModelEvent[] {
    this.#hidden.delete(index);
    const lost = this.#open.get(index);
    this.#open.delete(index);
    return lost ? [{ type: 'dropped', messageUuid: lost.uuid }] : [];
  }

  /**
   * Ids and names that the API takes back. A second call under an id of this answer is never shown;
   * under one of an older answer it is a call of its own: some servers count anew in each.
   */
  #identify({ id, name }: Record<string, unknown>) {
    const given = typeof id === 'string' ? id : '';
    const warnings: ModelEvent[] = [];
    const warn = (text: string) => warnings.push({ type: 'warning', text: wellFormed(text) });
    if (given !== '' && this.#ids.has(given)) {
      warn(`the tool call ${given} came twice: the second one is dropped`);
      return { isDouble: true, warnings } as const;
    }
    this.#ids.add(given);
    const changes: { id?: string; name?: string } = {};
    const isUsed = this.#options.callIds.has(given) || this.#options.isKnownCall(given);
    if (isUsed || !LEGAL_ID.test(given)) {
      changes.id = `toolu_${this.#options.uuid().replaceAll(/[^a-zA-Z0-9_-]/g, '')}`;
      // An old call must not be taken for this one: not by the ledger, not by a tool that knows keys.
      const why = isUsed ? ' of an older one' : '';
      warn(
        `a tool call came with the id ${JSON.stringify(given)}${why}: it is called ${changes.id}`,
      );
    }
    if (typeof name !== 'string' || !LEGAL_NAME.test(name)) {
      changes.name = legalName(name);
      warn(`a tool was called by the name ${JSON.stringify(name)}: taken as ${changes.name}`);
    }
    const isOdd = changes.id !== undefined || changes.name !== undefined;
    return { isDouble: false, warnings, changes: isOdd ? changes : undefined } as const;
  }

  #grow(event: RawEvent, { index, delta }: Record<string, unknown>): readonly ModelEvent[] {
    if (this.#hidden.has(index as number)) return [];
    const block = this.#open.get(index as number);
    if (!block || !isRecord(delta)) return [rawEvent(event, block?.uuid)];
    switch (delta.type) {
      case 'text_delta':
        this.#add(block, delta.text);
        break;
      case 'thinking_delta':
        this.#add(block, delta.thinking);
        break;
      case 'input_json_delta':
        this.#add(block, delta.partial_json);
        break;
      case 'signature_delta':
        block.signature = textIn(delta.signature);
        break;
      case 'citations_delta':
        block.citations.push(delta.citation);
        break;
      default: // a kind of later days: the host sees it, the block stays as it is
    }
    return [rawEvent(event, block.uuid)];
  }

  #add(block: OpenBlock, given: unknown): void {
    const text = textIn(given);
    block.text += text;
    this.#chars += text.length;
  }

  #finish(event: RawEvent, { index }: Record<string, unknown>): readonly ModelEvent[] {
    if (this.#hidden.delete(index as number)) return [];
    const block = this.#open.get(index as number);
    if (!block) return [rawEvent(event)];
    this.#open.delete(index as number);
    return [rawEvent(event, block.uuid), ...this.#emit(block)];
  }

  #emit(block: OpenBlock): readonly ModelEvent[] {
    const { start, text } = block;
    switch (start.type) {
      case 'text':
        // May not go back (rule S4), and says nothing to anybody.
        if (text.trim() === '') return [{ type: 'dropped', messageUuid: block.uuid }];
        return [this.#block(block, 'text', textBlock(block))];
      case 'thinking':
        return [this.#thinking(block)];
      case 'redacted_thinking':
        return [this.#block(block, 'thinking', start)];
      case 'tool_use':
        return this.#call(block);
      default:
        return [this.#block(block, 'other', otherBlock(block))];
    }
  }

  #thinking(block: OpenBlock): ModelEvent {
    const { start, text } = block;
    const signature = block.signature ?? textIn(start.signature);
    const content = { ...start, thinking: wellFormed(text), signature };
    // Mended, it is no longer what was signed: without a model it goes back to none.
    return this.#block(block, 'thinking', content, isWellFormed(text));
  }

  #call(block: OpenBlock): readonly ModelEvent[] {
    // Some servers send the whole input with the start, and no delta.
    const given = block.start.input;
    const json = block.text === '' && isRecord(given) ? JSON.stringify(given) : block.text;
    const read = readToolInput(json);
    if (read.ok) return [this.#toolUse(block, read.input)];
    this.#held = { block, detail: read.detail };
    return [];
  }

  /** It was not the output limit: a call that cannot be read is one all the same. */
  #release(): ModelEvent[] {
    const held = this.#held;
    this.#held = undefined;
    return held ? [this.#unreadable(held, 'unparsable')] : [];
  }

  /**
   * The output limit. After a whole call the answer can no longer be taken back, so the model must
   * be told of the cut one; before one it is dropped, and the answer is asked for again.
   */
  #settleCut(): ModelEvent[] {
    if (this.#calls === 0) return [];
    const held = this.#held;
    this.#held = undefined;
    const events: ModelEvent[] = held ? [this.#unreadable(held, 'cut')] : [];
    for (const [index, block] of this.#open) {
      if (block.start.type !== 'tool_use') continue;
      this.#open.delete(index);
      const detail = 'the output limit came before the end of the call';
      events.push(this.#unreadable({ block, detail }, 'cut'));
    }
    return events;
  }

  #note(event: RawEvent, given: Record<string, unknown>): readonly ModelEvent[] {
    const { delta, usage } = given;
    this.#count(usage, true);
    if (CACHED_MICROCOMPACT)
      this.#edited = readAppliedEdit(given.context_management) ?? this.#edited;
    if (isRecord(delta)) {
      this.#stopReason = delta.stop_reason ?? this.#stopReason;
      this.#stopDetails = delta.stop_details ?? this.#stopDetails;
    }
    return [rawEvent(event)];
  }

  #count(reported: unknown, isLast: boolean): void {
    this.#usage = readUsage(this.#usage, reported);
    if (!isRecord(reported)) return;
    for (const name of Object.keys(reported)) this.#odd.delete(name as keyof Usage);
    for (const name of oddCounts(reported, isLast)) this.#odd.set(name, reported[name]);
  }

  #unreadable({ block, detail }: HeldCall, cause: Unreadable['cause']): ModelEvent {
    return this.#toolUse(block, {}, { raw: wellFormed(block.text), cause, detail });
  }

  #toolUse(open: OpenBlock, input: object, unreadable?: Unreadable): ModelEvent {
    this.#calls += 1;
    const block = { ...open.start, input } as unknown as ToolUseBlock;
    this.#options.callIds.add(block.id);
    const message: LogMessage = {
      ...this.#message(open, 'tool_use', block),
      toolUseId: block.id,
      ...(unreadable === undefined ? {} : { unreadable }),
    };
    return { type: 'toolUse', message, block };
  }

  #block(open: OpenBlock, kind: LogMessage['kind'], content: object, isSigned = true): ModelEvent {
    const message = this.#message(open, kind, content as ContentBlock);
    if (isSigned) return { type: 'block', message };
    const { model: _, ...unsigned } = message;
    return { type: 'block', message: unsigned };
  }

  #message({ uuid }: OpenBlock, kind: LogMessage['kind'], content: ContentBlock): LogMessage {
    this.#apiId ??= this.#freshApiId('');
    return {
      uuid,
      role: 'assistant',
      kind,
      origin: 'model',
      timestamp: this.#options.now(),
      content: [content],
      apiId: this.#apiId,
      model: this.#options.model,
    };
  }
}

/** The API's `error` event, from a client that does not throw it itself. */
class StreamErrorEvent extends Error {
  override readonly name = 'StreamErrorEvent';
  readonly error: unknown;
  constructor(error: unknown) {
    super('the stream ended with an error event');
    this.error = error;
  }
}

const rawEvent = (event: RawEvent, messageUuid?: string): ModelEvent => ({
  type: 'raw',
  event,
  messageUuid,
});
const shown = (value: unknown): string => wellFormed(String(JSON.stringify(value)).slice(0, 40));
const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The API starts empty; others send the first words with the start. */
function startText({ type, text, thinking }: Record<string, unknown>): string {
  if (type === 'text') return textIn(text);
  return type === 'thinking' ? textIn(thinking) : '';
}

/** Citations are `null` in an answer; going back they must be a list or absent. */
function textBlock({ start, text, citations }: OpenBlock): object {
  const { citations: given, ...rest } = start;
  const all = [...(Array.isArray(given) ? (given as unknown[]) : []), ...citations];
  return {
    ...rest,
    text: wellFormed(text),
    ...(all.length > 0 ? { citations: deepWellFormed(all) } : {}),
  };
}

/** Sent back untouched, with the input that came piece by piece (server tools). */
function otherBlock({ start, text }: OpenBlock): object {
  const read = text === '' ? undefined : readToolInput(text);
  return read?.ok ? { ...start, input: read.input } : start;
}

function legalName(name: unknown): string {
  const letters = textIn(name).replaceAll(/[^a-zA-Z0-9_-]/g, '_');
  return letters.slice(0, NAME_CHARS_MAX) || 'unknown';
}
