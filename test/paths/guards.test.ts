/**
 * MACH-08. Each guard of the chart is true on one of the paths and false on another: asked in the
 * very snapshots in which the machine asks it, of the chart alone.
 */
import { expect, it } from 'vitest';
import { guards } from '../../machines/guards.ts';
import { queryMachine } from '../../machines/query.machine.ts';
import type { QueryChart } from '../conformance/chart.ts';
import { strays } from '../prove/walk-pure.ts';
import { generatePaths } from './generate.ts';

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
  expect(generatePaths().paths.flatMap((path) => strays(chart, path) ?? [])).toEqual([]);
  const oneSided = [...answers].filter(([, said]) => said.size < 2).map(([name]) => name);
  expect(answers.size).toBeGreaterThan(20);
  expect(oneSided).toEqual([]);
});
