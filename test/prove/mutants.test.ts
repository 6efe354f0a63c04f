/** Whether the proof would find anything: mistakes of each kind, and a chart without one. */
import { expect, it } from 'vitest';
import { pathsThroughWorlds } from '../paths/generate.ts';
import { worlds } from '../paths/worlds.ts';
import { type CheckName, killerOf } from './kill.ts';
import { type Mutant, mutants, unchanged } from './mutants.ts';

const { paths } = pathsThroughWorlds(worlds.slice(0, 1));
const killerIn = (mutant: Mutant) => killerOf(mutant, paths, []);

const found: readonly (readonly [string, CheckName])[] = [
  ['query · abort · 0: “toolsHandedOver” always holds', 'drawing'],
  ['stopHooks.evaluating · always · 0: “isErrand” always holds', 'paths'],
  ['recovery.exhausted · always · 3: no “settle”', 'drawing'],
  ['toolRun · tool.result · 0: to toolRun.asking in place of toolRun.draining', 'paths'],
  ['summaryMs is one more', 'deadlines'],
];
it.each(found)('%s: found by the %s', async (name, check) => {
  const mutant = mutants.find((one) => one.name === name);
  if (!mutant) throw new Error(`no such mutant; there is ${mutants[0]?.name}`);
  expect(await killerIn(mutant)).toBe(check);
});

it('nothing is found in a chart without a mistake', async () => {
  const none: Mutant = { name: 'none', kind: 'limit', place: '', make: unchanged };
  expect(await killerIn(none)).toBeUndefined();
});
