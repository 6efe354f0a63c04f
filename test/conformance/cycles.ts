/** Why nothing goes round in a circle for ever, whatever the size of the bounds. */
import { continueReasons } from '../../machines/reasons.ts';
import { type Drawn, type Edge, isTransient, nameOf, shortId } from './chart.ts';

/** Actions that use up something that only a turn refills, or nothing. */
const spending = ['countRetry', 'spend', 'lowerCap', 'useFallback', 'noteQuestion'];

type Node = Drawn['nodes'][number];
const nodeIn = ({ machine }: Drawn, id: string) => machine.getStateNodeById(`query.${id}`) as Node;
/** The states that are entered when an edge leads to this one, outermost first. */
function entered(chart: Drawn, id: string): { id: string; entry: string[] }[] {
  const node = nodeIn(chart, id);
  const here = { id, entry: node.entry.map(nameOf) };
  const below = node.type === 'compound' ? node.initial.target[0] : undefined;
  return below ? [here, ...entered(chart, shortId(below.id))] : [here];
}
/** The atomic states in which this edge can be taken. A transient one hears nothing. */
function waitingBelow(edge: Edge): string[] {
  const leaves = (node: Node): Node[] => {
    if (node.type === 'final') return [];
    return node.type === 'atomic' ? [node] : Object.values(node.states).flatMap(leaves);
  };
  return leaves(edge.node)
    .filter((node) => edge.on === 'always' || !isTransient(node))
    .map((node) => shortId(node.id));
}
const spends = (chart: Drawn, edge: Edge) =>
  (edge.reason !== undefined &&
    edge.reason in continueReasons &&
    edge.actions.includes('advance')) ||
  edge.on === 'tool.result' || // a call is answered once
  edge.on === 'person.answered' || // and a question
  [...edge.actions, ...edge.to.flatMap((id) => entered(chart, id).flatMap((e) => e.entry))].some(
    (name) => spending.includes(name),
  );

/** A way round that spends nothing, if the chart has one. */
export function freeCycle(chart: Drawn): string | undefined {
  const free = new Map<string, Set<string>>();
  for (const edge of chart.edges.filter((e) => e.to.length > 0 && !spends(chart, e))) {
    for (const from of waitingBelow(edge)) {
      const to = free.get(from) ?? new Set();
      for (const id of edge.to) to.add(entered(chart, id).at(-1)?.id ?? id);
      free.set(from, to);
    }
  }
  const state = new Map<string, 'open' | 'done'>();
  const walk = (id: string, path: readonly string[]): string | undefined => {
    if (state.get(id) === 'open') return [...path, id].join(' → ');
    if (state.has(id)) return undefined;
    state.set(id, 'open');
    for (const to of free.get(id) ?? []) {
      const found = walk(to, [...path, id]);
      if (found !== undefined) return found;
    }
    state.set(id, 'done');
    return undefined;
  };
  for (const id of free.keys()) {
    const found = walk(id, []);
    if (found !== undefined) return found;
  }
  return free.size > 20 ? undefined : 'hardly any edge was looked at';
}
