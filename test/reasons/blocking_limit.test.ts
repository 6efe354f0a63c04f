/** What does not fit is not sent: no request, no cost, and a reason that says so. */
import { expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { summing } from '../tools/gates.ts';
import { tell } from '../tools/story.ts';

it('a prompt above the window is refused by ourselves', async () => {
  const told = await tell({
    gates: summing,
    script: { replies: [say('never asked for')] },
    limits: { windowTokens: 100 },
  });
  expect(told.lines).toEqual([
    'init',
    'info Not summarised: one exchange is all there is: nothing to sum up',
    'error blocking_limit: The prompt does not fit the context window, and nothing could make it shorter. It was not sent.',
    'end blocking_limit (error_during_execution) ""',
  ]);
  expect(told.requests).toEqual([]);
  expect(told.last).toMatchObject({ num_turns: 0, total_cost_usd: 0 });
});
