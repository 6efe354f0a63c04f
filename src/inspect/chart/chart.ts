/**
 * A machine as plain data: what is drawn, recorded and counted. Ids are stable over processes, so
 * that a recording of yesterday is painted on the chart of today.
 *
 * This file and the recorder are the only ones here that know XState.
 */
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';

export interface ChartService {
  readonly id: string;
  /** Its name in `provide`, or `inline`. */
  readonly src: string;
}
/** A bound on staying in a state: the name of the delay, or its milliseconds. */
export interface ChartDeadline {
  readonly name: string;
}
export interface ChartNode {
  readonly id: string;
  readonly key: string;
  readonly parent: string | null;
  readonly type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  /** Id of the child that is entered first. */
  readonly initial: string | null;
  readonly tags: readonly string[];
  readonly description?: string;
  readonly services: readonly ChartService[];
  readonly deadlines: readonly ChartDeadline[];
  readonly entry: readonly string[];
  readonly exit: readonly string[];
}
/** What the edge waits for. `event`: anything of the machine's own alphabet. */
export type EdgeKind = 'always' | 'done' | 'error' | 'after' | 'event';
export interface ChartReason {
  /** `terminal` where the edge leads to a final state of the root. */
  readonly kind: 'continue' | 'terminal';
  readonly name: string;
  readonly why?: string;
}
export interface ChartEdge {
  /** `<id of the source>|<event>|<index among the edges of that event>`. */
  readonly id: string;
  readonly source: string;
  /** The first target; the source itself where there is none. */
  readonly target: string;
  readonly hasTarget: boolean;
  readonly kind: EdgeKind;
  /** As XState has it, '' for always. */
  readonly event: string;
  /** As a person reads it: the event, the name of the delay, the id of the service. */
  readonly heard: string;
  readonly guard?: string;
  readonly actions: readonly string[];
  readonly reason?: ChartReason;
}
export interface Chart {
  /** Of the machine. */
  readonly id: string;
  /** Of all that is drawn: two machines of one name are two charts. */
  readonly hash: string;
  readonly nodes: readonly ChartNode[];
  readonly edges: readonly ChartEdge[];
}

/** Reads a machine of XState 5. Pure; the same machine gives the same chart. */
export function chartOf(machine: AnyStateMachine): Chart {
  const states: AnyStateNode[] = [];
  const walk = (state: AnyStateNode) => {
    states.push(state);
    for (const child of Object.values(state.states)) walk(child);
  };
  walk(machine.root);
  const nodes = states.map(nodeOf);
  const edges = states.flatMap((state) => transitionsOf(state).map(edgeOf));
  return { id: machine.id, hash: hashOf(JSON.stringify([nodes, edges])), nodes, edges };
}

/**
 * The id of a transition as XState tells it: from a microstep, or from the definition.
 * @returns the id under which the chart has it.
 */
export function edgeIdOf(transition: AnyTransitionDefinition): string {
  const { source, eventType } = transition;
  const siblings = eventType === '' ? source.always : source.transitions.get(eventType);
  return `${source.id}|${eventType}|${siblings?.indexOf(transition) ?? 0}`;
}

const transitionsOf = (state: AnyStateNode): readonly AnyTransitionDefinition[] => [
  ...[...state.transitions.values()].flat(),
  ...(state.always ?? []),
];

function nodeOf(state: AnyStateNode): ChartNode {
  const delays = transitionsOf(state).filter(({ eventType }) => isAfter(eventType));
  return {
    id: state.id,
    key: state.key,
    parent: state.parent?.id ?? null,
    type: state.type,
    initial: state.initial?.target[0]?.id ?? null,
    tags: state.tags,
    ...(state.description === undefined ? {} : { description: state.description }),
    services: state.invoke.map(({ id, src }) => ({
      id,
      src: typeof src === 'string' ? src : 'inline',
    })),
    deadlines: [...new Set(delays.map(({ eventType }) => heardOf(eventType)))].map((name) => ({
      name,
    })),
    entry: state.entry.map(nameOf),
    exit: state.exit.map(nameOf),
  };
}

function edgeOf(transition: AnyTransitionDefinition): ChartEdge {
  const { source, eventType, guard, actions, target } = transition;
  const reason = reasonOf(transition);
  return {
    id: edgeIdOf(transition),
    source: source.id,
    target: target?.[0]?.id ?? source.id,
    hasTarget: target !== undefined,
    kind: kindOf(eventType),
    event: eventType,
    heard: heardOf(eventType),
    ...(guard === undefined ? {} : { guard: guardOf(guard) }),
    actions: actions.map(nameOf),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** `meta: { reason, why }` on the edge, as `machines/edges.ts` writes it; any host may do the same. */
function reasonOf({ meta, target }: AnyTransitionDefinition): ChartReason | undefined {
  const said: unknown = meta;
  if (typeof said !== 'object' || said === null || !('reason' in said)) return undefined;
  if (typeof said.reason !== 'string') return undefined;
  const why = 'why' in said && typeof said.why === 'string' ? { why: said.why } : {};
  const isEnd = target?.some(({ type, parent }) => type === 'final' && !parent?.parent) ?? false;
  return { kind: isEnd ? 'terminal' : 'continue', name: said.reason, ...why };
}

const isAfter = (eventType: string) => eventType.startsWith('xstate.after.');
function kindOf(eventType: string): EdgeKind {
  if (eventType === '') return 'always';
  if (isAfter(eventType)) return 'after';
  if (eventType.startsWith('xstate.done.')) return 'done';
  return eventType.startsWith('xstate.error.') ? 'error' : 'event';
}
/** `xstate.after.<delay>.<state>`, `xstate.done.actor.<id>`, `xstate.error.actor.<id>`. */
const heardOf = (eventType: string) =>
  eventType
    .replace(/^xstate\.after\.([^.]+)\..*$/, '$1')
    .replace(/^xstate\.(?:done|error)\.actor\.(?:\d+\.)?/, '')
    .replace(/^xstate\.done\.state\./, '');

const named = (value: unknown): value is { type: string; params?: unknown } =>
  (typeof value === 'object' || typeof value === 'function') &&
  value !== null &&
  'type' in value &&
  typeof value.type === 'string';
function nameOf(action: unknown): string {
  if (typeof action === 'string') return action;
  if (named(action)) return action.type;
  return typeof action === 'function' && action.name !== '' ? action.name : 'inline';
}
/** `flawIs(refusal)`: short parameters say which fact it is. */
function guardOf(guard: unknown): string {
  const params = named(guard) && typeof guard.params === 'object' ? guard.params : undefined;
  const words = Object.values(params ?? {}).flat();
  const isShort = words.length > 0 && words.every((word) => typeof word === 'string');
  return isShort ? `${nameOf(guard)}(${words.join(', ')})` : nameOf(guard);
}

/** FNV-1a over the text, in two halves: names a chart, protects nothing. */
function hashOf(text: string): string {
  let [low, high] = [0x811c9dc5, 0x01000193];
  for (let i = 0; i < text.length; i += 1) {
    low = Math.imul(low ^ text.charCodeAt(i), 0x01000193);
    high = Math.imul(high ^ text.charCodeAt(i), 0x85ebca6b) ^ (low >>> 13);
  }
  return [low, high].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
}
