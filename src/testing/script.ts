/**
 * The words of a script: what a scripted server answers, and how it goes wrong. Everything here is
 * plain data but for `computed` replies, `when.matches` and `until`, which JSON scripts do not
 * have.
 */
import type { ReceivedRequest } from './received-request.ts';

/** Header that says what a request is for. Without it a request counts as `loop`. */
export const PURPOSE_HEADER = 'x-escapement-purpose';

/** What requests are for: an iteration of a loop, and the four kinds of side call. */
export const PURPOSES = ['loop', 'compact', 'collapse', 'tool_summary', 'hook_agent'] as const;
export type Purpose = (typeof PURPOSES)[number];

/** Tokens as the API reports them; `null` and strange fields are what some gateways send. */
export interface UsageFields {
  readonly input_tokens?: number | null;
  readonly output_tokens?: number | null;
  readonly cache_read_input_tokens?: number | null;
  readonly cache_creation_input_tokens?: number | null;
  readonly [field: string]: unknown;
}

/** The `error` of the API's error body. */
export interface ApiError {
  /** `overloaded_error`, `invalid_request_error`, … */
  readonly type: string;
  readonly message: string;
}

/** How one block is streamed. The defaults: one delta, no waits, all of it. */
export interface BlockPace {
  /** Number of deltas that the text or the JSON is cut into. */
  readonly pieces?: number;
  /** Wait before `content_block_start`. */
  readonly startDelayMs?: number;
  /** Wait before each delta. */
  readonly deltaDelayMs?: number;
  /** 0…1: only this part of the text or JSON is sent, as when the output limit cuts a block. */
  readonly truncateAt?: number;
  /** Leaves out `content_block_stop`. */
  readonly noStop?: boolean;
}

export interface TextBlock extends BlockPace {
  readonly type: 'text';
  readonly text: string;
}

export interface ThinkingBlock extends BlockPace {
  readonly type: 'thinking';
  readonly thinking: string;
  /** Default: derived from the text, so that equal thinking has equal signatures. */
  readonly signature?: string;
}

export interface RedactedThinkingBlock extends BlockPace {
  readonly type: 'redacted_thinking';
  readonly data: string;
}

export interface ToolUseBlock extends BlockPace {
  readonly type: 'tool_use';
  readonly name: string;
  readonly input?: Readonly<Record<string, unknown>>;
  /** Default: `toolu_scripted_1`, `toolu_scripted_2`, … over the life of the server. */
  readonly id?: string;
  /** Streamed in place of `input`: for JSON that is broken. */
  readonly rawJson?: string;
}

/** Any block, verbatim: kinds that do not exist yet, deltas that do not fit their block. */
export interface RawBlock extends BlockPace {
  readonly type: 'raw';
  /** `content_block` of `content_block_start`. */
  readonly start: Readonly<Record<string, unknown>>;
  /** `delta` of each `content_block_delta`. */
  readonly deltas?: readonly Readonly<Record<string, unknown>>[];
}

export type ScriptedBlock =
  | TextBlock
  | ThinkingBlock
  | RedactedThinkingBlock
  | ToolUseBlock
  | RawBlock;

/**
 * A place in a stream. `headers`: before the first event. `blocks`: after the last block, before
 * `message_delta`. `{ block, delta }` counts from 0; `delta: -1` is directly after
 * `content_block_start`; without `delta` the block is complete. `bytes` counts the body.
 */
export type Position =
  | 'headers'
  | 'message_start'
  | 'blocks'
  | 'message_delta'
  | { readonly block: number; readonly delta?: number }
  | { readonly events: number }
  | { readonly bytes: number };

interface FaultPlace {
  /** Where it happens. Nothing after this place is sent. */
  readonly after: Position;
  /** Wait before it happens. */
  readonly delayMs?: number;
}

/** The connection breaks. `reset` sends RST: bytes that the client has not read may be lost. */
export interface CutFault extends FaultPlace {
  readonly kind: 'cut';
  readonly reset?: boolean;
}

