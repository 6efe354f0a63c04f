/** Nothing is said, also when asked again: that is an error and no empty success. */
import { expect, it } from 'vitest';
import { forever, message } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

it('two empty answers end the turn, and the session goes on', async () => {
  const told = await tell({
    script: { replies: forever(message([])) },
    prompts: ['do it', 'again'],
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    '→ empty_output_retry',
    'status requesting',
    'error empty_output: The model said nothing, also when it was asked again.',
    'end empty_output_exhausted (error_during_execution) ""',
    'init',
    'status requesting',
    '→ empty_output_retry',
    'status requesting',
    'error empty_output: The model said nothing, also when it was asked again.',
    'end empty_output_exhausted (error_during_execution) ""',
  ]);
  expect(told.requests.length).toBe(4);
});
