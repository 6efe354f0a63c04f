/** A call is announced and never made: two more tries, then the end. */
import { expect, it } from 'vitest';
import { forever, say } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

it('no call comes, however often it is asked for', async () => {
  const told = await tell({
    script: { replies: forever(say('I call it now.', { stopReason: 'tool_use' })) },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model says "I call it now."',
    'taken back',
    '→ malformed_tool_use_retry',
    'status requesting',
    'model says "I call it now." (replaces 1)',
    'taken back',
    '→ malformed_tool_use_retry',
    'status requesting',
    'model says "I call it now." (replaces 1)',
    'error malformed_tool_use: The model said that it calls a tool, and no call came.',
    'end malformed_tool_use_exhausted (error_during_execution) "I call it now."',
  ]);
  expect(told.requests.length).toBe(3);
});
