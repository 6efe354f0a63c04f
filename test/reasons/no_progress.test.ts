/**
 * The same call gives the same result again and again: the model is told once, then the turn
 * ends.
 */
import { expect, it } from 'vitest';
import { callTool, forever } from '../../src/testing/index.ts';
import { hostTool } from '../tools/host-tool.ts';
import { tell } from '../tools/story.ts';

it('a model that goes in circles', async () => {
  const told = await tell({
    script: { replies: forever(callTool('Look')) },
    config: () => ({ tools: [hostTool('Look', () => 'nothing new')] }),
    limits: { repeatsReminded: 2, repeatsMax: 4 },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model calls Look {}',
    'result "nothing new"',
    '→ next_turn',
    'status requesting',
    'model calls Look {}',
    'result "nothing new"',
    'nudge "These calls keep giving the same results. Try something else."',
    '→ next_turn',
    'status requesting',
    'model calls Look {}',
    'result "nothing new"',
    '→ next_turn',
    'status requesting',
    'model calls Look {}',
    'result "nothing new"',
    'end no_progress (error_during_execution) ""',
  ]);
  expect(told.requests.length).toBe(4);
});
