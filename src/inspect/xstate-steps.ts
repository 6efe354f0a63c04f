/**
 * From what XState 5 tells an inspector to steps, services and deadlines. Nothing else here knows
 * the names of its inspection events; the fields that it keeps to itself are in `xstate-inside.ts`.
 */
import type {
  AnyActorRef,
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyStateNode,
  AnyTransitionDefinition,
  InspectionEvent,
} from 'xstate';
import { activeNodes, inertScope, transitionsIn } from '../xstate-inside.ts';
import { shownChanges } from './changes.ts';
import { chartOf, edgeIdOf, nameOf, reasonOf } from './chart-of.ts';
import { bytesOf, type Contexts, type StepRaw, sizeOf } from './contexts.ts';
import type { NewEntry } from './entry-list.ts';
import { preview, stepCaps } from './preview.ts';
import type { Chart, DiffOp, InstanceEntry, TakenEdge } from './protocol.ts';
import { redactedText } from './redact.ts';

/** What is known of a machine from outside, before its first step. */
export interface Origin {
  readonly id: string;
  readonly role: InstanceEntry['role'];
  readonly title: string;
  readonly parent?: string;
  readonly model?: string;
  readonly querySource?: string;
  readonly toolUseId?: string;
  readonly agent?: string;
}

export interface StepSink {
  push(entry: NewEntry, raw?: unknown, rawBytes?: number): void;
  readonly contexts: Contexts;
  /** ms since 1970, with fractions. */
  now(): number;
  /** Runs before anything is kept. *Contract:* never throws; the same part gives the same part. */
  redact(value: unknown): unknown;
  /** A chart is met for the first time. */
  onChart(chart: Chart): void;
}

type Status = 'active' | 'done' | 'error' | 'stopped';
interface Service {
  readonly id: string;
  readonly name: string;
  readonly state: string | null;
  readonly attempt: number;
  readonly startedAt: number;
}
interface Deadline {
  readonly id: string;
  readonly name: string;
  readonly state: string | null;
  readonly ms: number;
  startedAt: number;
  leftMs: number;
}
interface Instance {
  entry: Omit<InstanceEntry, 'seq' | 'at'>;
  readonly ref: AnyActorRef;
  steps: number;
  nodes: readonly AnyStateNode[];
  /** Active leaf states after the last step: microsteps have moved `nodes` since. */
  leaves: readonly string[];
  edges: TakenEdge[];
  actions: string[];
  readonly services: Map<AnyActorRef, Service>;
  readonly deadlines: Map<string, Deadline>;
  readonly attempts: Map<string, { readonly iteration: number | undefined; count: number }>;
  iteration: number | undefined;
}

/** A longer delay is none: it is the longest that a timer can have. */
const UNBOUNDED_MS = 2 ** 31 - 1;
const ERROR_CHARS_MAX = 400;

export class StepRecorder {
  readonly #sink: StepSink;
  readonly #instances = new Map<AnyActorRef, Instance>();
  /** Which instance a service works for. */
  readonly #employers = new WeakMap<AnyActorRef, Instance>();
  #ids = 0;
  #isHeld = false;

  constructor(sink: StepSink) {
    this.#sink = sink;
  }

  /** @param origin of the machine at the root, where somebody knows it. */
  inspect(event: InspectionEvent, origin?: Origin): void {
    const ref = event.actorRef as AnyActorRef;
    const instance = this.#instanceOf(ref, origin);
    switch (event.type) {
      case '@xstate.event':
        if (instance) this.#hear(instance, event.event, event.sourceRef as AnyActorRef | undefined);
        else if (event.event.type === 'xstate.init') this.#beginService(ref);
        return;
      case '@xstate.microstep':
        if (instance) notePath(instance, event);
        return;
      case '@xstate.action':
        if (instance) this.#act(instance, event.action);
        return;
      case '@xstate.snapshot':
        if (instance) this.#step(instance, event.snapshot as AnyMachineSnapshot, event.event);
        else this.#endService(ref, event.snapshot);
        return;
    }
  }

  /** An actor that runs already: what it was before is not known. */
  adopt(ref: AnyActorRef): void {
    const instance = this.#instanceOf(ref, undefined);
    const snapshot = ref.getSnapshot() as AnyMachineSnapshot;
    if (!instance || snapshot?.status !== 'active') return;
    for (const child of Object.values(snapshot.children ?? {}) as (AnyActorRef | undefined)[]) {
      if (child) this.#beginService(child);
    }
    this.#step(instance, snapshot, { type: 'xstate.init' });
  }

