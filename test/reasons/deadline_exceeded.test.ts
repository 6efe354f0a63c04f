/**
 * The time of the host is over in the middle of a wait: whatever runs is stopped, every call is
 * answered.
 */
import { expect, it } from 'vitest';
import { callTool, say } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

it('a tool that runs longer than the host has time', async () => {
  const told = await tell({
    script: { replies: [callTool('Bash', { command: 'sleep 300' }), say('Yes?')] },
    options: { maxDurationMs: 400 },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model calls Bash {"command":"sleep 300"}',
    'result (error) "The call was interrupted."',
    'end deadline_exceeded (error_during_execution) ""',
  ]);
});
