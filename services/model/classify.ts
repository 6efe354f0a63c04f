/**
 * From whatever a client throws to a `Failure` of the chart. Structural: hosts inject clients, so
 * that an error may come from another copy of the SDK, or from no SDK at all; nothing here asks
 * `instanceof`. First what we know ourselves, then `type`, then `status` (in-stream errors have no
 * status), the text only where nothing else tells.
 *
 * Evidence (SDK 1.14.0 against a loopback server; texts from the API's real answers):
 *
 * | what happened                        | what is thrown                                  | class
 * |--------------------------------------|-------------------------------------------------|------
 * | no bytes, only pings, no headers     | `WatchError` (ours) with its class              | its own
 * | stream ends without message_stop     | nothing: `call-model.ts` says so                | truncated
 * | reset before headers                 | APIConnectionError, cause.cause.code ECONNRESET | connection
 * | reset in the stream                  | TypeError "terminated", cause.code ECONNRESET   | connection
 * | Node's own limit of 300 s            | UND_ERR_BODY_TIMEOUT / UND_ERR_HEADERS_TIMEOUT  | stalled / timeout
 * | headers too late                     | APIConnectionTimeoutError                       | timeout
 * | a `data:` line that is no JSON       | SyntaxError                                     | protocol
 * | SSE `error` event                    | APIError without status, with `type`            | by type
 * | 529, overloaded_error                | OverloadedError                                 | overloaded
 * | 429, rate_limit_error                | RateLimitError                                  | rate_limited
 * | 401, 402, 403                        | `type` authentication_, billing_, permission_   | auth
 * | 413 JSON, or HTML of a proxy         | status 413, `type` may be null                  | request_too_large
 * | 400 "prompt is too long: 210000 tokens > 200000 maximum"   (Anthropic, Vertex)         | prompt_too_long
 * | 400 "Input is too long for requested model."               (Bedrock)                   | prompt_too_long
 * | 400 "the request exceeds the available context size"       (llama.cpp)                 | prompt_too_long
 * | 400 "This model's maximum context length is 8192 tokens"   (vLLM)                      | prompt_too_long
 * | 400 "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"      | output_cap_too_high
 * | 400 "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens" | output_cap_too_high
 * | 400 "…image.source.base64.data: At least one of the image dimensions exceed max …"     | bad_image
 * | 400 "…image.source.base64: image exceeds 5 MB maximum: 8259148 bytes > 5242880 bytes"  | bad_image
 * | 400 "Could not process image" / "A maximum of 100 PDF pages may be provided"           | bad_image
 */
import type { Failure, FailureClass } from '../../machines/state.ts';
import { isRecord } from '../is-record.ts';
import { forbidsRetry, type HeadersLike, jitter, retryAfterMs } from './backoff.ts';
import { errorLine } from './error-line.ts';

/** Below this an answer is not worth asking for: the prompt has to become shorter instead. */
const FITTING_TOKENS_MIN = 1_024;
/** The API counts a little differently from one request to the next. */
const FITTING_MARGIN_TOKENS = 1_000;
/** An error whose causes go in a circle must not hang us. */
const CAUSES_MAX = 8;
/** The longest wait that the chart obeys without a word; people are told of longer ones. */
const NOTABLE_WAIT_MS = 60_000;

/** What an error says of itself, over its whole chain of causes. */
export interface ErrorFacts {
  readonly status: number | undefined;
  /** `error.type` of the API's answer. */
  readonly type: string | undefined;
  readonly errorCode: string | undefined;
  /** The API's own sentence, else the error's. */
  readonly message: string;
  readonly headers: HeadersLike | undefined;
  readonly names: readonly string[];
  /** System and undici codes. */
  readonly codes: readonly string[];
  readonly messages: readonly string[];
  /** A class that our own code has already given. */
  readonly known: FailureClass | undefined;
}

