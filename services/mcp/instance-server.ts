/**
 * A server that lives in this process: an `McpServer` of the protocol's SDK (either generation), as
 * `createSdkMcpServer` of the official Agent SDK makes it. Its messages travel as values.
 */
import type { Tool } from '../tools/tool.ts';
import { Elicitation, type HandleElicitation } from './elicitation.ts';
import { createInProcessMcp, type InProcessMcp, type JsonRpcMessage } from './in-process.ts';

/** The part of a transport that the SDK's servers use. */
interface ServerTransport {
  onmessage?: (message: JsonRpcMessage) => void;
  onclose?: () => void;
  start(): Promise<void>;
  send(message: JsonRpcMessage): Promise<void>;
  close(): Promise<void>;
}

export interface ServerInstance {
  connect(transport: ServerTransport): Promise<void>;
  close?(): Promise<void>;
}

export const isServerInstance = (value: unknown): value is ServerInstance =>
  value !== null &&
  typeof value === 'object' &&
  'connect' in value &&
  typeof value.connect === 'function';

export interface InstanceServerOptions {
  readonly name: string;
  readonly instance: ServerInstance;
  readonly clientVersion: string;
  readonly toolMs?: number;
}

/** Begins to connect when `connect` is called. *Contract:* nothing here throws but a tool's call. */
export class InstanceServer {
  readonly #options: InstanceServerOptions;
  readonly #waiting = new Map<number | string, (answer: JsonRpcMessage) => void>();
  #server: InProcessMcp | undefined;
  #ready: Promise<void> | undefined;
  #tell: (text: string) => void = (text) => this.#untold.push(text);
  readonly #untold: string[] = [];
  readonly #elicitation: Elicitation;

  constructor(options: InstanceServerOptions) {
    this.#options = options;
    this.#elicitation = new Elicitation(options.name);
  }

  get name(): string {
    return this.#options.name;
  }
  get status(): 'pending' | 'connected' | 'failed' {
    return this.#server?.status ?? 'pending';
  }
  get error(): string | undefined {
    return this.#server?.failure;
  }
  get tools(): readonly Tool[] {
    return this.#server?.tools() ?? [];
  }

  connect(): Promise<void> {
    this.#ready ??= this.#connect();
    return this.#ready;
  }

  listen(tell: (text: string) => void): void {
    this.#tell = tell;
    for (const text of this.#untold.splice(0)) tell(text);
  }

  /** Who answers what it asks the person. Before `connect`. */
  answerBy(handle: HandleElicitation): void {
    this.#elicitation.answerBy(handle);
  }

  async close(): Promise<void> {
    this.#server?.close();
    await this.#options.instance.close?.().catch(() => {});
  }

  async #connect(): Promise<void> {
    const { name, instance, clientVersion, toolMs } = this.#options;
    const transport: ServerTransport = {
      start: async () => {},
      send: async (message) => this.#hear(message, transport),
      close: async () => transport.onclose?.(),
    };
    const connecting = instance.connect(transport);
    this.#server = await createInProcessMcp({
      ...{ serverName: name, clientVersion, onWarning: (text) => this.#tell(text) },
      ...(toolMs === undefined ? {} : { toolMs }),
      elicitation: this.#elicitation,
      send: async (message) => {
        await connecting;
        return this.#send(message, transport);
      },
    });
  }

  #send(message: JsonRpcMessage, transport: ServerTransport): Promise<JsonRpcMessage> {
    const { id } = message;
    return new Promise((resolve) => {
      if (id === undefined) resolve({ jsonrpc: '2.0' });
      else this.#waiting.set(id, resolve);
      transport.onmessage?.(message);
    });
  }

  /** An answer to one of ours, or something that the server says by itself. */
  async #hear(message: JsonRpcMessage, transport: ServerTransport): Promise<void> {
    const isAnswer = message.method === undefined && message.id !== undefined;
    if (isAnswer && message.id !== undefined) {
      this.#waiting.get(message.id)?.(message);
      this.#waiting.delete(message.id);
      return;
    }
    const answer = await this.#server?.receive(message);
    if (answer) transport.onmessage?.(answer);
  }
}
