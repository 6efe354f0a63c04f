/**
 * A refusal is an answer: it is not paid for twice, and what it is about does not wedge the
 * session.
 */
import { expect, it } from 'vitest';
import { message, say, text } from '../../src/testing/index.ts';
import { heard, tell } from '../tools/story.ts';

it('one request, and the next prompt works', async () => {
  const told = await tell({
    script: {
      replies: [message([text('I would rath')], { stopReason: 'refusal' }), say('Gladly.')],
    },
    prompts: ['do harm', 'do good'],
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model says "I would rath"',
    'error refusal: The model refuses to answer.',
    'end refusal (error_during_execution) "I would rath"',
    'init',
    'status requesting',
    'model says "Gladly."',
    'end completed "Gladly."',
  ]);
  expect(told.results[0]).toMatchObject({ is_error: true, stop_reason: 'refusal', num_turns: 1 });
  expect(told.requests.map(heard).at(-1)).toEqual([
    'user: do harm',
    'assistant: I would rath',
    'user: do good',
  ]);
});
