/** A hook of the host may object to an answer: its words go to the model, which works on. */
import { expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { heard, tell } from '../tools/story.ts';

it('an objection becomes a message to the model', async () => {
  const active: unknown[] = [];
  const told = await tell({
    script: { replies: [say('Done.'), say('Now the tests pass.')] },
    options: {
      hooks: {
        Stop: [
          {
            hooks: [
              async (input) => {
                active.push(input.stop_hook_active);
                return active.length > 1 ? {} : { decision: 'block', reason: 'a test fails' };
              },
            ],
          },
        ],
      },
    },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model says "Done."',
    'nudge "A stop hook does not let this answer stand:\\na test fails"',
    '→ stop_hook_blocking',
    'status requesting',
    'model says "Now the tests pass."',
    'end completed "Now the tests pass."',
  ]);
  expect(told.requests.map(heard).at(-1)).toEqual([
    'user: do it',
    'assistant: Done.',
    'user: A stop hook does not let this answer stand:\na test fails',
  ]);
  expect(active).toEqual([false, true]);
  expect(told.last).toMatchObject({ is_error: false, num_turns: 2, result: 'Now the tests pass.' });
});
