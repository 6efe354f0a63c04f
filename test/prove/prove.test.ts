/**
 * Would a mistake in the chart be found? Each mutant has one; the pure checks of the chart must
 * find it. `npm run prove` looks at all of them, CI at some, drawn by a seed; `npm test` only tells
 * that this way of looking works (`mutants.test.ts`).
 */
import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { queryMachine } from '../../machines/query.machine.ts';
import { drawn } from '../conformance/chart.ts';
import { freeCycle } from '../conformance/cycles.ts';
import { brokenRules } from '../conformance/drawn-rules.ts';
import { generatePaths } from '../paths/generate.ts';
import { type CheckName, checks, killerOf, mapStories } from './kill.ts';
import { type Mutant, mutants, unchanged } from './mutants.ts';
import { survivors } from './survivors.ts';
import { strays } from './walk-pure.ts';

/** One in so many is looked at: all by `npm run prove`, some by CI. */
const SHARE = Number(process.env.ESCAPEMENT_PROVE_SHARE);
const SEED = Number(process.env.ESCAPEMENT_PROVE_SEED ?? 1);
const KILLED_SHARE_MIN = 0.95;
const SURVIVORS_MAX = 10;
const TIMEOUT_MS = 10 * 60_000;

const sample = mutants.filter((_, n) => (n + SEED) % SHARE === 0);
type Kind = Mutant['kind'];
const kinds: readonly Kind[] = ['guard', 'action', 'target', 'limit'];

it.runIf(SHARE > 0)('mistakes in the chart are found', { timeout: TIMEOUT_MS }, async () => {
  // nothing is found in no mistakes
  expect(sample.length, `no mutant of ${mutants.length}: take a share below`).toBeGreaterThan(0);
  const { paths, transitions, unreachable, states } = generatePaths();
  const chart = unchanged();
  // a check that objects to the chart as it is would find every mistake
  expect(brokenRules(drawn)).toEqual([]);
  expect(paths.flatMap((path) => strays(chart, path) ?? [])).toEqual([]);
  const mapped = await mapStories(queryMachine);
  const killers = new Map<Mutant, CheckName | undefined>();
  for (const mutant of sample) killers.set(mutant, await killerOf(mutant, paths, mapped));
  const alive = sample.filter((mutant) => killers.get(mutant) === undefined);
  const row = (kind: Kind) => {
    const mine = sample.filter((mutant) => mutant.kind === kind);
    const by = checks.map((check) => mine.filter((m) => killers.get(m) === check).length);
    const left = mine.filter((m) => killers.get(m) === undefined).length;
    return [kind, mine.length, mine.length - left, left, ...by];
  };
  const killed = sample.length - alive.length;
  const report = {
    numbers: {
      'states of the pictures': states,
      transitions: transitions.length,
      'of them unreachable': unreachable.length,
      paths: paths.length,
      stories: mapped.length,
      'cycles that spend nothing': freeCycle(drawn) === undefined ? 0 : 1,
      'mutants killed': `${killed} of ${sample.length}`,
    },
    header: ['mutants', 'made', 'killed', 'alive', ...checks],
    rows: kinds.map(row),
    survivors: alive.map(({ name }) => [name, survivors[name] ?? 'NOT LISTED'] as const),
  };
  const file = process.env.ESCAPEMENT_PROVE_REPORT;
  if (file) writeFileSync(file, JSON.stringify(report));

  expect(unreachable).toEqual([]);
  expect(alive.map(({ name }) => name).filter((name) => !(name in survivors))).toEqual([]);
  const names = new Set(sample.map(({ name }) => name));
  const living = new Set(alive.map(({ name }) => name));
  const dead = Object.keys(survivors).filter((name) => names.has(name) && !living.has(name));
  expect(dead).toEqual([]);
  expect(Object.keys(survivors).length).toBeLessThanOrEqual(SURVIVORS_MAX);
  if (SHARE === 1) expect(killed / sample.length).toBeGreaterThanOrEqual(KILLED_SHARE_MIN);
});