  /** The machine behind an instance, while it lives. */
  actor(id: string): AnyActorRef | undefined {
    for (const { entry, ref } of this.#instances.values()) if (entry.instance === id) return ref;
    return undefined;
  }

  /** The instance of a machine, while it lives. */
  idOf(ref: AnyActorRef): string | undefined {
    return this.#instances.get(ref)?.entry.instance;
  }

  /** Where an instance of our own chart is. */
  iterationOf(id: string): number | undefined {
    for (const { entry, iteration } of this.#instances.values()) {
      if (entry.instance === id) return iteration;
    }
    return undefined;
  }

  /** All clocks stand still, or go on. */
  hold(isHeld: boolean): void {
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    const now = this.#sink.now();
    for (const instance of this.#instances.values()) {
      for (const deadline of instance.deadlines.values()) {
        if (isHeld) deadline.leftMs = Math.max(0, deadline.leftMs - (now - deadline.startedAt));
        deadline.startedAt = now;
        this.#tellDeadline(instance, deadline, isHeld ? 'held' : 'running');
      }
    }
  }

  #instanceOf(ref: AnyActorRef, origin: Origin | undefined): Instance | undefined {
    const known = this.#instances.get(ref);
    if (known) return known;
    const machine = machineOf(ref);
    // What has ended is not kept here; its last words are nobody's.
    if (this.#employers.has(ref) || (!machine && ref._parent)) return undefined;
    return this.#newInstance(ref, machine, ref._parent ? undefined : origin);
  }

  #newInstance(
    ref: AnyActorRef,
    machine: AnyStateMachine | undefined,
    origin: Origin | undefined,
  ): Instance {
    const parent = ref._parent && this.#instances.get(ref._parent as AnyActorRef);
    const chart = machine && chartOf(machine);
    if (chart) this.#sink.onChart(chart);
    const { id = this.#newId(ref.id), ...said } = origin ?? {};
    const instance: Instance = {
      entry: {
        ...{ kind: 'instance', role: 'actor', title: machine?.id ?? ref.id, ...said, instance: id },
        parent: origin?.parent ?? parent?.entry.instance ?? null,
        chart: chart?.key ?? null,
        status: 'active',
        startedAt: this.#sink.now(),
      },
      ...{ ref, steps: 0, nodes: [], leaves: [], edges: [], actions: [], iteration: undefined },
      ...{ services: new Map(), deadlines: new Map(), attempts: new Map() },
    };
    this.#instances.set(ref, instance);
    this.#tell(instance.entry);
    return instance;
  }

  #newId(name: string): string {
    this.#ids += 1;
    return `${name}#${this.#ids}`;
  }

