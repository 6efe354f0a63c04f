/**
 * Leads a chart along a path: the same is heard, and it must take the same transitions. Wherever
 * calls run, stale words are heard, too, and must take none.
 */
import { pureSteps, transitionId } from '../../src/testing/taken-transitions.ts';
import { leafOf, type QueryChart } from '../conformance/chart.ts';
import type { WorldPath } from '../paths/generate.ts';
import { inputOf, staleIn } from '../paths/worlds.ts';

const callsRun = (at: string) => at === 'sampling.streaming' || at.startsWith('toolRun.');

/** @returns the first difference, if there is one. */
export function strays(chart: QueryChart, path: WorldPath): string | undefined {
  const { begin, step } = pureSteps(chart);
  const start = begin(inputOf(path.world));
  let snapshot = start.after;
  const before = path.transitions.length - path.steps.flatMap((s) => s.transitions).length;
  const first = start.taken.map(transitionId);
  if (first.join() !== path.transitions.slice(0, before).join()) return `starts by ${first.at(-1)}`;
  for (const { event, at, name, transitions } of path.steps) {
    for (const stale of callsRun(leafOf(at)) ? staleIn(snapshot.context) : []) {
      const [wrong] = step(snapshot, stale).taken.map(transitionId);
      if (wrong) return `a stale ${stale.type} takes ${wrong}`;
    }
    const { after, taken } = step(snapshot, event);
    const ids = taken.map(transitionId);
    if (ids.join() !== transitions.join()) return `“${name}” takes ${ids.join(', ') || 'nothing'}`;
    snapshot = after;
  }
  const { status, output } = snapshot as { status: string; output?: { reason?: string } };
  if (status !== 'done') return `is ${status} at its end`;
  return output?.reason === path.reason ? undefined : `ends by ${output?.reason}`;
}
