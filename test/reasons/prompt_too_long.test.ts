/**
 * The API refuses the prompt and nothing makes it shorter: the turn ends once, and says what the
 * API said.
 */
import { expect, it } from 'vitest';
import { forever, tooLong } from '../../src/testing/index.ts';
import { summing } from '../tools/gates.ts';
import { tell } from '../tools/story.ts';

it('one exchange cannot be summarised away', async () => {
  const told = await tell({ gates: summing, script: { replies: forever(tooLong()) } });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'info Not summarised: one exchange is all there is: nothing to sum up',
    'error prompt_too_long: 400 invalid_request_error: prompt is too long: 210000 tokens > 200000 maximum',
    'end prompt_too_long (error_during_execution) ""',
  ]);
  expect(told.requests.length).toBe(1);
  expect(told.last.api_error_status).toBe(400);
});
