/**
 * An answer says that it calls a tool and holds no call: asked again, most models make the call.
 */
import { expect, it } from 'vitest';
import { callTool, say } from '../../src/testing/index.ts';
import { heard, tell } from '../tools/story.ts';

it('a call that is missing is asked for again', async () => {
  const told = await tell({
    script: {
      replies: [
        say('I will look.', { stopReason: 'tool_use' }),
        callTool('Bash', { command: 'echo seen' }),
        say('Seen.'),
      ],
    },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model says "I will look."',
    'taken back',
    '→ malformed_tool_use_retry',
    'status requesting',
    'model calls Bash {"command":"echo seen"} (replaces 1)',
    'result "seen"',
    '→ next_turn',
    'status requesting',
    'model says "Seen."',
    'end completed "Seen."',
  ]);
  expect(told.requests.map(heard)[1]).toEqual(['user: do it']);
});
