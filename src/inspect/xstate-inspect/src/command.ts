/** What a tool may say to us. */
import type { HeardEvent } from './v5.ts';

export type Command =
  | { readonly type: 'xstate.inspecting' }
  | { readonly type: 'xstate.event'; readonly sessionId: string; readonly event: HeardEvent };

/** Words of the machinery: only XState itself says them. */
const RESERVED = /^(xstate|done|error)\./;

/** @returns `undefined` for what is not of the protocol. */
export function commandOf(text: string): Command | undefined {
  const command = objectOf(text);
  if (command?.type === 'xstate.inspecting') return { type: 'xstate.inspecting' };
  if (command?.type !== 'xstate.event' || typeof command.event !== 'string') return undefined;
  const envelope = objectOf(command.event);
  const data = envelope?.data;
  // tools name the session in one of these places
  const sessionId = envelope?.origin ?? command.sessionId ?? command.service;
  if (typeof sessionId !== 'string' || !isEvent(data)) return undefined;
  return { type: 'xstate.event', sessionId, event: data };
}

const isEvent = (value: unknown): value is HeardEvent =>
  typeof value === 'object' &&
  value !== null &&
  'type' in value &&
  typeof value.type === 'string' &&
  !RESERVED.test(value.type);

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
