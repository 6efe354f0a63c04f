/** A Messages API that answers from a script and refuses what the real one would. */
import { messageOf } from '../../services/message-of.ts';
import { ReplyChooser } from './choose-reply.ts';
import { editContext } from './context-editing.ts';
import {
  BODY_BYTES_MAX,
  type Exchange,
  parsedBody,
  requestId,
  sendError,
  sendJson,
} from './http-exchange.ts';
import type { Incoming, Outlet } from './outlet.ts';
import { type Plan, planMessage, type WholeMessage } from './plan-message.ts';
import { play, wait, waitForEnd } from './play.ts';
import { type CacheReport, PromptCache } from './prompt-cache.ts';
import { headersWithoutKeys, type ReceivedRequest, type RequestBody } from './received-request.ts';
import { httpError } from './replies.ts';
import {
  type CountReply,
  type MessageReply,
  PURPOSE_HEADER,
  PURPOSES,
  type Purpose,
  type Reply,
  type Script,
} from './script.ts';
import { SentMemory } from './sent-memory.ts';
import {
  type BilledFilter,
  type BilledUsage,
  type LogEntry,
  type NewLogEntry,
  ServerLog,
} from './server-log.ts';
import { checkRequest, type Violation, violationLine } from './strict.ts';
import { tokensOfRequest } from './tokens.ts';
import { verdictOf } from './verdict.ts';

/** What a server has beside its script. */
export interface ServerOptions {
  /** Over the script's own. */
  readonly strict?: boolean;
  /** For rule S8. Share one between servers that play one conversation. */
  readonly memory?: SentMemory;
  /** Time of the prompt cache, in milliseconds. Default: the real one. */
  readonly nowMs?: () => number;
  /** Answer 401 to requests without any key. Default: false. */
  readonly requireKey?: boolean;
  /** For clients that send no purpose header. Default: all is `loop`. */
  readonly purposeOf?: (body: RequestBody) => Purpose;
  /** Called for each request that arrives, before it is answered. */
  readonly onRequest?: (request: ReceivedRequest) => void;
  /** Called for each entry of the log. */
  readonly onLog?: (entry: LogEntry) => void;
  /** Older requests are dropped from `requests`. Default: 10,000. */
  readonly requestsKeptMax?: number;
}

/** A rule that was broken, and by which request. */
export interface RequestViolation extends Violation {
  /** Sequence number of the request. */
  readonly request: number;
}

/** What a scripted API has seen and done. */
export interface ApiRecord {
  /** Requests to `/v1/messages` in the order of arrival, refused ones too. */
  readonly requests: readonly ReceivedRequest[];
  /** Requests of one purpose. */
  requestsOf(purpose: Purpose): ReceivedRequest[];
  /** Rules S1–S14 that requests broke. A request above the window (S15) is no violation. */
  readonly violations: readonly RequestViolation[];
  /** Mistakes of the script: places that a stream does not have, reply functions that threw. */
  readonly scriptErrors: readonly string[];
  readonly log: readonly LogEntry[];
  /** Replies of the loop that no request has taken. */
  readonly repliesLeft: number;
  /** Usage of the answers. */
  billed(filter?: BilledFilter): BilledUsage;
  /** How well the client used the prompt cache. */
  cacheReport(): CacheReport;
  /** Waits for an entry of the log, past or to come; `undefined` after `deadlineMs` (5 s). */
  until(holds: (entry: LogEntry) => boolean, deadlineMs?: number): Promise<LogEntry | undefined>;
}

const UNTIL_MS = 5_000;
const REQUESTS_KEPT_MAX = 10_000;
const WINDOW_TOKENS = 200_000;
const OUTPUT_TOKENS = 64_000;

/**
 * The API itself: what it answers, refuses and remembers. How a request comes in and an answer goes
 * out is the affair of others (`scripted-server.ts`, `scripted-model.ts`).
 */
export class ScriptedApi implements ApiRecord {
  readonly requests: ReceivedRequest[] = [];
  readonly violations: RequestViolation[] = [];
  readonly scriptErrors: string[] = [];
  readonly #script: Script;
  readonly #options: ServerOptions;
  readonly #chooser: ReplyChooser;
  readonly #memory: SentMemory;
  readonly #cache: PromptCache;
  readonly #log: ServerLog;
  readonly #closing = new AbortController();
  readonly #taken = new Map<Purpose, number>();
  readonly #nowMs: () => number;
  #sequence = 0;
  #messages = 0;
  #toolUses = 0;

