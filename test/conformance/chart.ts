/**
 * The chart as data: every edge of the machine as drawn, and every step that a query can take, seen
 * through a lens. Nothing here runs a service: what a service would say is an event like any other.
 */
import type { AnyEventObject, AnyStateNode, SnapshotFrom } from 'xstate';
import type { QueryEvent } from '../../machines/events.ts';
import type { Question } from '../../machines/ports.ts';
import { queryMachine } from '../../machines/query.machine.ts';
import { continueReasons, terminalReasons } from '../../machines/reasons.ts';
import type { QueryInput, QueryState } from '../../machines/state.ts';
import {
  eventName,
  pureSteps,
  transitionId,
  transitionsOf,
} from '../../src/testing/taken-transitions.ts';

export type Snapshot = SnapshotFrom<typeof queryMachine>;
/** The chart, or a copy of it that someone has changed. */
export type QueryChart = typeof queryMachine;
export const reasons = [...Object.keys(continueReasons), ...Object.keys(terminalReasons)];

export const shortId = (id: string) => id.replace(/^query\./, '');
const withAllBelow = (node: AnyStateNode): AnyStateNode[] => [
  node,
  ...Object.values(node.states).flatMap((child) => withAllBelow(child as AnyStateNode)),
];
export const nodeOf = (id: string): AnyStateNode =>
  queryMachine.getStateNodeById(`query.${id}`) as AnyStateNode;

export interface Edge {
  readonly id: string;
  readonly from: string;
  readonly node: AnyStateNode;
  /** `always`, `after stageMs`, `done snip`, or the event. */
  readonly on: string;
  readonly guard: string;
  /** Ids of the targets; empty when the state is not left. */
  readonly to: readonly string[];
  readonly actions: readonly string[];
  /** Every place where the edge names a reason: `meta`, description, params of an action. */
  readonly reasons: readonly string[];
  readonly reason: string | undefined;
  readonly why: string;
  /** Nothing else is looked at when this edge is: the last of its list, without a guard. */
  readonly isElse: boolean;
}
const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null
    ? (value as Record<string, unknown>)[name]
    : undefined;
export const nameOf = (part: unknown): string =>
  typeof part === 'string' ? part : String(field(part, 'type') ?? '');
const guardOf = (guard: unknown): string => {
  const params = field(guard, 'params');
  const more = params ? ` ${Object.values(params).flat().join(' | ')}` : '';
  return guard === undefined ? '' : nameOf(guard) + more;
};
const edgesOf = (node: AnyStateNode): Edge[] =>
  transitionsOf(node).flatMap((siblings) =>
    siblings.map((t, i) => {
      const named = [
        field(t.meta, 'reason'),
        t.description,
        ...t.actions.map((action) => field(field(action, 'params'), 'reason')),
      ].filter((reason): reason is string => typeof reason === 'string');
      return {
        id: transitionId(t),
        from: shortId(node.id),
        node,
        on: eventName(t),
        guard: guardOf(t.guard),
        to: t.target?.map((target) => shortId(target.id)) ?? [],
        actions: t.actions.map(nameOf),
        reasons: named,
        reason: named[0],
        why: String(field(t.meta, 'why') ?? ''),
        isElse: t.guard === undefined && siblings.length > 1 && i === siblings.length - 1,
      };
    }),
  );
/** A state that is left in the step that enters it, whatever the facts. */
export const isTransient = (node: AnyStateNode) =>
  node.always !== undefined && node.always.length > 0 && node.always.at(-1)?.guard === undefined;

/** `sampling.streaming` for a query that is there. */
export const leafOf = (value: unknown): string => {
  if (typeof value === 'string') return value;
  const [[state, below] = ['', '']] = Object.entries(value as object);
  return `${state}.${leafOf(below)}`;
};

/** A chart as drawn. */
export interface Drawn {
  readonly machine: QueryChart;
  readonly nodes: readonly AnyStateNode[];
  readonly edges: readonly Edge[];
  /** The states in which a query rests until something is heard. */
  readonly waitingNodes: readonly AnyStateNode[];
}
export const drawnOf = (machine: QueryChart): Drawn => {
  const all = withAllBelow(machine.root as AnyStateNode);
  return {
    machine,
    nodes: all,
    edges: all.flatMap(edgesOf),
    waitingNodes: all.filter((node) => node.type === 'atomic' && !isTransient(node)),
  };
};
export const drawn = drawnOf(queryMachine);
export const { nodes, edges, waitingNodes } = drawn;
export const edgeById = new Map(edges.map((edge) => [edge.id, edge]));

