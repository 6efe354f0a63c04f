/**
 * Every answer is cut: one try with more room, three continuations, then the end. The text that
 * came is the result.
 */
import { expect, it } from 'vitest';
import { forever, say } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

it('an answer that is cut for ever', async () => {
  const told = await tell({
    script: { replies: forever(say('part ', { stopReason: 'max_tokens' })) },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model says "part "',
    'taken back',
    '→ max_output_tokens_escalate',
    'status requesting',
    'model says "part " (replaces 1)',
    'nudge "You reached the output limit. Go on in the middle of the sentence where you stopped: no apology, no recap. If much is left, do it in smaller pieces."',
    '→ max_output_tokens_recovery',
    'status requesting',
    'model says "part "',
    'nudge "You reached the output limit. Go on in the middle of the sentence where you stopped: no apology, no recap. If much is left, do it in smaller pieces."',
    '→ max_output_tokens_recovery',
    'status requesting',
    'model says "part "',
    'nudge "You reached the output limit. Go on in the middle of the sentence where you stopped: no apology, no recap. If much is left, do it in smaller pieces."',
    '→ max_output_tokens_recovery',
    'status requesting',
    'model says "part "',
    'error max_output_tokens: The answer was cut at the output limit of the model, also when it went on.',
    'end max_output_tokens (error_during_execution) "part part part part "',
  ]);
  expect(told.requests.map(({ body }) => body.max_tokens)).toEqual([
    8_000, 64_000, 64_000, 64_000, 64_000,
  ]);
  expect(told.last).toMatchObject({ result: 'part part part part ', num_turns: 5 });
});