  constructor(script: Script, options: ServerOptions) {
    const bornMs = performance.now();
    this.#script = script;
    this.#options = options;
    this.#chooser = new ReplyChooser(script);
    this.#memory = options.memory ?? new SentMemory();
    this.#nowMs = options.nowMs ?? Date.now;
    this.#cache = new PromptCache(
      script.cacheableTokensMin === undefined
        ? {}
        : { cacheableTokensMin: script.cacheableTokensMin },
    );
    this.#log = new ServerLog(() => performance.now() - bornMs);
    if (options.onLog) this.#log.listen(options.onLog);
  }

  get log(): readonly LogEntry[] {
    return this.#log.entries;
  }

  get repliesLeft(): number {
    return this.#chooser.repliesLeft;
  }

  /** Ends all waits. */
  close(): void {
    this.#closing.abort();
  }

  requestsOf(purpose: Purpose): ReceivedRequest[] {
    return this.requests.filter((request) => request.purpose === purpose);
  }

  billed(filter: BilledFilter = {}): BilledUsage {
    return this.#log.billed(filter);
  }

  cacheReport(): CacheReport {
    return this.#cache.report();
  }

  until(holds: (entry: LogEntry) => boolean, deadlineMs = UNTIL_MS): Promise<LogEntry | undefined> {
    const past = this.log.find(holds);
    if (past) return Promise.resolve(past);
    return new Promise((resolve) => {
      const done = (entry: LogEntry | undefined) => {
        clearTimeout(timer);
        stop();
        resolve(entry);
      };
      const timer = setTimeout(() => done(undefined), deadlineMs).unref();
      const stop = this.#log.listen((entry) => {
        if (holds(entry)) done(entry);
      });
    });
  }

  /** A request has arrived. `gone` fires when its client goes. */
  begin(outlet: Outlet, gone: AbortSignal): Exchange {
    const signal = AbortSignal.any([gone, this.#closing.signal]);
    return { outlet, signal, sequence: this.#sequence++, isCut: false };
  }

  /** The client has gone before its answer was whole: by itself, or since we broke it off. */
  lost({ sequence, isCut }: Exchange): void {
    if (isCut || this.#closing.signal.aborted) return;
    this.#add({ type: 'client_closed', request: sequence });
  }

  /** Answers. *Contract:* never rejects. */
  async serve(incoming: Incoming, exchange: Exchange): Promise<void> {
    try {
      if (incoming.body === 'too_long') this.#refuseSize(exchange);
      else await this.#route(incoming, incoming.body, exchange);
    } catch (error) {
      if (exchange.signal.aborted) return;
      this.#scriptError(exchange, messageOf(error));
    }
  }

  async #route(request: Incoming, bytes: Buffer, exchange: Exchange): Promise<void> {
    const { method } = request;
    const path = request.path.split('?')[0] ?? '/';
    if (method === 'POST' && path === '/v1/messages') {
      return this.#answerMessages(request, bytes, exchange);
    }
    this.#log.add({ type: 'other', request: exchange.sequence, method, path });
    if (method === 'POST' && path === '/v1/messages/count_tokens') {
      return this.#answerCount(bytes, exchange);
    }
    if (method === 'GET' && path.startsWith('/v1/models/')) {
      const id = decodeURIComponent(path.slice('/v1/models/'.length));
      return sendJson(exchange, 200, modelFacts(id, this.#script.window));
    }
    if (method === 'GET' && path === '/v1/models') {
      return sendJson(exchange, 200, { data: [], has_more: false, first_id: null, last_id: null });
    }
    if (method === 'HEAD') {
      exchange.outlet.begin(200, {});
      return exchange.outlet.end();
    }
    const words = `Not found: ${method} ${path}`;
    return this.#sendReply(httpError(404, 'not_found_error', words), exchange);
  }

  async #answerMessages(incoming: Incoming, bytes: Buffer, exchange: Exchange): Promise<void> {
    const body = parsedBody(bytes);
    if (!body) return this.#refuse(exchange, [NOT_JSON]);
    const headers = headersWithoutKeys(incoming.headers);
    const purpose = this.#purposeOf(headers, body);
    const request: ReceivedRequest = {
      sequence: exchange.sequence,
      purpose,
      n: this.#taken.get(purpose) ?? 0,
      atMs: this.#log.nowMs(),
      path: incoming.path,
      headers,
      hasKey: 'x-api-key' in incoming.headers || 'authorization' in incoming.headers,
      body,
      bytes: bytes.length,
    };
    this.#keep(request);
    if (this.#options.requireKey === true && !request.hasKey) {
      return this.#sendReply(NO_KEY, exchange, purpose);
    }
    const violations = this.#violationsOf(request);
    if (violations.length > 0) return this.#refuse(exchange, violations);
    if (body.context_management !== undefined && this.#script.contextEditing === 'refuse') {
      return this.#sendReply(NO_CONTEXT_EDITING, exchange, purpose);
    }
    this.#taken.set(purpose, request.n + 1);
    return this.#answer(await this.#chooser.take(request), request, exchange);
  }

  #keep(request: ReceivedRequest): void {
    this.requests.push(request);
    if (this.requests.length > (this.#options.requestsKeptMax ?? REQUESTS_KEPT_MAX)) {
      this.requests.shift();
    }
    const { sequence, purpose, n } = request;
    this.#log.add({ type: 'request', request: sequence, purpose, n });
    this.#options.onRequest?.(request);
  }

  #purposeOf(headers: Readonly<Record<string, string>>, body: RequestBody): Purpose {
    const said = headers[PURPOSE_HEADER];
    const known = PURPOSES.find((purpose) => purpose === said);
    // `main` and `subagent` are what the loop's requests are called inside an engine.
    if (known !== undefined || said !== undefined) return known ?? 'loop';
    return this.#options.purposeOf?.(body) ?? 'loop';
  }

  #violationsOf({ bytes, headers, ...request }: ReceivedRequest): Violation[] {
    const { window, imagesMax } = this.#script;
    const body = this.#understood(request.body);
    const found = checkRequest(body, {
      memory: this.#memory,
      bytes,
      betas: (headers['anthropic-beta'] ?? '').split(',').map((name) => name.trim()),
      ...(window === undefined ? {} : { windowTokens: window }),
      ...(imagesMax === undefined ? {} : { imagesMax }),
    });
    const strict = this.#options.strict ?? this.#script.strict ?? true;
    return strict ? found : found.filter(({ rule }) => rule === 'S15');
  }

  /** Without what this server takes no notice of. */
  #understood(body: RequestBody): RequestBody {
    if (this.#script.contextEditing !== 'ignore') return body;
    const { context_management: _unknown, ...known } = body;
    return known;
  }

  /** In the API's words: 413 for bytes, 400 for the rest; the window only if all else is well. */
  #refuse(exchange: Exchange, violations: readonly Violation[]): void {
    const broken = violations.filter(({ rule }) => rule !== 'S15');
    this.violations.push(...broken.map((v) => ({ request: exchange.sequence, ...v })));
    const tooLong = violations.find(({ rule }) => rule === 'S15');
    const tooLarge = broken.some(({ rule }) => rule === 'S14');
    const status = tooLarge ? 413 : 400;
    const type = tooLarge ? 'request_too_large' : 'invalid_request_error';
    const words =
      broken.length === 0 && tooLong
        ? tooLong.message
        : `strict: ${broken.slice(0, SHOWN_VIOLATIONS_MAX).map(violationLine).join(' | ')}`;
    this.#add({ type: 'refused', request: exchange.sequence, status, violations });
    sendError(exchange, status, { type, message: words });
  }

  #refuseSize(exchange: Exchange): void {
    this.#refuse(exchange, [
      { rule: 'S14', path: '', message: `body has more than ${BODY_BYTES_MAX} bytes` },
    ]);
  }

  async #answer(reply: Reply, request: ReceivedRequest, exchange: Exchange): Promise<void> {
    if (reply.kind !== 'message') return this.#sendReply(reply, exchange, request.purpose);
    await wait(reply.headersDelayMs ?? 0, exchange.signal);
    if (exchange.signal.aborted) return;
    const { body, applied } = editContext(this.#understood(request.body));
    const plan = planMessage(reply, {
      id: `msg_scripted_${++this.#messages}`,
      model: String(body.model),
      usage: { ...this.#cache.account(body, this.#nowMs()) },
      contextManagement: applied && { applied_edits: applied },
      nextToolUseId: () => `toolu_scripted_${++this.#toolUses}`,
    });
    if (!plan.ok) return this.#scriptError(exchange, `${plan.field}: ${plan.problem}`);
    this.#noteReply(exchange, request.purpose, verdictOf(reply));
    return request.body.stream === true
      ? this.#stream(reply, plan, request, exchange)
      : this.#sendWhole(reply, plan.message, request, exchange);
  }

  async #stream(
    reply: MessageReply,
    plan: Plan & { ok: true },
    { purpose }: ReceivedRequest,
    exchange: Exchange,
  ): Promise<void> {
    const { outlet, signal, sequence } = exchange;
    outlet.begin(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      ...requestId(sequence),
      ...reply.headers,
    });
    outlet.flush();
    const { model, stop_reason: stopReason } = plan.message;
    const sent = this.#memory.begin(model);
    const { complete, usage } = await play(plan.acts, {
      outlet,
      signal,
      dripIndex: reply.content.length,
      onEvent: (event, index) => this.#add({ type: 'event', request: sequence, event, index }),
      onBlock: (block) => sent.add(block),
      onFault: (fault) => {
        exchange.isCut = fault.kind === 'cut';
        this.#add({ type: 'fault', request: sequence, fault });
      },
    });
    if (complete && stopReason === 'pause_turn') sent.pause();
    this.#add({ type: 'answered', request: sequence, purpose, model, complete, usage });
  }

  /** Without streaming a fault is an error status (`error`), or half of the body. */
  async #sendWhole(
    { fault, headers }: MessageReply,
    message: WholeMessage,
    { purpose }: ReceivedRequest,
    exchange: Exchange,
  ): Promise<void> {
    const { outlet, signal, sequence } = exchange;
    const { model, usage } = message;
    if (fault) {
      exchange.isCut = fault.kind === 'cut';
      this.#add({ type: 'fault', request: sequence, fault });
      this.#add({ type: 'answered', request: sequence, purpose, model, complete: false, usage });
      await wait(fault.delayMs ?? 0, signal);
      if (fault.kind === 'error') {
        const status = 529;
        return sendError(exchange, status, fault.error ?? OVERLOADED, headers);
      }
      const json = JSON.stringify(message);
      outlet.begin(200, { 'content-type': 'application/json', ...headers });
      await outlet.write(json.slice(0, json.length / 2));
      if (fault.kind === 'cut') return outlet.cut(fault.reset === true);
      if (fault.kind === 'stall' || fault.kind === 'drip') return waitForEnd(signal);
      return outlet.end();
    }
    const sent = this.#memory.begin(model);
    for (const block of message.content) sent.add(block);
    if (message.stop_reason === 'pause_turn') sent.pause();
    this.#add({ type: 'answered', request: sequence, purpose, model, complete: true, usage });
    sendJson(exchange, 200, message, headers);
  }

  /** All but messages. */
  async #sendReply(
    reply: Exclude<Reply, MessageReply>,
    exchange: Exchange,
    purpose?: Purpose,
  ): Promise<void> {
    const { outlet, signal, sequence } = exchange;
    if (purpose) this.#noteReply(exchange, purpose, verdictOf(reply));
    if (reply.kind === 'silent') return waitForEnd(signal);
    await wait(reply.delayMs ?? 0, signal);
    if (signal.aborted) return;
    switch (reply.kind) {
      case 'cut':
        exchange.isCut = true;
        return outlet.cut(true);
      case 'error':
        return sendError(exchange, reply.status, reply.error, reply.headers);
      case 'raw':
        outlet.begin(reply.status, { ...requestId(sequence), ...reply.headers });
        return outlet.end(reply.body);
    }
  }

  async #answerCount(bytes: Buffer, exchange: Exchange): Promise<void> {
    const body = parsedBody(bytes);
    if (!body) return this.#refuse(exchange, [NOT_JSON]);
    const read = editContext(this.#understood(body)).body;
    const reply: number | CountReply = this.#script.countTokens ?? tokensOfRequest(read);
    if (typeof reply !== 'number') return this.#sendReply(reply, exchange);
    sendJson(exchange, 200, { input_tokens: reply });
  }

  #noteReply({ sequence }: Exchange, purpose: Purpose, verdict: string): void {
    this.#add({ type: 'reply', request: sequence, purpose, verdict });
  }

  /** 400, which no client tries again, so that a mistake in a script is seen at once. */
  #scriptError(exchange: Exchange, message: string): void {
    this.scriptErrors.push(message);
    this.#add({ type: 'script_error', request: exchange.sequence, message });
    if (exchange.outlet.isBegun) {
      exchange.outlet.cut(true);
      return;
    }
    const words = `mistake in the script: ${message}`;
    sendError(exchange, 400, { type: 'invalid_request_error', message: words });
  }

  #add(entry: NewLogEntry): void {
    this.#log.add(entry);
  }
}

const SHOWN_VIOLATIONS_MAX = 3;
const OVERLOADED = { type: 'overloaded_error', message: 'Overloaded' };
const NO_KEY = httpError(401, 'authentication_error', 'x-api-key header is required');
/** What the API says of a field that it does not know. */
const NO_CONTEXT_EDITING = httpError(
  400,
  'invalid_request_error',
  'context_management: Extra inputs are not permitted',
);
const NOT_JSON: Violation = {
  rule: 'S10',
  path: '',
  message: 'the body is no JSON object in valid UTF-8',
};

function modelFacts(id: string, window: number | undefined) {
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: '2026-01-01T00:00:00Z',
    max_input_tokens: window ?? WINDOW_TOKENS,
    max_tokens: OUTPUT_TOKENS,
  };
}