// ── steps: what the world may do in a state ──

type Letters = Readonly<Record<string, QueryEvent>>;
/** What can be said: by the services when they are asked, and unasked while a state is active. */
export interface Alphabet {
  readonly answers: Partial<Record<Question, Letters>>;
  readonly heard: Readonly<Record<string, Letters>>;
  /** Services also throw, and miss their deadlines. */
  readonly faults?: boolean;
}
export interface Lens {
  readonly name: string;
  readonly input: QueryInput;
  readonly letters: Alphabet;
  /** Everything that guards can tell apart, and nothing else. */
  readonly project: (state: QueryState) => unknown;
  /** What the contracts of the services rule out. */
  readonly faithful: (snapshot: Snapshot, event: QueryEvent) => boolean;
}
export interface Step {
  readonly from: string;
  readonly to: string;
  readonly letter: string;
  readonly event: AnyEventObject;
  /** Ids of the edges that were taken, in order: an event and what follows from it at once. */
  readonly edges: readonly string[];
}

const steps = pureSteps(queryMachine);
/** One step of the pure machine. */
export const stepFrom = (snapshot: Snapshot, event: AnyEventObject) => {
  const { after, taken } = steps.step(snapshot, event);
  return { after: after as Snapshot, edges: taken.map(transitionId) };
};
/** The first snapshot, and the edges of the very first step, which no event causes. */
export const startWith = (input: QueryInput) => {
  const { after, taken } = steps.begin(input);
  return { after: after as Snapshot, edges: taken.map(transitionId) };
};

const afterName = (type: string) => type.replace(/^xstate\.after\.([^.]+)\..*/, 'after $1');
/** In a state that only waits for time, time passes. */
const onlyWaits = new Set(['backingOff']);
const lettersOf = (snapshot: Snapshot, { letters, faithful }: Lens) => {
  const found: { letter: string; event: AnyEventObject }[] = [];
  if (snapshot.status !== 'active') return found;
  for (const node of snapshot._nodes as readonly AnyStateNode[]) {
    for (const { id, src } of node.invoke) {
      for (const [letter, output] of Object.entries(letters.answers[src as Question] ?? {})) {
        const event = { type: `xstate.done.actor.${id}`, actorId: id, output };
        found.push({ letter: `${src}: ${letter}`, event });
      }
      if (!letters.faults) continue;
      const event = { type: `xstate.error.actor.${id}`, actorId: id, error: new Error('boom') };
      found.push({ letter: `${src} throws`, event });
    }
    for (const type of node.transitions.keys()) {
      const after = type.startsWith('xstate.after.');
      if (after && (letters.faults || onlyWaits.has(node.key))) {
        found.push({ letter: afterName(type), event: { type } });
      }
    }
    for (const [letter, event] of Object.entries(letters.heard[shortId(node.id)] ?? {})) {
      found.push({ letter, event });
    }
  }
  return found.filter(({ event }) => faithful(snapshot, event as QueryEvent));
};

/** Every state that can be reached, and every step between two of them. */
export function explore(lens: Lens, limit = 20_000) {
  const keyOf = (s: Snapshot) =>
    s.status === 'active'
      ? JSON.stringify([s.value, lens.project(s.context)])
      : JSON.stringify([s.value, s.context.ending]);
  const first = startWith(lens.input).after;
  const states = new Map<string, Snapshot>([[keyOf(first), first]]);
  const steps = new Map<string, readonly Step[]>();
  for (const [from, snapshot] of states) {
    const out: Step[] = [];
    for (const { letter, event } of lettersOf(snapshot, lens)) {
      const { after, edges: edgeIds } = stepFrom(snapshot, event);
      if (after.status === 'error') throw new Error(`${lens.name}: ${letter} breaks the machine`);
      if (edgeIds.length === 0) continue; // nobody listens
      const to = keyOf(after);
      if (!states.has(to)) states.set(to, after);
      out.push({ from, to, letter, event, edges: edgeIds });
    }
    steps.set(from, out);
    if (states.size > limit) throw new Error(`${lens.name}: more than ${limit} states`);
  }
  return { first: keyOf(first), states, steps };
}