/** The one sentence and the one class of an error. Never throws, whatever was thrown. */
export function classify(error: unknown, dice: { nowMs: number; random: number }): Failure {
  const facts = factsOf(error);
  const { class: kind, fittingTokens } = classOf(facts);
  const waitMs = retryAfterMs(facts.headers, dice.nowMs);
  const isFinal = forbidsRetry(facts.headers) || facts.codes.some((code) => HOPELESS.test(code));
  const when =
    waitMs !== undefined && waitMs > NOTABLE_WAIT_MS
      ? `; may be tried again in ${Math.ceil(waitMs / 1_000)} s, at ${timeOf(dice.nowMs + waitMs)}`
      : '';
  return {
    class: kind,
    detail: errorLine(facts) + when,
    jitter: jitter(dice.random),
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
    ...(fittingTokens === undefined ? {} : { fittingTokens }),
    ...(facts.status === undefined ? {} : { status: facts.status }),
    ...(isFinal ? { isFinal } : {}),
  };
}

interface Verdict {
  readonly class: FailureClass;
  readonly fittingTokens?: number;
}

function classOf(facts: ErrorFacts): Verdict {
  if (facts.known) return { class: facts.known };
  const answered = facts.status !== undefined || facts.type !== undefined;
  return answered ? classOfAnswer(facts) : { class: classOfTransport(facts) };
}

const CLASS_OF_TYPE: Readonly<Record<string, FailureClass>> = {
  overloaded_error: 'overloaded',
  rate_limit_error: 'rate_limited',
  api_error: 'server',
  timeout_error: 'server',
  authentication_error: 'auth',
  permission_error: 'auth',
  billing_error: 'auth',
  not_found_error: 'not_found',
  request_too_large: 'request_too_large',
  // llama.cpp
  exceed_context_size_error: 'prompt_too_long',
};

function classOfAnswer(facts: ErrorFacts): Verdict {
  const { status, type } = facts;
  if (status === 413) return { class: 'request_too_large' };
  const byType = type === undefined ? undefined : CLASS_OF_TYPE[type];
  if (byType) return { class: byType };
  if (status === 400 || status === 422 || type === 'invalid_request_error') {
    return classOfRefusal(facts);
  }
  // An error event of a kind that we do not know: the API began to answer, so it liked the request.
  if (status === undefined) return { class: 'server' };
  if (status === 529) return { class: 'overloaded' };
  if (status === 429) return { class: 'rate_limited' };
  if (status === 401 || status === 402 || status === 403) return { class: 'auth' };
  if (status === 404) return { class: 'not_found' };
  if (status === 408) return { class: 'timeout' };
  // 409 is a lock timeout of the API: worth another try, as the SDK has it too.
  if (status === 409 || status >= 500) return { class: 'server' };
  return { class: 'bad_request' };
}

const NUMBER = String.raw`([\d,_]+)`;
const CAP_AND_PROMPT = new RegExp(
  `input length and .?max_tokens.? exceed context limit:?\\s*${NUMBER}\\s*\\+\\s*${NUMBER}\\s*>\\s*${NUMBER}`,
  'i',
);
const CAP_ALONE = new RegExp(`max_tokens:?\\s*${NUMBER}\\s*>\\s*${NUMBER}`, 'i');
const TOO_LONG =
  /prompt is too long|input is too long|input length and .?max_tokens.? exceed|exceed\w* [^.]{0,60}\bcontext\b|context[ _](length|window|size|limit)[^.]{0,40}exceed|maximum context length/i;
// `\b` keeps names of tools out: in `generate_image` there is none before the i.
const MEDIA = /\bimages?\b|\bpdf\b|\bmedia[ _]?types?\b|\bdocument source\b/i;

/** A 400 in all its meanings: only the text tells. */
function classOfRefusal({ message, errorCode }: ErrorFacts): Verdict {
  const both = CAP_AND_PROMPT.exec(message);
  if (both) return roomFor(numberOf(both[3]) - numberOf(both[1]));
  const cap = CAP_ALONE.exec(message);
  if (cap) return { class: 'output_cap_too_high', fittingTokens: numberOf(cap[2]) };
  if (TOO_LONG.test(message)) return { class: 'prompt_too_long' };
  if (MEDIA.test(message) || /image|pdf/i.test(errorCode ?? '')) return { class: 'bad_image' };
  return { class: 'bad_request' };
}

function roomFor(tokens: number): Verdict {
  const fittingTokens = tokens - FITTING_MARGIN_TOKENS;
  return fittingTokens >= FITTING_TOKENS_MIN
    ? { class: 'output_cap_too_high', fittingTokens }
    : { class: 'prompt_too_long' };
}

