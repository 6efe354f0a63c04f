/**
 * The API says that the prompt is too long: a summary makes it shorter, and the turn goes on.
 */
import { expect, it } from 'vitest';
import { SUMMARY_MARK, say, tooLong } from '../../src/testing/index.ts';
import { summing } from '../tools/gates.ts';
import { heard, tell } from '../tools/story.ts';

it('a refused prompt is summarised and sent again', async () => {
  const told = await tell({
    gates: summing,
    script: { replies: [say('Noted.'), say('Noted, too.'), tooLong(), say('Still here.')] },
    prompts: [`remember ${'x'.repeat(60_000)}`, 'and this', 'go on'],
  });
  expect(told.lines.slice(8)).toEqual([
    'init',
    'status requesting',
    'status compacting',
    'compact_boundary',
    'status null',
    '→ reactive_compact_retry',
    'status requesting',
    'model says "Still here."',
    'end completed "Still here."',
  ]);
  const [request] = told.requests.map(heard).slice(-1);
  expect(request?.[0]).toContain(SUMMARY_MARK);
  expect(request?.at(-1)).toContain('go on');
  expect(told.last).toMatchObject({ is_error: false, result: 'Still here.' });
});
