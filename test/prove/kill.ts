/** Which check finds a mistake. The cheapest ones first; those that cannot see it are left out. */

import { drawnOf, type QueryChart } from '../conformance/chart.ts';
import { freeCycle } from '../conformance/cycles.ts';
import { clockFault, waitFault, waits } from '../conformance/deadlines.ts';
import { brokenRules } from '../conformance/drawn-rules.ts';
import { withChart } from '../conformance/scripted-world.ts';
import { type ChartStory, stories } from '../conformance/stories.ts';
import type { WorldPath } from '../paths/generate.ts';
import type { Mutant } from './mutants.ts';
import { strays } from './walk-pure.ts';

export const checks = ['drawing', 'cycles', 'paths', 'deadlines', 'stories'] as const;
export type CheckName = (typeof checks)[number];

/** A story and the transitions that it takes. */
export interface MappedStory extends ChartStory {
  readonly taken: ReadonlySet<string>;
}
/** *Contract:* throws when a story is not as told, of a chart without a mistake. */
export async function mapStories(chart: QueryChart): Promise<readonly MappedStory[]> {
  const mapped: MappedStory[] = [];
  for (const story of stories) {
    mapped.push({ ...story, taken: await withChart(chart, story.run) });
  }
  return mapped;
}

/** `a · on x · 1` and its siblings, all edges of a state for its entry; a bound is everywhere. */
const nearby = ({ kind, place }: Mutant): ((id: string) => boolean) => {
  if (kind === 'limit') return () => true;
  const isEdge = /\d$/.test(place) && kind !== 'guard'; // one that holds takes edges that were not
  const around = isEdge ? place.slice(0, place.lastIndexOf('·')) : (place.split(' · ')[0] ?? '');
  return (id) => id.startsWith(around) || (!isEdge && around === 'query');
};

const passes = async (check: () => unknown): Promise<boolean> => {
  try {
    return (await check()) === undefined;
  } catch {
    return false;
  }
};
const nothing = () => undefined;
/** So many stories at a time: they mostly wait. */
const STORIES_AT_ONCE = 8;

async function storiesPass(chart: QueryChart, near: readonly MappedStory[]): Promise<boolean> {
  for (let at = 0; at < near.length; at += STORIES_AT_ONCE) {
    const some = near.slice(at, at + STORIES_AT_ONCE);
    const all = () => Promise.all(some.map(({ run }) => run()));
    if (await passes(() => withChart(chart, async () => void (await all())).then(nothing)))
      continue;
    // once more, each by itself: a machine that is busy must not find mistakes
    for (const { run } of some) {
      if (!(await passes(() => withChart(chart, run).then(nothing)))) return false;
    }
  }
  return true;
}

/** @returns the check that finds the mistake; `undefined`: none does. */
export async function killerOf(
  mutant: Mutant,
  paths: readonly WorldPath[],
  mapped: readonly MappedStory[],
): Promise<CheckName | undefined> {
  let chart: QueryChart;
  try {
    chart = mutant.make();
  } catch {
    return 'drawing'; // no machine at all
  }
  const drawn = drawnOf(chart);
  if (!(await passes(() => brokenRules(drawn)[0]))) return 'drawing';
  if (!(await passes(() => freeCycle(drawn)))) return 'cycles';
  const isNear = nearby(mutant);
  for (const path of paths.filter(({ transitions }) => transitions.some(isNear))) {
    if (!(await passes(() => strays(chart, path)))) return 'paths';
  }
  for (const [state, wait] of Object.entries(waits)) {
    if (!(await passes(() => waitFault(chart, state, wait)))) return 'deadlines';
    if (!(await passes(() => clockFault(chart, state, wait)))) return 'deadlines';
  }
  const near = mapped.filter(({ taken }) => [...taken].some(isNear));
  return (await storiesPass(chart, near)) ? undefined : 'stories';
}
