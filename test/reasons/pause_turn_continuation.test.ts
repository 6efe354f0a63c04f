/**
 * The API pauses a long answer of its own tools and wants the same message back, with no word of
 * ours.
 */
import { expect, it } from 'vitest';
import { message, say, text } from '../../src/testing/index.ts';
import { heard, tell } from '../tools/story.ts';

it('a paused answer goes back unchanged and is continued', async () => {
  const told = await tell({
    script: {
      replies: [message([text('Searching. ')], { stopReason: 'pause_turn' }), say('Found.')],
    },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model says "Searching. "',
    '→ pause_turn_continuation',
    'status requesting',
    'model says "Found."',
    'end completed "Searching. Found."',
  ]);
  expect(told.requests.map(heard).at(-1)).toEqual(['user: do it', 'assistant: Searching. ']);
  expect(told.last.result).toBe('Searching. Found.');
});
