/**
 * The drawing of a chart: ours is shipped, another machine's is made on demand by elkjs, if the host
 * has it. Never on this thread: that would stop an agent for seconds.
 */
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { ElkNode } from 'elkjs/lib/elk-api.js';
import type { Chart } from '../protocol.ts';
import { draw } from './draw.ts';
import { queryDrawing } from './query-drawing.generated.ts';

/** A drawing, or why there is none: then a page shows nested lists. */
export interface Drawing {
  readonly svg?: string;
  readonly why?: string;
}

/** A graph that takes longer is not drawn. */
const LAYOUT_MS = 30_000;

const drawn = new Map<string, Promise<Drawing>>();

/** *Contract:* never rejects. The same chart is drawn once a process. */
export function drawingOf(chart: Chart): Promise<Drawing> {
  const known = drawn.get(chart.key);
  if (known) return known;
  const drawing =
    chart.key === queryDrawing.key
      ? Promise.resolve<Drawing>({ svg: queryDrawing.svg })
      : onDemand(chart);
  drawn.set(chart.key, drawing);
  return drawing;
}

async function onDemand(chart: Chart): Promise<Drawing> {
  const elk = whereElkIs();
  if (elk === undefined) {
    return { why: 'elkjs is not installed: npm install elkjs draws the chart of any machine' };
  }
  try {
    return { svg: await draw(chart, (graph) => runInWorker(elk, graph)) };
  } catch (error) {
    return { why: `the chart could not be drawn: ${String(error)}` };
  }
}

function whereElkIs(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve('elkjs/lib/elk.bundled.js');
  } catch {
    return undefined;
  }
}

/** As text: a bundle has no file of its own for a worker. elkjs is an old module, `require` has it. */
const workerText = `
const { parentPort, workerData } = require('node:worker_threads');
const Elk = require(workerData.elk);
new (Elk.default ?? Elk)().layout(workerData.graph).then(
  (graph) => parentPort.postMessage({ graph }),
  (error) => parentPort.postMessage({ error: String(error) }),
);`;

function runInWorker(elk: string, graph: ElkNode): Promise<ElkNode> {
  const worker = new Worker(workerText, { eval: true, workerData: { elk, graph } });
  let timer: NodeJS.Timeout | undefined;
  const answer = new Promise<ElkNode>((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (said: { graph: ElkNode } | { error: string }) =>
      'graph' in said ? resolve(said.graph) : reject(new Error(said.error)),
    );
    timer = setTimeout(() => reject(new Error(`no layout after ${LAYOUT_MS} ms`)), LAYOUT_MS);
  });
  return answer.finally(() => {
    clearTimeout(timer);
    void worker.terminate();
  });
}
