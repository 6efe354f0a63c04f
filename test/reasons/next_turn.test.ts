/** The loop itself: tools have answered, so the model is asked again with what they said. */
import { expect, it } from 'vitest';
import { callTool, say } from '../../src/testing/index.ts';
import { heard, tell } from '../tools/story.ts';

it('a tool answers, and the model reads it', async () => {
  const told = await tell({
    script: { replies: [callTool('Bash', { command: 'echo 42' }), say('It is 42.')] },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model calls Bash {"command":"echo 42"}',
    'result "42"',
    '→ next_turn',
    'status requesting',
    'model says "It is 42."',
    'end completed "It is 42."',
  ]);
  expect(told.requests.map(heard).at(-1)).toEqual([
    'user: do it',
    'assistant: Bash({"command":"echo 42"})',
    'user: result 42',
  ]);
  expect(told.last).toMatchObject({ num_turns: 2, result: 'It is 42.', stop_reason: 'end_turn' });
});
