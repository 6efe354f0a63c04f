/**
 * XState 5 actors, told in the wire protocol of @xstate/inspect 0.8: `service.register`, `.event`,
 * `.state`, `.stop`. Nothing is written as long as nobody listens.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { preview } from '../../preview.ts';
import { Client } from './client.ts';
import { commandOf } from './command.ts';
import { type Definition, definitionOf } from './definition.ts';
import { eventOf, type Show, stateOf } from './state.ts';
import type { Actor, HeardEvent, InspectedEvent, Snapshot } from './v5.ts';

/** Commands are small; what is larger is none. */
const COMMAND_BYTES_MAX = 1_000_000;

export interface BridgeOptions {
  /** Takes secrets out of contexts and events, before they are cut to size and sent. */
  readonly redact?: (value: unknown) => unknown;
  /** Has the last word on every text of JSON that is sent; it must stay JSON. */
  readonly scrub?: (json: string) => string;
  /** Tools may send events to the actors. Default: false, they only look on. */
  readonly allowSend?: boolean;
  /**
   * With `allowSend`: takes an event that a tool sends to an actor. Default: the actor takes it, if
   * it can: a machine only what would do something.
   */
  readonly send?: (actor: object, event: HeardEvent) => void;
  /** Told when the bridge itself is wrong. Default: a warning of the process. */
  readonly onError?: (error: unknown) => void;
}

export interface Access {
  readonly mayOnlyLook: boolean;
}

export interface Bridge {
  /**
   * An observer for `createActor(logic, { inspect })`.
   * *Contract:* never throws, never waits; O(1) as long as no tool is connected.
   */
  readonly inspect: (event: InspectedEvent) => void;
  /**
   * Takes over an HTTP upgrade, on which the caller has checked who asks: its token, Host and
   * Origin.
   * @param access `mayOnlyLook`: its events are not heard, for instance those of a page of another
   * site. Default: it may do what the bridge allows.
   */
  connect(request: IncomingMessage, socket: Duplex, head: Buffer, access?: Access): void;
  /** Lets all tools go. */
  close(): void;
}

interface Service {
  readonly actor: Actor;
  /** Unique, also over several copies of XState in one process. */
  readonly sessionId: string;
  readonly definition: Definition;
  snapshot: Snapshot | undefined;
  event: HeardEvent;
  origin: string | undefined;
}

/** A bridge from XState 5 to tools for XState 4. */
export const createV4Bridge = (options: BridgeOptions = {}): Bridge => new V4Bridge(options);

