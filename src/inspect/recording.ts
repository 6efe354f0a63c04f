/**
 * Recordings: a run as lines of JSON, `Hello` first, then charts, entries, contexts and bodies.
 * All that is in a line has been cut and cleaned of secrets.
 */
import { drawingOf } from './chart/drawing.ts';
import type { Chart, ChartAnswer, Hello, RecordingLine, Step } from './protocol.ts';
import type { Run } from './run.ts';

/** Steps of an instance between two contexts of a recording. */
const CONTEXT_STEPS = 50;
/** Entries that are read at once: between them others may run. */
const PORTION = 500;
/** Bodies of this many requests, the newest: each may be as large as a window. */
const BODIES_MAX = 200;

/** A drawing must not cost the recording. */
export async function drawn(run: Run, key: string): Promise<ChartAnswer | undefined> {
  const known = run.chart(key);
  if (!known) return undefined;
  const { chart, svg } = known;
  if (svg !== undefined) return { chart, svg };
  try {
    return { chart, ...(await drawingOf(chart as Chart)) };
  } catch (error) {
    return { chart, why: `it could not be drawn: ${String(error)}` };
  }
}

/** Each with its line break. */
export async function* recordingOf(run: Run): AsyncGenerator<string, void, unknown> {
  const line = (value: Hello | RecordingLine) => `${run.scrub(JSON.stringify(value))}\n`;
  yield line({ ...run.hello(), source: 'recording' });
  for (const key of run.charts) {
    const answer = await drawn(run, key);
    if (!answer) continue;
    const { chart, svg } = answer;
    yield line({ kind: 'chart', chart, ...(svg === undefined ? {} : { svg }) });
  }
  const wanted = new Set<number>();
  const newest = new Map<string, number>();
  const end = run.list.next; // what happens meanwhile is not in it
  for (let seq = run.list.first; seq < end; ) {
    const portion = run.list.from(seq, Math.min(PORTION, end - seq));
    const last = portion.at(-1);
    if (!last) break;
    for (const { kind, json, instance, seq: place } of portion) {
      yield `${json}\n`;
      if (kind !== 'step') continue;
      newest.set(instance, place);
      if ((JSON.parse(json) as Step).n % CONTEXT_STEPS === 0) wanted.add(place);
    }
    seq = last.seq + 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (const seq of newest.values()) wanted.add(seq);
  for (const seq of [...wanted].sort((a, b) => a - b)) {
    const context = run.contextAt(seq);
    const instance = run.list.at(seq)?.instance;
    if (context === undefined || instance === undefined) continue;
    yield line({ kind: 'context', seq, instance, value: context });
  }
  for (const id of run.requestIds.slice(-BODIES_MAX)) {
    const diff = run.requestDiff(id);
    if (diff.missing === undefined) yield line({ kind: 'body', ...diff } satisfies RecordingLine);
  }
}
