/**
 * Collapses that were prepared in the background are the cheapest room there is: they are
 * committed before anything is summarised.
 */
import { expect, it } from 'vitest';
import { say, tooLong } from '../../src/testing/index.ts';
import { collapsing, digs, findingOf, findings, onceStaged, textOf } from '../tools/collapses.ts';
import { tell } from '../tools/story.ts';

it('staged collapses are committed, and the request is sent again', async () => {
  const told = await tell({
    // Two collapses of two rounds each can be prepared after the sixth.
    script: ({ home }) => ({
      replies: [...digs(0, 6), onceStaged(home, 2, tooLong()), say('It fits.')],
      collapses: [findings],
    }),
    config: () => collapsing(),
  });
  expect(told.lines.slice(-6)).toEqual([
    'status requesting',
    'context_edit collapse',
    '→ collapse_drain_retry',
    'status requesting',
    'model says "It fits."',
    'end completed "It fits."',
  ]);
  const [refused = '', sent = ''] = told.requests.slice(-2).map(textOf);
  expect(sent.length).toBeLessThan(refused.length);
  for (let n = 0; n < 6; n += 1) expect(sent).toContain(findingOf(n));
  expect(told.server.requestsOf('compact')).toEqual([]);
});

it('with nothing prepared the ladder goes on to a summary', async () => {
  const told = await tell({
    script: { replies: [...digs(0, 3), tooLong(), say('It fits.')] },
    config: () => collapsing(),
  });
  expect(told.transitions.at(-1)).toBe('reactive_compact_retry');
});