/** The body ends as if it were whole, as a proxy does that loses its upstream. */
export interface EndFault extends FaultPlace {
  readonly kind: 'end';
}

/** An SSE `error` event, then the end of the body. */
export interface ErrorFault extends FaultPlace {
  readonly kind: 'error';
  /** Default: `overloaded_error`. */
  readonly error?: ApiError;
}

/** A line that is not JSON, then the end of the body. */
export interface GarbageFault extends FaultPlace {
  readonly kind: 'garbage';
  /** Default: half of a delta event. */
  readonly line?: string;
}

/** Nothing comes any more; the socket stays open. With `pingEveryMs` only pings come. */
export interface StallFault extends FaultPlace {
  readonly kind: 'stall';
  readonly pingEveryMs?: number;
}

/** Tiny deltas for ever: always alive, never done. */
export interface DripFault extends FaultPlace {
  readonly kind: 'drip';
  /** Default: 10. */
  readonly everyMs?: number;
  /** Text of each delta. Default: `.`. Goes into a text block of its own. */
  readonly text?: string;
}

export type Fault = CutFault | EndFault | ErrorFault | GarbageFault | StallFault | DripFault;

/** Something more in the stream: a ping, an event that nobody knows, a wait, bytes as they are. */
export interface Insert {
  readonly after: Position;
  /** Wait before it: a stream that is slow, but alive. */
  readonly waitMs?: number;
  /** The stream goes on when this resolves: an order of things without a clock. In code only. */
  readonly until?: () => Promise<unknown>;
  /** An SSE event. `data` is sent as JSON; `type` is added to it. */
  readonly event?: { readonly type: string; readonly data?: Readonly<Record<string, unknown>> };
  /** Written to the body as it is: comments, CRLF line ends, `data:` without a name. */
  readonly raw?: string;
}

/** Which requests a reply is for. All that is named must hold. */
export interface Condition {
  /** Default: the list's own purpose (`loop` for `replies`). */
  readonly purpose?: Purpose;
  /** Number of the request among those of its purpose, from 0; refused requests do not count. */
  readonly n?: number;
  readonly model?: string;
  /** Case-sensitive, in the last text block of the last message. */
  readonly lastTextIncludes?: string;
  /** In any tool_result of the last message. */
  readonly toolResultIncludes?: string;
  /** In the first user message: tells a subagent's loop from its parent's. */
  readonly firstTextIncludes?: string;
  readonly systemIncludes?: string;
  /** In code only. */
  readonly matches?: (request: ReceivedRequest) => boolean;
}

/** When a reply is taken. */
export interface Use {
  readonly when?: Condition;
  /** How many requests it answers. Default: 1. */
  readonly times?: number | 'always';
}

/** A message, streamed as SSE, or as one JSON body if the request does not ask for a stream. */
export interface MessageReply extends Use {
  readonly kind: 'message';
  readonly content: readonly ScriptedBlock[];
  /** Default: `tool_use` if the content has a tool_use block, else `end_turn`. */
  readonly stopReason?: string;
  /** More fields of `message_delta`'s delta: `stop_sequence`, `stop_details`, … */
  readonly stopDetails?: Readonly<Record<string, unknown>>;
  /** Default: echoes the request's. */
  readonly model?: string;
  readonly id?: string;
  /** Over what the server works out: input and cache from the request, output from the content. */
  readonly usage?: UsageFields;
  /** Only over the usage of `message_start`; `null` leaves the whole field `usage` out. */
  readonly startUsage?: UsageFields | null;
  /** Only over the usage of `message_delta`; `null` leaves the whole field `usage` out. */
  readonly finalUsage?: UsageFields | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Wait before the headers. */
  readonly headersDelayMs?: number;
  /** Wait between the headers and `message_start`. */
  readonly firstEventDelayMs?: number;
  /** Wait before `message_delta`. */
  readonly stopDelayMs?: number;
  /** Wait before each delta of a block that does not say its own. */
  readonly deltaDelayMs?: number;
  /** Pings after `message_start`. */
  readonly pings?: number;
  readonly inserts?: readonly Insert[];
  /** Events that are left out. */
  readonly omit?: readonly ('message_start' | 'message_delta' | 'message_stop')[];
  readonly fault?: Fault;
}

