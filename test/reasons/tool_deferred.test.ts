/** A hook leaves a call to the host: the turn ends without an error and names the call. */
import { expect, it } from 'vitest';
import { callTool } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

it('the host finds the call in the result', async () => {
  const told = await tell({
    script: { replies: [callTool('Bash', { command: 'make release' })] },
    options: {
      hooks: {
        PreToolUse: [
          {
            hooks: [
              async () => ({
                hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'defer' },
              }),
            ],
          },
        ],
      },
    },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model calls Bash {"command":"make release"}',
    'end tool_deferred ""',
  ]);
  expect(told.last).toMatchObject({
    is_error: false,
    deferred_tool_use: { name: 'Bash', input: { command: 'make release' } },
  });
});
