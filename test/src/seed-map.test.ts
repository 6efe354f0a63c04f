/** The map from the original description to the tests is whole, and the first words stay few. */
import { expect, it } from 'vitest';
import { promptFacts } from '../tools/prompt-doc.ts';
import { configFields, seedMapProblems, stateFields, steps } from '../tools/seed-map.ts';

it('each field, piece of state, step and reason is named with a test that there is', () => {
  expect(seedMapProblems()).toEqual([]);
  expect(Object.keys(configFields)).toHaveLength(27);
  expect(Object.keys(stateFields)).toHaveLength(9);
  expect(Object.keys(steps)).toHaveLength(13);
});

it('prompt and tool descriptions together stay below 6 KB', () => {
  expect(promptFacts().bytes).toBeLessThan(6 << 10);
});