/** An HTTP error in the API's shape. */
export interface ErrorReply extends Use {
  readonly kind: 'error';
  readonly status: number;
  readonly error: ApiError;
  /** `retry-after`, `x-should-retry`, … */
  readonly headers?: Readonly<Record<string, string>>;
  readonly delayMs?: number;
}

/** The connection breaks before any header. */
export interface CutReply extends Use {
  readonly kind: 'cut';
  readonly delayMs?: number;
}

/** Never answers. */
export interface SilentReply extends Use {
  readonly kind: 'silent';
}

/** Any HTTP answer, verbatim: a proxy's HTML page, a 200 with nothing in it. */
export interface RawReply extends Use {
  readonly kind: 'raw';
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  readonly delayMs?: number;
}

/** What goes over the wire for one request. */
export type Reply = MessageReply | ErrorReply | CutReply | SilentReply | RawReply;

/**
 * A reply that depends on the request. `n` is the number of the request among those of its
 * purpose, from 0. A string is short for a message with one text block.
 * *Contract:* a throw is a mistake in the script; the client gets a 400 that says so.
 */
export type ReplyFunction = (
  request: ReceivedRequest,
  n: number,
) => Reply | string | Promise<Reply | string>;

/** A reply function with its own `when` and `times`. In code only. */
export interface ComputedReply extends Use {
  readonly kind: 'computed';
  readonly reply: ReplyFunction;
}

/** One entry of a list of replies. A bare string or function is taken once. */
export type Step = Reply | ComputedReply | ReplyFunction | string;

/** An answer of `/v1/messages/count_tokens`. */
export type CountReply = ErrorReply | CutReply | SilentReply | RawReply;

/**
 * What a server answers.
 *
 * Of a list, each request takes **the first step that is not used up and whose `when` holds**. So
 * steps without `when` are taken in order, and a step with `when` in front of them is a branch.
 * Requests that are refused (a broken rule, the window) use nothing up.
 *
 * @example
 * const script: Script = {
 *   replies: [overloaded(), callTool('Read', { file_path: '/tmp/a' }), say('done')],
 * };
 */
export interface Script {
  readonly name?: string;
  readonly description?: string;
  /** For requests of the loop (and others, where a step's `when.purpose` says so). */
  readonly replies?: readonly Step[];
  /** For requests of the loop when `replies` has nothing left. Default: a text that says so. */
  readonly whenExhausted?: Step;
  /** Summaries of the conversation. The last one repeats; the default holds SUMMARY_MARK. */
  readonly compactions?: readonly Step[];
  /** Staged parts of the conversation. The last one repeats; the default holds COLLAPSE_MARK. */
  readonly collapses?: readonly Step[];
  /** One line about tool calls. The last one repeats. */
  readonly toolSummaries?: readonly Step[];
  /** Verdicts of hooks that ask a model. The last one repeats; default: `{"ok":true}`. */
  readonly hookAgents?: readonly Step[];
  /** `input_tokens` of count_tokens, or how it fails. Default: the server's own estimate. */
  readonly countTokens?: number | CountReply;
  /** Refuse what the API would refuse (rules S1–S14). Default: true. */
  readonly strict?: boolean;
  /** Tokens of context; a longer request is answered "prompt is too long" (rule S15). */
  readonly window?: number;
  /** Prefixes below this are not cached. Default: 1,024. */
  readonly cacheableTokensMin?: number;
  /**
   * A server that edits no contexts: `refuse` answers 400 to the field, `ignore` takes no notice of
   * it, as gateways do. Default: it edits them, as the API does.
   */
  readonly contextEditing?: 'refuse' | 'ignore';
  /** Images per request (rule S12). Default: 100. */
  readonly imagesMax?: number;
}
