/**
 * Collapses that were prepared in the background are the cheapest room there is: they are
 * committed before anything is summarised.
 */
import { expect, it } from 'vitest';
import { say, tooLong } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

it('staged collapses are committed, and the request is sent again', async () => {
  const told = await tell({
    script: { replies: [tooLong(), say('It fits.')] },
    config: () => ({
      deps: { drainCollapses: async ({ history }) => ({ type: 'collapse.drained', history }) },
    }),
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    '→ collapse_drain_retry',
    'status requesting',
    'model says "It fits."',
    'end completed "It fits."',
  ]);
  expect(told.server.requestsOf('compact')).toEqual([]);
});
