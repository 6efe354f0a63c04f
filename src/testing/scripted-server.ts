/** The scripted API behind HTTP, on loopback. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { bodyOf } from './http-exchange.ts';
import { httpOutlet } from './outlet.ts';
import type { Script } from './script.ts';
import { type ApiRecord, ScriptedApi, type ServerOptions } from './scripted-api.ts';

/** A running, or not yet running, scripted server. */
export interface ScriptedServer extends ApiRecord {
  /** `http://127.0.0.1:PORT`. *Contract:* only while it listens. */
  readonly url: string;
  /** Port 0, the default, is any free one. Rejects if the port is taken. */
  listen(port?: number): Promise<string>;
  /** Breaks all connections, ends all waits. Resolves when the port is free. */
  close(): Promise<void>;
}

/**
 * Makes a server; it does not listen yet.
 *
 * @example
 * const server = createScriptedServer({ replies: [overloaded(), say('hello')] });
 * process.env.ANTHROPIC_BASE_URL = await server.listen();
 * // … run the client …
 * assert.deepEqual(server.violations, []);
 * await server.close();
 */
export function createScriptedServer(script: Script, options: ServerOptions = {}): ScriptedServer {
  return new LoopbackServer(script, options);
}

/** Makes a server that listens on a free port of 127.0.0.1. */
export async function startScriptedServer(
  script: Script,
  options: ServerOptions = {},
): Promise<ScriptedServer> {
  const server = createScriptedServer(script, options);
  await server.listen();
  return server;
}

const HOST = '127.0.0.1';

class LoopbackServer extends ScriptedApi implements ScriptedServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(script: Script, options: ServerOptions) {
    super(script, options);
    this.#server = createServer((request, response) => void this.#take(request, response));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  get url(): string {
    const address = this.#server.address() as AddressInfo | null;
    if (!address) throw new Error('the scripted server does not listen; call listen() first');
    return `http://${HOST}:${address.port}`;
  }

  listen(port = 0): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, HOST, () => {
        this.#server.off('error', reject);
        resolve(this.url);
      });
    });
  }

  override close(): Promise<void> {
    void super.close();
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      for (const socket of this.#sockets) socket.destroy();
    });
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    const exchange = this.begin(httpOutlet(response), gone.signal);
    response.on('close', () => {
      gone.abort();
      if (!response.writableFinished) this.lost(exchange);
    });
    // A client that goes, or a socket that we cut, is no error of ours.
    response.on('error', () => gone.abort());
    const body = await bodyOf(request);
    if (body === 'gone') return;
    const { method = 'GET', url: path = '/', headers } = request;
    await this.serve({ method, path, headers, body }, exchange);
  }
}
