/** Snapshots and events of XState 5 as XState 4 writes them down. */
import type { Definition } from './definition.ts';
import type { Actor, HeardEvent, Snapshot } from './v5.ts';

/** Makes a value of the host small, free of secrets, and fit for JSON. */
export type Show = (value: unknown) => unknown;

/** An event in its envelope. */
export interface V4Event {
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly $$type: 'scxml';
  readonly type: 'external' | 'internal';
  /** The session of the sender. */
  readonly origin?: string;
}

export function eventOf(
  event: HeardEvent,
  { eventName }: Definition,
  show: Show,
  origin: string | undefined,
): V4Event {
  const name = eventName(event.type);
  const shown = show(event);
  const data = typeof shown === 'object' && shown !== null ? shown : {};
  return {
    name,
    data: { ...data, type: name },
    $$type: 'scxml',
    type: 'external',
    ...(origin === undefined ? {} : { origin }),
  };
}

/**
 * The state of an actor. One without states of its own is in the state that its status names, and
 * what it has said stands where a context would.
 */
export function stateOf(
  actor: Actor,
  snapshot: Snapshot | undefined,
  event: V4Event,
  sessionId: string,
  show: Show,
) {
  const status = snapshot?.status ?? 'active';
  const isMachine = actor.logic?.root !== undefined && snapshot?.value !== undefined;
  const children = Object.entries(snapshot?.children ?? {});
  return {
    value: isMachine ? snapshot.value : status,
    context: show(snapshot?.context ?? saidBy(snapshot)),
    event: event.data,
    _event: event,
    _sessionid: sessionId,
    // XState 4 derives the rest from the machine when it resolves the state
    historyValue: undefined,
    actions: [],
    activities: {},
    events: [],
    configuration: [],
    transitions: [],
    children: Object.fromEntries(children.map(([id, child]) => [id, { id: child?.id ?? id }])),
    done: status !== 'active',
    tags: [...(snapshot?.tags ?? [])],
    changed: true,
  };
}

function saidBy(snapshot: Snapshot | undefined): Readonly<Record<string, unknown>> {
  return {
    ...(snapshot?.output === undefined ? {} : { output: snapshot.output }),
    ...(snapshot?.error === undefined ? {} : { error: snapshot.error }),
  };
}
