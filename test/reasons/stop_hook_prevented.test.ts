/** A stop hook may end the turn as it is: no error, the answer stands. */
import { expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

it('the hook ends the turn, and the answer stands', async () => {
  const told = await tell({
    script: { replies: [say('Half done.')] },
    options: {
      hooks: {
        Stop: [{ hooks: [async () => ({ continue: false, stopReason: 'office closes' })] }],
      },
    },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model says "Half done."',
    'warning A stop hook ended the turn: office closes',
    'end stop_hook_prevented "Half done."',
  ]);
  expect(told.last).toMatchObject({ subtype: 'success', is_error: false, result: 'Half done.' });
});
