/** XState 5 actors in tools for XState 4: see docs/xstate-inspect.md of Escapement. */
export { type Bridge, type BridgeOptions, createV4Bridge } from './bridge.ts';
export { receiverAddress, receiverOf } from './receiver.ts';
export type { HeardEvent, InspectedEvent } from './v5.ts';
