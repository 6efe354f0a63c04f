/** From a chart to its drawing, whoever runs ELK. */
import type { ElkNode } from 'elkjs/lib/elk-api.js';
import type { Chart } from '../protocol.ts';
import { arrange, doorsOf, rowsOf } from './arrange.ts';
import { graphOf, groupsOf } from './layout.ts';
import { planOf } from './plan.ts';
import { svgOf } from './svg.ts';

/** Runs ELK over a graph and fills in the places. */
export type RunElk = (graph: ElkNode) => Promise<ElkNode>;

/** @returns SVG, without colours: those are the page's. */
export async function draw(chart: Chart, runElk: RunElk): Promise<string> {
  const plan = planOf(chart);
  const root = chart.nodes.find(({ parent }) => parent === null)?.id ?? '';
  // once to know how large the groups are, once more with the doors that follow from their places
  const rows = rowsOf(groupsOf(await runElk(graphOf(plan, []))), root);
  const groups = groupsOf(await runElk(graphOf(plan, doorsOf(plan, rows))));
  return svgOf(chart, plan, arrange(plan, rows, groups));
}
