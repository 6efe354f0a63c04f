/**
 * A host bounds how often the model is asked: the tools of the last turn have run and are in the
 * history, and the next prompt goes on from there.
 */
import { expect, it } from 'vitest';
import { callTool, say } from '../../src/testing/index.ts';
import { heard, tell } from '../tools/story.ts';

it('the third request is not made, and no result is lost', async () => {
  const told = await tell({
    script: {
      replies: [
        callTool('Bash', { command: 'echo 1' }),
        callTool('Bash', { command: 'echo 2' }),
        say('Both ran.'),
      ],
    },
    options: { maxTurns: 2 },
    prompts: ['do it', 'and?'],
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model calls Bash {"command":"echo 1"}',
    'result "1"',
    '→ next_turn',
    'status requesting',
    'model calls Bash {"command":"echo 2"}',
    'result "2"',
    'attachment max_turns_reached',
    'end max_turns (error_max_turns) ""',
    'init',
    'status requesting',
    'model says "Both ran."',
    'end completed "Both ran."',
  ]);
  expect(told.results[0]).toMatchObject({
    subtype: 'error_max_turns',
    num_turns: 2,
    errors: ['The turn limit was reached before the model was done.'],
  });
  expect(told.requests.map(heard).at(-1)).toEqual([
    'user: do it',
    'assistant: Bash({"command":"echo 1"})',
    'user: result 1',
    'assistant: Bash({"command":"echo 2"})',
    'user: result 2 + and?',
  ]);
});
