/** The other end: a tool that looks on, made of what @xstate/inspect itself ships. */
import { createWebSocketReceiver, type InspectReceiver } from '@xstate/inspect';
import { WebSocket } from 'ws';

/** Below the address of the inspector's page: where the protocol of @xstate/inspect is spoken. */
const ROUTE = 'xstate-inspect';

/**
 * Where tools for @xstate/inspect find an inspector, as they want to be told it: without `ws://`.
 * @param page the address that the inspector prints: `http://127.0.0.1:4711/<token>/`
 */
export function receiverAddress(page: string): string {
  const { host, pathname } = new URL(page);
  return `${host}${pathname.replace(/\/?$/, '/')}${ROUTE}`;
}

/**
 * The receiver of @xstate/inspect, looking at our inspector. Its events carry machines and states
 * of XState 4.
 * @example
 * const receiver = receiverOf(inspector.url);
 * receiver.subscribe((event) => {
 *   if (event.type === 'service.state') console.log(event.state.value);
 * });
 */
export function receiverOf(page: string): InspectReceiver {
  // Node 20 has no WebSocket of its own, and the receiver takes the global one.
  const scope = globalThis as { WebSocket?: unknown };
  scope.WebSocket ??= WebSocket;
  return createWebSocketReceiver({ server: receiverAddress(page), serialize: undefined });
}
