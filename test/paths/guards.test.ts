/**
 * MACH-08. Each guard of the chart is true on one of the paths and false on another: asked in the
 * very snapshots in which the machine asks it, of the chart alone.
 */
import { expect, it } from 'vitest';
import { guards } from '../../machines/guards.ts';
import { queryMachine } from '../../machines/query.machine.ts';
import { pureSteps } from '../../src/testing/taken-transitions.ts';
import { leafOf, type QueryChart } from '../conformance/chart.ts';
import { strays } from '../prove/walk-pure.ts';
import { generatePaths, type WorldPath } from './generate.ts';
import { inputOf } from './worlds.ts';

const STREAMING = 'sampling.streaming';
const nobody = { question: 'nobody', toolUseId: 'nobody', id: 'nobody', atMs: 1 };
const unexpected = ['tool.result', 'person.asked', 'person.answered'].map((type) => ({
  ...nobody,
  type,
}));

it('MACH-08 each guard holds on one path and does not on another', () => {
  const answers = new Map<string, Set<boolean>>();
  const watched = Object.entries(guards).map(([name, guard]) => {
    const said = new Set<boolean>();
    answers.set(name, said);
    const asked = (...given: unknown[]) => {
      const holds = (guard as (...given: unknown[]) => boolean)(...given);
      said.add(holds);
      return holds;
    };
    return [name, asked];
  });
  const chart = queryMachine.provide({
    guards: Object.fromEntries(watched),
  }) as QueryChart;
  // each path is that of the chart, so the questions are the chart's, too
  const { paths } = generatePaths();
  expect(paths.flatMap((path) => strays(chart, path) ?? [])).toEqual([]);
  // what nobody waits for, on the way of a path: it is heard and changes nothing
  const { step, begin } = pureSteps(chart);
  const path = paths.find(({ steps }) => steps.some(({ at }) => leafOf(at) === STREAMING));
  let snapshot = begin(inputOf((path as WorldPath).world)).after;
  for (const { event, at } of path?.steps ?? []) {
    if (leafOf(at) === STREAMING) {
      for (const one of unexpected) expect(step(snapshot, one).taken).toEqual([]);
    }
    snapshot = step(snapshot, event).after;
  }
  const oneSided = [...answers].filter(([, said]) => said.size < 2).map(([name]) => name);
  expect(answers.size).toBeGreaterThan(20);
  expect(oneSided).toEqual([]);
});