  #tell(entry: NewEntry extends infer E ? (E extends NewEntry ? Omit<E, 'at'> : never) : never) {
    this.#sink.push({ ...entry, at: this.#sink.now() } as NewEntry);
  }

  // ── steps ──

  #step(instance: Instance, snapshot: AnyMachineSnapshot, event: { readonly type: string }): void {
    const { edges, actions, entry, steps } = instance;
    const { contexts, redact } = this.#sink;
    const nodes = activeNodes(snapshot);
    const to = leavesOf(nodes);
    const from = instance.leaves;
    const context = redact(snapshot.context ?? snapshot);
    const noted = contexts.note(entry.instance, context);
    const { ops, more } = noted.isFirst
      ? { ops: [{ op: 'init', path: [], to: preview(context) }] satisfies DiffOp[], more: 0 }
      : shownChanges(noted.changes);
    const shown = redact(event);
    const status = snapshot.status as Status;
    const { iteration } = (snapshot.context ?? {}) as { iteration?: unknown };
    instance.iteration = typeof iteration === 'number' ? iteration : undefined;
    instance.nodes = nodes;
    instance.leaves = to;
    instance.edges = [];
    instance.actions = [];
    instance.steps += 1;
    const raw: StepRaw = {
      ...{ event: shown, changes: noted.changes, isLast: status !== 'active' },
      ...(noted.context ? { context: noted.context } : {}),
    };
    this.#sink.push(
      {
        ...{ kind: 'step', at: this.#sink.now(), instance: entry.instance, n: steps },
        ...{ event: event.type, eventPreview: preview(shown, stepCaps) },
        ...{ from, on: inOrder(nodes), to, edges, actions, status },
        ...{ diff: ops, moreOps: more, ...reasonAmong(edges) },
        ...(instance.iteration === undefined ? {} : { iteration: instance.iteration }),
      },
      raw,
      bytesOf(noted.changes) + sizeOf(shown) + (noted.isFirst ? sizeOf(context) : 0),
    );
    if (status !== 'active') this.#end(instance, status, snapshot.output);
    else this.#forgetWaits(instance);
  }

  /** Of states that were left. */
  #forgetWaits(instance: Instance): void {
    const active = new Set(instance.nodes.map(({ id }) => id));
    for (const [key, { state }] of instance.deadlines) {
      if (state !== null && !active.has(state)) this.#deadlineOver(instance, key, 'met');
    }
  }

  #end(instance: Instance, status: Status, output: unknown): void {
    for (const ref of [...instance.services.keys()]) this.#serviceEnded(ref, 'stopped', {});
    for (const name of [...instance.deadlines.keys()]) this.#deadlineOver(instance, name, 'met');
    const reason = (output as { reason?: unknown } | undefined)?.reason;
    instance.entry = {
      ...instance.entry,
      ...{ status, endedAt: this.#sink.now() },
      ...(typeof reason === 'string' ? { reason } : {}),
    };
    this.#tell(instance.entry);
    this.#instances.delete(instance.ref);
    this.#employers.set(instance.ref, instance); // known, and over
    this.#sink.contexts.end(instance.entry.instance);
  }

  #hear(
    instance: Instance,
    event: { readonly type: string },
    source: AnyActorRef | undefined,
  ): void {
    if (instance.deadlines.has(event.type)) this.#deadlineOver(instance, event.type, 'ranOut');
    const [, , id] = /^xstate\.(done|error)\.actor\.(.+)$/.exec(event.type) ?? [];
    if (id === undefined) return;
    // Heard again from a journal it has no sender.
    const worker = source ?? [...instance.services.keys()].find((ref) => ref.id === id);
    if (!worker) return;
    const { output, error } = event as { output?: unknown; error?: unknown };
    if (event.type.startsWith('xstate.error.')) this.#serviceEnded(worker, 'error', { error });
    else this.#serviceEnded(worker, 'done', { output });
  }

  // ── services ──

  #beginService(ref: AnyActorRef): void {
    const instance = ref._parent && this.#instances.get(ref._parent as AnyActorRef);
    if (!instance || instance.services.has(ref)) return;
    const name = typeof ref.src === 'string' ? ref.src : ref.id;
    const tried = instance.attempts.get(name);
    const isAgain = tried !== undefined && tried.iteration === instance.iteration;
    const count = isAgain ? tried.count + 1 : 1;
    instance.attempts.set(name, { iteration: instance.iteration, count });
    const employed = instance.nodes.find((node) => node.invoke.some(({ id }) => id === ref.id));
    const service: Service = {
      ...{ id: this.#newId(name), name, attempt: count, startedAt: this.#sink.now() },
      state: employed?.id ?? this.#invokerOf(instance, ref.id),
    };
    instance.services.set(ref, service);
    this.#employers.set(ref, instance);
    const { entry } = instance;
    this.#tell({ kind: 'service', instance: entry.instance, ...service, status: 'active' });
  }

  /** A service begins before its step is told: the chart says whose it is. */
  #invokerOf({ ref }: Instance, id: string): string | null {
    const root = machineOf(ref)?.root;
    const found = root && findNode(root, (node) => node.invoke.some((one) => one.id === id));
    return found?.id ?? null;
  }

  #endService(ref: AnyActorRef, snapshot: unknown): void {
    const { status, output, error } = snapshot as {
      status: Status;
      output?: unknown;
      error?: unknown;
    };
    if (status !== 'active') this.#serviceEnded(ref, status, { output, error });
  }

  #serviceEnded(
    ref: AnyActorRef,
    status: Exclude<Status, 'active'>,
    { output, error }: { output?: unknown; error?: unknown },
  ): void {
    const instance = this.#employers.get(ref);
    const service = instance?.services.get(ref);
    if (!instance || !service) return;
    instance.services.delete(ref);
    const outcome = output === undefined ? undefined : preview(this.#sink.redact(output));
    this.#tell({
      ...{ kind: 'service', instance: instance.entry.instance, ...service, status },
      endedAt: this.#sink.now(),
      ...(outcome === undefined ? {} : { outcome }),
      ...(error === undefined ? {} : { error: redactedText(this.#sink.redact, errorText(error)) }),
    });
  }

  // ── deadlines ──

  #act(instance: Instance, { type, params }: { type: string; params: unknown }): void {
    if (type === 'xstate.cancel') {
      const { sendId } = params as { sendId: string };
      this.#deadlineOver(instance, sendId, 'met');
      return;
    }
    if (type !== 'xstate.raise') return;
    const { event, delay, id } = params as {
      event: { type: string };
      delay?: unknown;
      id?: string | undefined;
    };
    if (typeof delay !== 'number' || delay >= UNBOUNDED_MS) return;
    const key = id ?? event.type;
    const [, name, state] = /^xstate\.after\.([^.]+)\.(.+)$/.exec(event.type) ?? [];
    this.#deadlineOver(instance, key, 'met');
    const deadline: Deadline = {
      ...{ id: this.#newId(name ?? key), name: name ?? event.type, state: state ?? null },
      ...{ ms: delay, startedAt: this.#sink.now(), leftMs: delay },
    };
    instance.deadlines.set(key, deadline);
    this.#tellDeadline(instance, deadline, this.#isHeld ? 'held' : 'running');
  }

  #deadlineOver(instance: Instance, key: string, status: 'met' | 'ranOut'): void {
    const deadline = instance.deadlines.get(key);
    if (!deadline) return;
    instance.deadlines.delete(key);
    this.#tellDeadline(instance, deadline, status);
  }

  #tellDeadline(
    { entry }: Instance,
    { leftMs, ...deadline }: Deadline,
    status: 'running' | 'held' | 'met' | 'ranOut',
  ): void {
    this.#tell({
      ...{ kind: 'deadline', instance: entry.instance, ...deadline, status },
      ...(status === 'running' ? { endsAt: deadline.startedAt + leftMs } : {}),
      ...(status === 'held' ? { leftMs } : {}),
    });
  }
}

