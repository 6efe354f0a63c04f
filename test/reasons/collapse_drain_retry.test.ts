/**
 * Collapses that were prepared in the background are the cheapest room there is: they are
 * committed before anything is summarised.
 */
import { expect, it } from 'vitest';
import { say, tooLong } from '../../src/testing/index.ts';
import { collapsing, dug, findingOf, findings, onceStaged, textOf } from '../tools/collapses.ts';
import { summing } from '../tools/gates.ts';
import { tell } from '../tools/story.ts';

it('staged collapses are committed, and the request is sent again', async () => {
  const told = await tell({
    // Of five rounds four are old enough, each for a collapse of its own.
    script: ({ home }) => ({
      replies: [onceStaged(home, 4, tooLong()), say('It fits.')],
      collapses: [findings],
    }),
    config: () => collapsing({ initialMessages: dug(5) }),
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'context_edit collapse',
    '→ collapse_drain_retry',
    'status requesting',
    'model says "It fits."',
    'end completed "It fits."',
  ]);
  const [refused = '', sent = ''] = told.requests.map(textOf);
  expect(sent.length).toBeLessThan(refused.length / 2);
  for (let n = 0; n < 5; n += 1) expect(sent).toContain(findingOf(n));
  expect(told.server.requestsOf('compact')).toEqual([]);
});

it('with nothing prepared the ladder goes on to a summary', async () => {
  const told = await tell({
    gates: { ...summing, contextCollapse: true },
    script: { replies: [tooLong(), say('It fits.')] },
    config: () => collapsing({ initialMessages: dug(2) }),
  });
  expect(told.transitions).toEqual(['reactive_compact_retry']);
});
