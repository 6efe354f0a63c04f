/** Short words for scripts. Each makes plain data; `more` overrides any field of the reply. */
import type {
  ComputedReply,
  CutReply,
  ErrorReply,
  MessageReply,
  RawReply,
  RedactedThinkingBlock,
  Reply,
  ReplyFunction,
  ScriptedBlock,
  SilentReply,
  Step,
  TextBlock,
  ThinkingBlock,
  ToolUseBlock,
  Use,
} from './script.ts';

/** Fields of `T` but for those that the helper fills in. */
type More<T, Filled extends keyof T> = Partial<Omit<T, Filled>>;

/** A text block. */
export const text = (words: string, more: More<TextBlock, 'type' | 'text'> = {}): TextBlock => ({
  type: 'text',
  text: words,
  ...more,
});

/** A thinking block; its signature is derived from the text. */
export const thinking = (
  words: string,
  more: More<ThinkingBlock, 'type' | 'thinking'> = {},
): ThinkingBlock => ({ type: 'thinking', thinking: words, ...more });

/** A thinking block that only the API can read. */
export const redactedThinking = (data: string): RedactedThinkingBlock => ({
  type: 'redacted_thinking',
  data,
});

/** A tool_use block. */
export const toolUse = (
  name: string,
  input: Readonly<Record<string, unknown>> = {},
  more: More<ToolUseBlock, 'type' | 'name' | 'input'> = {},
): ToolUseBlock => ({ type: 'tool_use', name, input, ...more });

/** A message with these blocks. */
export const message = (
  content: readonly ScriptedBlock[],
  more: More<MessageReply, 'kind' | 'content'> = {},
): MessageReply => ({ kind: 'message', content, ...more });

/** A message with one text block: the usual last word. */
export const say = (words: string, more: More<MessageReply, 'kind' | 'content'> = {}) =>
  message([text(words)], more);

/** A message with one tool call. */
export const callTool = (
  name: string,
  input: Readonly<Record<string, unknown>> = {},
  more: More<MessageReply, 'kind' | 'content'> = {},
) => message([toolUse(name, input)], more);

/** A message with several tool calls, as `[name, input]`. */
export const callTools = (
  calls: readonly (readonly [name: string, input: Readonly<Record<string, unknown>>])[],
  more: More<MessageReply, 'kind' | 'content'> = {},
) =>
  message(
    calls.map(([name, input]) => toolUse(name, input)),
    more,
  );

/** An HTTP error in the API's shape. */
export const httpError = (
  status: number,
  type: string,
  words: string,
  more: More<ErrorReply, 'kind' | 'status' | 'error'> = {},
): ErrorReply => ({ kind: 'error', status, error: { type, message: words }, ...more });

/** 529: the API has too much to do. */
export const overloaded = (more: More<ErrorReply, 'kind' | 'status' | 'error'> = {}) =>
  httpError(529, 'overloaded_error', 'Overloaded', more);

/** 429. `retryAfter` is the header's value: seconds, or a date. */
export const rateLimited = (
  retryAfter?: string,
  more: More<ErrorReply, 'kind' | 'status' | 'error' | 'headers'> = {},
) =>
  httpError(429, 'rate_limit_error', 'This request would exceed your rate limit.', {
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
    ...more,
  });

/** 500 of the API itself. */
export const serverError = (more: More<ErrorReply, 'kind' | 'status' | 'error'> = {}) =>
  httpError(500, 'api_error', 'Internal server error', more);

/** 400 in the words by which clients know that the prompt does not fit. */
export const tooLong = (
  tokens = 210_000,
  maximum = 200_000,
  more: More<ErrorReply, 'kind' | 'status' | 'error'> = {},
) =>
  httpError(
    400,
    'invalid_request_error',
    `prompt is too long: ${tokens} tokens > ${maximum} maximum`,
    more,
  );

/** 413 in the API's shape: the body has too many bytes. */
export const tooLarge = (more: More<ErrorReply, 'kind' | 'status' | 'error'> = {}) =>
  httpError(413, 'request_too_large', 'Request exceeds the maximum size', more);

/** An error page of a proxy in front of the API: HTML, not JSON. */
export const proxyError = (
  status: number,
  title: string,
  more: More<RawReply, 'kind' | 'status' | 'body'> = {},
): RawReply => ({
  kind: 'raw',
  status,
  headers: { 'content-type': 'text/html' },
  body: `<html><head><title>${status} ${title}</title></head><body>${title}</body></html>`,
  ...more,
});

/** A 200 that promises a stream and has no byte in it. */
export const emptyBody = (more: More<RawReply, 'kind' | 'status' | 'body'> = {}): RawReply => ({
  kind: 'raw',
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  body: '',
  ...more,
});

/** The connection breaks before any header. */
export const cut = (more: More<CutReply, 'kind'> = {}): CutReply => ({ kind: 'cut', ...more });

/** Headers never come. */
export const silent = (more: More<SilentReply, 'kind'> = {}): SilentReply => ({
  kind: 'silent',
  ...more,
});

/** A reply that depends on the request, with `when` and `times`. */
export const computed = (reply: ReplyFunction, use: Use = {}): ComputedReply => ({
  kind: 'computed',
  reply,
  ...use,
});

/** Above any bound of an engine that works, below what a hot loop does to a test machine. */
const FOREVER_TIMES = 40;

/**
 * A reply that repeats for ever, for proofs that a client gives up. After `limit` requests the
 * server falls silent, so that a loop without end shows as a test that times out, not as a
 * machine on fire.
 *
 * @example
 * const script = { replies: forever(overloaded()) };
 */
export function forever(reply: Reply | ReplyFunction | string, limit = FOREVER_TIMES): Step[] {
  const step: Reply | ComputedReply =
    typeof reply === 'string' ? say(reply) : typeof reply === 'function' ? computed(reply) : reply;
  return [
    { ...step, times: limit },
    { kind: 'silent', times: 'always' },
  ];
}
