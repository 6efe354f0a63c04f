/** A machine as plain data: its states and its transitions, also those that nobody has taken yet. */
import { createHash } from 'node:crypto';
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import type { Chart, ChartEdge, ChartNode } from './protocol.ts';

const known = new WeakMap<object, Chart>();

/** @returns the same object for the same machine. */
export function chartOf(machine: AnyStateMachine): Chart {
  const before = known.get(machine.config);
  if (before) return before;
  const nodes: ChartNode[] = [];
  const edges: ChartEdge[] = [];
  const walk = (node: AnyStateNode, parent: string | null) => {
    nodes.push(nodeOf(node, parent));
    for (const [event, transitions] of node.transitions) {
      transitions.forEach((one, at) => void edges.push(edgeOf(node, event, one, at)));
    }
    (node.always ?? []).forEach((one, at) => void edges.push(edgeOf(node, '', one, at)));
    for (const child of Object.values(node.states)) walk(child, node.id);
  };
  walk(machine.root, null);
  const hash = createHash('sha256')
    .update(JSON.stringify([nodes, edges]))
    .digest('hex');
  const chart = { key: `${machine.id}@${hash.slice(0, 12)}`, id: machine.id, nodes, edges };
  known.set(machine.config, chart);
  return chart;
}

/** Of a transition that has fired: the id of its edge. */
export function edgeIdOf(transition: AnyTransitionDefinition): string {
  const { source, eventType } = transition;
  const all = eventType === '' ? source.always : source.transitions.get(eventType);
  return edgeId(source.id, eventType, all?.indexOf(transition) ?? -1);
}

const edgeId = (source: string, event: string, at: number) => `${source}|${event}|${at}`;

function nodeOf(node: AnyStateNode, parent: string | null): ChartNode {
  return {
    id: node.id,
    key: node.key,
    parent,
    type: node.type,
    initial: node.initial?.target[0]?.id ?? null,
    tags: node.tags,
    ...(node.description === undefined ? {} : { description: node.description }),
    invoke: node.invoke.map(({ id, src }) => ({ id, src: nameOf(src) })),
    entry: node.entry.map(nameOf),
    exit: node.exit.map(nameOf),
  };
}

function edgeOf(
  node: AnyStateNode,
  event: string,
  transition: AnyTransitionDefinition,
  at: number,
): ChartEdge {
  const { target, guard, actions, reenter, description } = transition;
  return {
    id: edgeId(node.id, event, at),
    source: node.id,
    target: target?.[0]?.id ?? node.id,
    targetless: !target || target.length === 0,
    event,
    ...wordsOf(event),
    ...(guard === undefined ? {} : { guard: guardOf(guard) }),
    actions: actions.map(nameOf),
    reenter: reenter === true,
    ...reasonOf(transition),
    ...(description === undefined ? {} : { description }),
  };
}

/** What an edge says of itself in `meta`: `{ reason, why }`, as the edges of our own chart do. */
export function reasonOf({ meta }: AnyTransitionDefinition): { reason?: string; why?: string } {
  const { reason, why } = (meta ?? {}) as { reason?: unknown; why?: unknown };
  return {
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof why === 'string' ? { why } : {}),
  };
}

/** XState's own names, in words. */
function wordsOf(event: string): Pick<ChartEdge, 'kind' | 'label'> {
  if (event === '') return { kind: 'always', label: 'always' };
  const [, what, of] = /^xstate\.(done|error|after)\.(.*)$/.exec(event) ?? [];
  if (what === undefined || of === undefined) return { kind: 'event', label: event };
  if (what === 'after') return { kind: 'after', label: `after ${of.split('.')[0]}` };
  const name = of.replace(/^(actor|state)\./, '');
  return {
    kind: what === 'done' ? 'done' : 'error',
    label: `${name} ${what === 'done' ? 'done' : 'failed'}`,
  };
}

/** `flawIs(refusal)`: short parameters say which fact it is. */
function guardOf(guard: unknown): string {
  const { params } = (guard ?? {}) as { params?: unknown };
  const words = typeof params === 'object' ? Object.values(params ?? {}).flat() : [];
  const isShort = words.length > 0 && words.every((word) => typeof word === 'string');
  return isShort ? `${nameOf(guard)}(${words.join(', ')})` : nameOf(guard);
}

/** A reference by name, an object with a type, or a function. */
export function nameOf(part: unknown): string {
  if (typeof part === 'string') return part;
  if (typeof part === 'function') return part.name || 'inline';
  const { type } = (part ?? {}) as { type?: unknown };
  return typeof type === 'string' ? type : 'inline';
}
