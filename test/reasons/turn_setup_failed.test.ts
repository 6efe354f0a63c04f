/**
 * What fails before the loop begins still has a result: every prompt is answered by exactly one.
 */
import { expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

it('an empty prompt is no turn, and breaks none', async () => {
  const told = await tell({
    script: { replies: [say('Yes?')] },
    prompts: [[{ type: 'text', text: '  ' }], 'hello'],
  });
  expect(told.lines).toEqual([
    'end turn_setup_failed (error_during_execution) ""',
    'init',
    'status requesting',
    'model says "Yes?"',
    'end completed "Yes?"',
  ]);
  expect(told.results[0]).toMatchObject({
    is_error: true,
    errors: ['the prompt is empty: say what is to be done'],
    num_turns: 0,
  });
  expect(told.requests.length).toBe(1);
});
