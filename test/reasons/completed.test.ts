/** The ordinary end: the model has said all, and nobody objects. */
import { expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

it('the model answers and is done', async () => {
  const told = await tell({ script: { replies: [say('All is well.')] } });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model says "All is well."',
    'end completed "All is well."',
  ]);
  expect(told.last).toMatchObject({
    subtype: 'success',
    is_error: false,
    errors: [],
    num_turns: 1,
  });
});