const known = new WeakMap<AnyTransitionDefinition, TakenEdge>();
function takenEdge(transition: AnyTransitionDefinition): TakenEdge {
  let edge = known.get(transition);
  if (!edge) {
    edge = { id: edgeIdOf(transition), ...reasonOf(transition) };
    known.set(transition, edge);
  }
  return edge;
}

function notePath(
  instance: Instance,
  event: InspectionEvent & { readonly type: '@xstate.microstep' },
): void {
  const before = instance.nodes;
  const after = activeNodes(event.snapshot as AnyMachineSnapshot);
  const { actions } = instance;
  for (const node of before) if (!after.includes(node)) actions.push(...node.exit.map(nameOf));
  for (const transition of transitionsIn(event)) {
    instance.edges.push(takenEdge(transition));
    actions.push(...transition.actions.map(nameOf));
  }
  for (const node of after) if (!before.includes(node)) actions.push(...node.entry.map(nameOf));
  instance.nodes = after;
}

function reasonAmong(edges: readonly TakenEdge[]): { reason?: string; why?: string } {
  const { reason, why } = edges.findLast((edge) => edge.reason !== undefined) ?? {};
  return { ...(reason === undefined ? {} : { reason }), ...(why === undefined ? {} : { why }) };
}

const inOrder = (nodes: readonly AnyStateNode[]): readonly string[] =>
  nodes.toSorted((a, b) => a.order - b.order).map(({ id }) => id);
const leavesOf = (nodes: readonly AnyStateNode[]): readonly string[] =>
  nodes.filter(({ type }) => type === 'atomic' || type === 'final').map(({ id }) => id);

function machineOf(ref: AnyActorRef): AnyStateMachine | undefined {
  const { logic } = ref as unknown as { logic?: { root?: unknown } };
  return logic?.root ? (logic as AnyStateMachine) : undefined;
}

function findNode(
  node: AnyStateNode,
  is: (node: AnyStateNode) => boolean,
): AnyStateNode | undefined {
  if (is(node)) return node;
  for (const child of Object.values(node.states)) {
    const found = findNode(child as AnyStateNode, is);
    if (found) return found;
  }
  return undefined;
}

const errorText = (error: unknown): string =>
  (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).slice(
    0,
    ERROR_CHARS_MAX,
  );

// ── what an event would do ──

export interface Foreseen {
  readonly edges: readonly string[];
  /** States that would be entered, also those that would be left at once. */
  readonly enters: readonly string[];
  /** Where it would come to rest. */
  readonly to: readonly string[];
}

/** The machine is pure: what it would do can be asked without doing it. */
export function foresee(snapshot: AnyMachineSnapshot, event: { readonly type: string }): Foreseen {
  const edges: string[] = [];
  const enters = new Set<string>();
  let before = activeNodes(snapshot);
  const machine = snapshot.machine as AnyStateMachine;
  const seen = (inspected: InspectionEvent) => {
    if (inspected.type !== '@xstate.microstep') return;
    const after = activeNodes(inspected.snapshot as AnyMachineSnapshot);
    for (const transition of transitionsIn(inspected)) {
      edges.push(edgeIdOf(transition));
      for (const target of transition.target ?? []) enters.add(target.id);
    }
    for (const node of after) if (!before.includes(node)) enters.add(node.id);
    before = after;
  };
  const after = machine.transition(snapshot, event, inertScope(seen)) as AnyMachineSnapshot;
  return { edges, enters: [...enters], to: leavesOf(activeNodes(after)) };
}

/** Events of the machine's own alphabet, without XState's. */
export const alphabetOf = (snapshot: AnyMachineSnapshot): readonly string[] =>
  [...new Set((snapshot.machine as AnyStateMachine).events as readonly string[])].filter(
    (type) => !type.startsWith('xstate.') && type !== '*',
  );