class V4Bridge implements Bridge {
  readonly #options: BridgeOptions;
  readonly #services = new Map<Actor, Service>();
  readonly #names = new Set<string>();
  readonly #over = new WeakSet<Actor>();
  readonly #server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: COMMAND_BYTES_MAX,
  });
  /** Those that have asked to look on. */
  readonly #clients = new Set<Client>();

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  /** Bound: observers are passed on as plain functions. */
  readonly inspect = (seen: InspectedEvent): void => this.#safely(() => this.#hear(seen));

  connect(request: IncomingMessage, socket: Duplex, head: Buffer, access?: Access): void {
    const maySend = this.#options.allowSend === true && access?.mayOnlyLook !== true;
    this.#server.handleUpgrade(request, socket, head, (webSocket) =>
      this.#welcome(webSocket, maySend),
    );
  }

  close(): void {
    for (const socket of this.#server.clients) socket.terminate();
    this.#server.close();
    this.#clients.clear();
    this.#services.clear();
    this.#names.clear();
  }

  #welcome(socket: WebSocket, maySend: boolean): void {
    const client = new Client(socket);
    socket.on('error', () => {}); // what does not follow the protocol closes its own socket
    socket.on('close', () => this.#clients.delete(client));
    socket.on('message', (data, isBinary) => {
      if (!isBinary) this.#safely(() => this.#obey(data.toString(), client, maySend));
    });
  }

  #obey(text: string, client: Client, maySend: boolean): void {
    const command = commandOf(text);
    if (command?.type === 'xstate.inspecting') this.#join(client);
    if (command?.type === 'xstate.event' && maySend) {
      this.#deliver(command.sessionId, command.event);
    }
  }

  /** However late it comes: it learns of all that lives, as it is now. */
  #join(client: Client): void {
    this.#sweep();
    this.#clients.add(client);
    for (const service of this.#services.values()) {
      client.send(this.#registration(service), `register ${service.sessionId}`);
    }
  }

  #deliver(sessionId: string, event: HeardEvent): void {
    for (const service of this.#services.values()) {
      if (service.sessionId !== sessionId || !isActive(service)) continue;
      if (this.#options.send) this.#options.send(service.actor, event);
      else if (canTake(service.actor, event)) service.actor.send(event);
    }
  }

  #hear({ type, actorRef, sourceRef, event, snapshot }: InspectedEvent): void {
    if (type === '@xstate.actor') this.#sweep();
    if (event === undefined) return;
    const actor = actorRef as Actor;
    if (type === '@xstate.event') {
      const source = this.#services.get(sourceRef as Actor);
      const service = this.#serviceOf(actor, event, source?.sessionId);
      if (service) this.#tellEvent(service, event, source?.sessionId);
      // One that fails while it takes an event is told by nothing but its parent's event.
      if (source && !isActive(source)) this.#stop(source);
    }
    if (type === '@xstate.snapshot') {
      const service = this.#serviceOf(actor, event, undefined);
      if (!service) return;
      service.event = event;
      if (isActive(service)) this.#tellState(service, snapshot as Snapshot);
      else this.#stop(service);
    }
  }

  /** Known, or new: parents first, since tools look at the one that came first. */
  #serviceOf(actor: Actor, event: HeardEvent, origin: string | undefined): Service | undefined {
    const known = this.#services.get(actor);
    if (known) {
      known.origin = origin;
      return known;
    }
    if (this.#over.has(actor)) return undefined;
    if (actor._parent) this.#serviceOf(actor._parent, { type: 'xstate.init' }, undefined);
    const definition = definitionOf(actor, preview);
    const sessionId = this.#nameOf(actor);
    const snapshot = actor.getSnapshot();
    const service = { actor, sessionId, definition, snapshot, event, origin };
    this.#services.set(actor, service);
    if (this.#clients.size > 0) {
      this.#tell(this.#registration(service), `register ${sessionId}`);
    }
    return service;
  }

  #nameOf({ sessionId }: Actor): string {
    let name = sessionId;
    for (let n = 2; this.#names.has(name); n += 1) name = `${sessionId}/${n}`;
    this.#names.add(name);
    return name;
  }

  /** Those that ended without a word, as a root that fails does. */
  #sweep(): void {
    for (const service of this.#services.values()) if (!isActive(service)) this.#stop(service);
  }

  #stop(service: Service): void {
    const { actor, sessionId } = service;
    this.#services.delete(actor);
    this.#over.add(actor);
    this.#tellState(service, actor.getSnapshot());
    this.#names.delete(sessionId);
    this.#tell(JSON.stringify({ type: 'service.stop', sessionId }), `stop ${sessionId}`);
  }

  #registration(service: Service): string {
    const { actor, sessionId, definition } = service;
    const parent = actor._parent && this.#services.get(actor._parent)?.sessionId;
    return JSON.stringify({
      type: 'service.register',
      machine: this.#text(definition.config),
      state: this.#stateText(service),
      id: actor.id,
      sessionId,
      ...(parent === undefined ? {} : { parent }),
      ...(typeof actor.src === 'string' ? { source: actor.src } : {}),
    });
  }

  #stateText({ actor, sessionId, definition, snapshot, event, origin }: Service): string {
    const v4Event = eventOf(event, definition, this.#show, origin);
    return this.#text(stateOf(actor, snapshot, v4Event, sessionId, this.#show));
  }

  #tellEvent({ sessionId, definition }: Service, event: HeardEvent, origin?: string): void {
    if (this.#clients.size === 0) return;
    const text = this.#text(eventOf(event, definition, this.#show, origin));
    this.#tell(
      JSON.stringify({ type: 'service.event', event: text, sessionId }),
      `event ${sessionId}`,
    );
  }

  #tellState(service: Service, snapshot: Snapshot | undefined): void {
    service.snapshot = snapshot;
    if (this.#clients.size === 0) return;
    const { sessionId } = service;
    const state = this.#stateText(service);
    this.#tell(JSON.stringify({ type: 'service.state', state, sessionId }), `state ${sessionId}`);
  }

  #tell(message: string, key: string): void {
    for (const client of this.#clients) client.send(message, key);
  }

  /** What cannot be redacted is not shown. */
  readonly #show: Show = (value) => {
    const { redact } = this.#options;
    let shown = value;
    if (redact) {
      try {
        shown = redact(value);
      } catch (error) {
        this.#fail(error);
        return { hidden: 'redact threw' };
      }
    }
    return preview(shown);
  };

  #text(value: unknown): string {
    const { scrub } = this.#options;
    const text = JSON.stringify(value);
    return scrub ? scrub(text) : text;
  }

  /** A fault of ours must not reach the machine, nor end the process. */
  #safely(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    const { onError } = this.#options;
    if (onError) onError(error);
    else process.emitWarning(`the bridge to @xstate/inspect: ${String(error)}`);
  }
}

/** What is no machine does not say. */
const canTake = (actor: Actor, event: HeardEvent): boolean =>
  actor.getSnapshot()?.can?.(event) ?? true;

const isActive = ({ actor }: Service): boolean => actor.getSnapshot()?.status === 'active';
