/** A tool that looks on: the receiver of @xstate/inspect itself, and what it has heard. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import {
  type Bridge,
  type BridgeOptions,
  createV4Bridge,
  receiverOf,
} from '../../../src/inspect/xstate-inspect/src/index.ts';

type Receiver = ReturnType<typeof receiverOf>;
export type Heard = NonNullable<ReturnType<Receiver['getSnapshot']>>;
export type Registered = Extract<Heard, { type: 'service.register' }>;
export type V4Machine = Registered['machine'];

/** Far above what anything here takes. */
const PATIENCE_MS = 10_000;

export class Onlooker {
  readonly heard: Heard[] = [];
  readonly receiver: Receiver;
  #look: () => void = () => {};

  constructor(page: string) {
    this.receiver = receiverOf(page);
    this.receiver.subscribe((event) => {
      this.heard.push(event);
      this.#look();
    });
  }

  of<T extends Heard['type']>(type: T): readonly Extract<Heard, { type: T }>[] {
    return this.heard.filter((event): event is Extract<Heard, { type: T }> => event.type === type);
  }

  /** The first thing heard, or to be heard, for which it holds. */
  async until(holds: (event: Heard) => boolean): Promise<Heard> {
    const deadline = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      const found = this.heard.find(holds);
      if (found) return found;
      await new Promise<void>((resolve, reject) => {
        this.#look = resolve;
        deadline.onabort = () =>
          reject(
            new Error(`not heard; heard: ${JSON.stringify(this.heard.map(({ type }) => type))}`),
          );
      });
    }
  }
}

/** The smallest server that a bridge can live in. It checks nothing. */
export async function openBridge(options?: BridgeOptions) {
  const bridge = createV4Bridge(options);
  const server = createServer();
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => void sockets.add(socket));
  server.on('upgrade', (request, socket, head) => bridge.connect(request, socket, head));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const page = `http://127.0.0.1:${port}/token/`;
  return { bridge, page, sockets, close: () => closeBoth(bridge, server) };
}

async function closeBoth(bridge: Bridge, server: Server): Promise<void> {
  bridge.close();
  await new Promise((resolve) => void server.close(resolve));
}
