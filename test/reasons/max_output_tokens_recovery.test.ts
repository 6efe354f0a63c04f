/**
 * At the largest cap there is no more room to give: what was said is kept, and the model goes
 * on.
 */
import { expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { heard, tell } from '../tools/story.ts';

it('the parts of a long answer are joined', async () => {
  const told = await tell({
    script: {
      replies: [
        say('One, ', { stopReason: 'max_tokens' }),
        say('One, two, ', { stopReason: 'max_tokens' }),
        say('three.'),
      ],
    },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model says "One, "',
    'taken back',
    '→ max_output_tokens_escalate',
    'status requesting',
    'model says "One, two, " (replaces 1)',
    'nudge "You reached the output limit. Go on in the middle of the sentence where you stopped: no apology, no recap. If much is left, do it in smaller pieces."',
    '→ max_output_tokens_recovery',
    'status requesting',
    'model says "three."',
    'end completed "One, two, three."',
  ]);
  expect(told.requests.map(heard).at(-1)).toEqual([
    'user: do it',
    'assistant: One, two, ',
    'user: You reached the output limit. Go on in the middle of the sentence where you stopped: no apology, no recap. If much is left, do it in smaller pieces.',
  ]);
  expect(told.last.result).toBe('One, two, three.');
});
