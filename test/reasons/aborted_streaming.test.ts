/**
 * The host says stop while the model speaks: what came as a whole block stands, the rest is
 * taken back, and the next prompt works.
 */
import { expect, it } from 'vitest';
import { message, say, text } from '../../src/testing/index.ts';
import { heard, lineOf, tell } from '../tools/story.ts';

it('an interrupt in the middle of a block', async () => {
  const told = await tell({
    script: {
      replies: [
        message([text('A whole block. '), text('half a bl')], {
          fault: { kind: 'stall', after: { block: 1, delta: 0 } },
        }),
        say('Yes?'),
      ],
    },
    options: { includePartialMessages: true },
    prompts: ['tell me', 'stop, something else'],
    during: (message, engine) => {
      if (lineOf(message) === 'delta "half a bl"') engine.interrupt();
    },
  });
  const lines = told.lines.filter((line) => !line.startsWith('event'));
  expect(lines).toEqual([
    'init',
    'status requesting',
    'delta "A whole block. "',
    'model says "A whole block. "',
    'delta "half a bl"',
    'taken back',
    'end aborted_streaming (error_during_execution) "A whole block. "',
    'init',
    'status requesting',
    'delta "Yes?"',
    'model says "Yes?"',
    'end completed "Yes?"',
  ]);
  expect(told.requests.map(heard).at(-1)).toEqual([
    'user: tell me',
    'assistant: A whole block. ',
    'user: stop, something else',
  ]);
  expect(told.results[0]).toMatchObject({ errors: ['Interrupted.'], num_turns: 0 });
});