/** Will be the same the next time: certificates, a base URL that is none. */
const HOPELESS =
  /^(CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(GET|VERIFY)|ERR_TLS_CERT|ERR_INVALID_URL)/;
const SYSTEM = /^(E[A-Z]{3,}|UND_ERR_|ERR_(TLS|SSL|HTTP2|STREAM|SOCKET))/;
const LOST = /terminated|fetch failed|socket hang up|network (error|connection)|premature close/i;

function classOfTransport({ names, codes, messages }: ErrorFacts): FailureClass {
  if (messages.some((text) => TOO_LONG.test(text))) return 'prompt_too_long'; // Bedrock's stream
  if (names.some((name) => /Throttl/.test(name))) return 'rate_limited';
  if (codes.includes('UND_ERR_BODY_TIMEOUT')) return 'stalled';
  if (codes.includes('UND_ERR_HEADERS_TIMEOUT')) return 'timeout';
  if (names.some((name) => /Timeout/.test(name))) return 'timeout';
  if (names.includes('SyntaxError')) return 'protocol';
  // Not our signal, that was looked at before: a limit of the client's own.
  if (names.some((name) => name === 'AbortError' || name === 'APIUserAbortError')) {
    return 'connection';
  }
  if (names.some((name) => /Connection/.test(name))) return 'connection';
  if (codes.some((code) => HOPELESS.test(code) || SYSTEM.test(code))) return 'connection';
  if (messages.some((text) => LOST.test(text))) return 'connection';
  if (messages.some((text) => /resolve authentication method|credential/i.test(text)))
    return 'auth';
  return 'bug';
}

function factsOf(error: unknown): ErrorFacts {
  const chain = chainOf(error);
  const first = <T>(pick: (link: Record<string, unknown>) => T | undefined): T | undefined => {
    for (const link of chain) {
      const found = pick(link);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const all = (pick: (link: Record<string, unknown>) => unknown) =>
    chain.map(pick).filter((found): found is string => typeof found === 'string');
  const messages = all((link) => link.message);
  return {
    status: first(statusOf),
    type: first((link) => apiType(link.type) ?? apiType(answerOf(link)?.type)),
    errorCode: first((link) => text(link.errorCode)),
    message:
      first((link) => text(link.apiMessage) ?? text(answerOf(link)?.message)) ??
      messages[0] ??
      (typeof error === 'string' ? error : 'unknown error'),
    headers: first(({ headers }) =>
      typeof headers === 'object' && headers !== null ? (headers as HeadersLike) : undefined,
    ),
    names: all((link) => link.name),
    codes: all((link) => link.code),
    messages,
    known: first(({ failureClass }) => text(failureClass) as FailureClass | undefined),
  };
}

/** The `{ type, message }` of the API, however deep a client keeps its body. */
function answerOf({ error }: Record<string, unknown>): Record<string, unknown> | undefined {
  if (!isRecord(error)) return undefined;
  if (isRecord(error.error)) return error.error;
  return error.type === 'error' ? undefined : error;
}

function chainOf(error: unknown): readonly Record<string, unknown>[] {
  const chain: Record<string, unknown>[] = [];
  let at = error;
  while (typeof at === 'object' && at !== null && chain.length < CAUSES_MAX) {
    chain.push(at as Record<string, unknown>);
    at = (at as { cause?: unknown }).cause;
  }
  return chain;
}

/** `$metadata` is where the AWS clients keep it. */
function statusOf({ status, $metadata }: Record<string, unknown>): number | undefined {
  if (typeof status === 'number') return status;
  const code = isRecord($metadata) ? $metadata.httpStatusCode : undefined;
  return typeof code === 'number' ? code : undefined;
}

/** Other libraries have a `type` too (`system` of node-fetch); the API's end all alike. */
const apiType = (value: unknown): string | undefined =>
  typeof value === 'string' && /(_error|^request_too_large)$/.test(value) ? value : undefined;
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
const numberOf = (digits: string | undefined): number => Number(digits?.replaceAll(/[,_]/g, ''));
/** ISO 8601; a wait beyond the calendar has no date. */
const timeOf = (ms: number): string => {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? 'no date' : date.toISOString();
};
