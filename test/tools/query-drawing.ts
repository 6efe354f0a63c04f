/** Our chart as it is shipped: laid out here, so that no host needs a layout engine for it. */
import Elk from 'elkjs/lib/elk.bundled.js';
import { queryMachine } from '../../machines/query.machine.ts';
import { draw } from '../../src/inspect/chart/draw.ts';
import { chartOf } from '../../src/inspect/chart-of.ts';

export async function queryDrawing(): Promise<string> {
  const chart = chartOf(queryMachine);
  const svg = await draw(chart, (graph) => new Elk.default().layout(graph));
  return [
    '/** Generated from machines/query.machine.ts. Do not edit: `npm run generate`. */',
    'export const queryDrawing = {',
    `  key: ${JSON.stringify(chart.key)},`,
    `  svg: ${JSON.stringify(svg)},`,
    '};',
    '',
  ].join('\n');
}
