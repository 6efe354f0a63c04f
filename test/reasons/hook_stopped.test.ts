/** A hook around a tool may end the turn: no error, and the call is answered in the history. */
import { expect, it } from 'vitest';
import { callTool } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

it('a hook after a tool ends the turn with the history whole', async () => {
  const told = await tell({
    script: {
      replies: [callTool('Bash', { command: 'echo one' })],
    },
    options: {
      hooks: {
        PostToolUse: [{ hooks: [async () => ({ continue: false, stopReason: 'seen enough' })] }],
      },
    },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model calls Bash {"command":"echo one"}',
    'result "one"',
    'end hook_stopped ""',
  ]);
  expect(told.last).toMatchObject({ subtype: 'success', is_error: false, num_turns: 1 });
});
