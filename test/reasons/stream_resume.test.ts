/**
 * A stream dies after a complete block: what was said is kept, and the model goes on after it.
 */
import { expect, it } from 'vitest';
import { message, say, text } from '../../src/testing/index.ts';
import { heard, tell } from '../tools/story.ts';

it('a broken answer is continued, not repeated', async () => {
  const told = await tell({
    script: {
      replies: [
        message([text('First half. '), text('lost')], {
          fault: { kind: 'cut', after: { block: 1, delta: 0 } },
        }),
        say('Second half.'),
      ],
    },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model says "First half. "',
    'nudge "Your answer broke off. What you see of it was kept: go on right after it, without repeating anything."',
    '→ stream_resume',
    'status requesting',
    'model says "Second half."',
    'end completed "First half. Second half."',
  ]);
  expect(told.requests.map(heard).at(-1)).toEqual([
    'user: do it',
    'assistant: First half. ',
    'user: Your answer broke off. What you see of it was kept: go on right after it, without repeating anything.',
  ]);
  expect(told.last.result).toBe('First half. Second half.');
});
