/**
 * Tools of a host's MCP server that lives in the host's process: the JSON-RPC messages travel
 * through a function, for example the `mcp_message` of the control protocol.
 */
import { Deadline } from '../deadline.ts';
import { recordOf } from '../is-record.ts';
import { messageOf } from '../message-of.ts';
import type { Tool } from '../tools/tool.ts';
import { Elicitation, type ElicitationRequest, elicitationCapability } from './elicitation.ts';
import { type CallServer, externalTools, type ListedTool } from './external-tool.ts';

/** A message of JSON-RPC 2.0, as MCP uses it. */
export interface JsonRpcMessage {
  readonly jsonrpc: '2.0';
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface InProcessMcpOptions {
  /** As the host calls it: the tools are named `mcp__<serverName>__<tool>`. */
  readonly serverName: string;
  /**
   * Hands a message to the server. *Contract:* resolves with the server's answer; what a
   * notification resolves with is ignored. A rejection counts as a failed call.
   */
  send(message: JsonRpcMessage): Promise<JsonRpcMessage>;
  readonly clientVersion: string;
  /** For `initialize` and each page of `tools/list`. Default: 30 s. */
  readonly connectMs?: number;
  /** For each call. Default: 120 s. */
  readonly toolMs?: number;
  /** The server's questions to the person. Absent: it is told that nobody answers. */
  readonly elicitation?: Elicitation;
  onWarning(text: string): void;
}

export interface InProcessMcp {
  readonly serverName: string;
  readonly status: 'connected' | 'failed';
  /** Why it failed. */
  readonly failure: string | undefined;
  /** What the server offers now; empty when it failed. */
  tools(): readonly Tool[];
  /** A message that the server sent by itself. Resolves with the answer to a request. */
  receive(message: JsonRpcMessage): Promise<JsonRpcMessage | undefined>;
  /** What it has asked is taken back. Idempotent. */
  close(): void;
}

const PROTOCOL_VERSION = '2025-06-18';
const CONNECT_MS = 30_000;
const TOOL_MS = 120_000;
/** A list that goes on for ever is a bug of the server. */
const PAGES_MAX = 100;

/** *Contract:* never rejects: a server that cannot be used is a status and a warning. */
export async function createInProcessMcp(options: InProcessMcpOptions): Promise<InProcessMcp> {
  const client = new InProcessClient(options);
  await client.connect();
  return client;
}

class InProcessClient implements InProcessMcp {
  readonly #options: InProcessMcpOptions;
  #tools: readonly Tool[] = [];
  readonly #elicitation: Elicitation;
  readonly #life = new AbortController();
  /** The server's questions that are open. */
  readonly #asked = new Map<number | string, AbortController>();
  #nextId = 1;
  failure: string | undefined;

  constructor(options: InProcessMcpOptions) {
    this.#options = options;
    this.#elicitation = options.elicitation ?? new Elicitation(options.serverName);
  }

  get serverName() {
    return this.#options.serverName;
  }
  get status() {
    return this.failure === undefined ? 'connected' : 'failed';
  }

  tools(): readonly Tool[] {
    return this.#tools;
  }

  async connect(): Promise<void> {
    try {
      await this.#request('initialize', {
        protocolVersion: PROTOCOL_VERSION,
        capabilities: this.#elicitation.isAnswered ? elicitationCapability : {},
        clientInfo: { name: 'escapement', version: this.#options.clientVersion },
      });
      await this.#notify('notifications/initialized');
      await this.#list();
    } catch (error) {
      this.failure = messageOf(error);
      this.#options.onWarning(`MCP server ${this.serverName} cannot be used: ${this.failure}`);
    }
  }

