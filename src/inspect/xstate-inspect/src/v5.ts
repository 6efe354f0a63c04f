/**
 * What is read of XState 5, by its shape: this package has XState 4 of its own, and takes actors of
 * any copy of XState 5.
 */

/** Passed to an observer: `createActor(machine, { inspect })`. */
export interface InspectedEvent {
  readonly type: string;
  readonly actorRef: object;
  readonly sourceRef?: object | undefined;
  readonly event?: HeardEvent;
  readonly snapshot?: object;
}

export interface HeardEvent {
  readonly type: string;
}

export interface Actor {
  readonly id: string;
  readonly sessionId: string;
  readonly logic?: { readonly root?: StateNode };
  readonly src?: unknown;
  readonly _parent?: Actor;
  getSnapshot(): Snapshot | undefined;
  send(event: HeardEvent): void;
}

/** Of a machine, or (without `value`) of any other actor. */
export interface Snapshot {
  readonly status: 'active' | 'done' | 'error' | 'stopped';
  readonly value?: unknown;
  readonly context?: unknown;
  readonly output?: unknown;
  readonly error?: unknown;
  readonly tags?: Iterable<string>;
  readonly children?: Readonly<Record<string, { readonly id: string } | undefined>>;
  /** Of a machine: whether it would do something with it. */
  can?(event: HeardEvent): boolean;
}

export interface StateNode {
  readonly id: string;
  readonly key: string;
  readonly type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  readonly history: false | 'shallow' | 'deep';
  readonly config: { readonly target?: unknown };
  readonly initial?: { readonly target?: readonly StateNode[] | undefined };
  readonly states: Readonly<Record<string, StateNode>>;
  /** By event, in the order in which they are looked at. */
  readonly transitions: ReadonlyMap<string, readonly Transition[]>;
  readonly always?: readonly Transition[];
  readonly invoke: readonly { readonly id: string; readonly src: unknown }[];
  readonly entry: readonly unknown[];
  readonly exit: readonly unknown[];
  readonly tags: readonly string[];
  readonly meta?: unknown;
  readonly description?: string | undefined;
}

export interface Transition {
  readonly eventType: string;
  readonly target?: readonly StateNode[] | undefined;
  readonly guard?: unknown;
  readonly actions: readonly unknown[];
  readonly reenter: boolean;
  readonly meta?: unknown;
  readonly description?: string | undefined;
}
