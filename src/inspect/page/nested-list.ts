/** A chart as nested lists, when nobody could draw it. The same marks as in the drawing. */
import type { Chart, ChartEdge, ChartNode } from '../protocol.ts';
import { el, set } from './dom.ts';
import { eventName, shortState } from './words.ts';

export function nestedList(chart: Chart, why: string | undefined): HTMLElement {
  const root = chart.nodes.find(({ parent }) => parent === null);
  const list = el('div.nested', el('p.dim', why ?? 'This was recorded without a drawing.'));
  if (root) list.append(el('ul', item(root, chart)));
  return list;
}

function item(node: ChartNode, chart: Chart): HTMLElement {
  const children = chart.nodes.filter(({ parent }) => parent === node.id);
  const edges = chart.edges.flatMap((edge, i) =>
    edge.source === node.id ? [edgeItem(edge, i)] : [],
  );
  const name = el('div.nested-name', node.key);
  const state = set(el('div.state', name, el('div.nested-edges', ...edges)), {
    'data-n': chart.nodes.indexOf(node),
  });
  const inner = children.length > 0 && el('ul', ...children.map((child) => item(child, chart)));
  return el('li', state, inner);
}

function edgeItem(edge: ChartEdge, place: number): HTMLElement {
  const event = edge.event === '' ? 'always' : eventName(edge.event);
  const guard = edge.guard === undefined ? '' : ` if ${edge.guard}`;
  const to = edge.targetless ? '' : ` → ${shortState(edge.target)}`;
  const text = edge.reason ?? `${event}${guard}${to}`;
  return set(el('div.nested-edge', text, ' ', el('span.count')), { 'data-e': place });
}