  async receive(message: JsonRpcMessage): Promise<JsonRpcMessage | undefined> {
    if (message.method === 'notifications/tools/list_changed') {
      await this.#list().catch((error: unknown) => {
        // The old list stays: most of it is probably still true.
        this.#options.onWarning(
          `MCP server ${this.serverName}: its new tools are not known: ${messageOf(error)}`,
        );
      });
      return undefined;
    }
    if (message.method === 'notifications/cancelled') {
      const { requestId } = recordOf(message.params);
      this.#asked.get(requestId as number | string)?.abort();
      return undefined;
    }
    if (message.id === undefined || message.method === undefined) return undefined;
    const { id, method } = message;
    if (method === 'ping') return { jsonrpc: '2.0', id, result: {} };
    if (method === 'elicitation/create' && this.#elicitation.isAnswered) {
      const request = recordOf(message.params) as unknown as ElicitationRequest;
      return { jsonrpc: '2.0', id, result: await this.#answer(id, request) };
    }
    return { jsonrpc: '2.0', id, error: { code: -32601, message: `Method not found: ${method}` } };
  }

  close(): void {
    this.#life.abort();
  }

  /** Until the server takes it back, or is closed. */
  async #answer(id: number | string, request: ElicitationRequest) {
    const own = new AbortController();
    this.#asked.set(id, own);
    try {
      const signal = AbortSignal.any([this.#life.signal, own.signal]);
      return await this.#elicitation.answer(request, signal);
    } finally {
      this.#asked.delete(id);
    }
  }

  async #list(): Promise<void> {
    const listed: ListedTool[] = [];
    let cursor: unknown;
    for (let page = 0; page < PAGES_MAX; page++) {
      const params = typeof cursor === 'string' ? { cursor } : {};
      const result = recordOf(await this.#request('tools/list', params));
      const { tools } = result;
      if (!Array.isArray(tools)) throw new Error('tools/list gave no list of tools');
      listed.push(...tools.filter(isListedTool));
      cursor = result.nextCursor;
      if (typeof cursor !== 'string') break;
    }
    const toolMs = this.#options.toolMs ?? TOOL_MS;
    const made = externalTools(this.serverName, listed, this.#call, toolMs);
    for (const warning of made.warnings) this.#options.onWarning(warning);
    this.#tools = made.tools;
  }

  readonly #call: CallServer = (name, input, { signal, context }) => {
    const _meta = { 'escapement/idempotencyKey': context.idempotencyKey };
    return this.#elicitation.during(context, () =>
      this.#request('tools/call', { name, arguments: input, _meta }, signal),
    );
  };

  /** Waits for the answer, the deadline or the signal, and tells the server of the latter two. */
  async #request(
    method: string,
    params: Readonly<Record<string, unknown>>,
    given?: AbortSignal,
  ): Promise<unknown> {
    const id = this.#nextId++;
    // A call has its deadline from the executor, which aborts the signal.
    const deadline = given ? undefined : new Deadline(this.#options.connectMs ?? CONNECT_MS);
    const signal = given ?? deadline?.signal;
    const end = new Ending(signal);
    try {
      const sent = this.#options.send({ jsonrpc: '2.0', id, method, params });
      const response = await Promise.race([sent, end.promise]);
      if (response !== undefined) return resultOf(response);
      void this.#notify('notifications/cancelled', { requestId: id, reason: 'not waited for' });
      throw new Error(given ? 'The call was cancelled.' : `no answer to ${method} in time`);
    } finally {
      end.dispose();
      deadline?.dispose();
    }
  }

  /** Nobody waits for what a notification does. */
  async #notify(method: string, params?: Readonly<Record<string, unknown>>): Promise<void> {
    const message: JsonRpcMessage = { jsonrpc: '2.0', method, ...(params ? { params } : {}) };
    await this.#options.send(message).catch(() => undefined);
  }
}

/** A signal as a promise that resolves with `undefined`; its listener can be taken off. */
class Ending {
  readonly #signal: AbortSignal | undefined;
  #end: () => void = () => {};
  readonly promise: Promise<undefined>;
  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    this.promise = new Promise((resolve) => {
      this.#end = () => resolve(undefined);
    });
    if (signal?.aborted) this.#end();
    else signal?.addEventListener('abort', this.#end, { once: true });
  }
  dispose() {
    this.#signal?.removeEventListener('abort', this.#end);
  }
}

function resultOf(response: JsonRpcMessage): unknown {
  const { error, result } = recordOf(response);
  if (error === undefined || error === null) return result;
  const { code, message } = recordOf(error);
  throw new Error(`MCP error ${String(code)}: ${String(message)}`);
}

const isListedTool = (value: unknown): value is ListedTool =>
  typeof recordOf(value).name === 'string';
