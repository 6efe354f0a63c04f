/**
 * Most answers are short, so a small cap is asked for first; one that is cut at it is asked for
 * again with more room.
 */
import { expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { heard, tell } from '../tools/story.ts';

it('a cut answer is asked for again with the largest cap', async () => {
  const told = await tell({
    script: { replies: [say('A long answ', { stopReason: 'max_tokens' }), say('A long answer.')] },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model says "A long answ"',
    'taken back',
    '→ max_output_tokens_escalate',
    'status requesting',
    'model says "A long answer." (replaces 1)',
    'end completed "A long answer."',
  ]);
  expect(told.requests.map(({ body }) => body.max_tokens)).toEqual([8_000, 64_000]);
  // The same question: nothing of the first try is in the second.
  expect(told.requests.map(heard)).toEqual([['user: do it'], ['user: do it']]);
  expect(told.last.result).toBe('A long answer.');
});
