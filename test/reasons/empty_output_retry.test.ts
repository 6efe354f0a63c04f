/**
 * An answer without a visible word helps nobody: it is asked for once more, and leaves no trace.
 */
import { expect, it } from 'vitest';
import { message, say, thinking } from '../../src/testing/index.ts';
import { heard, tell } from '../tools/story.ts';

it('thinking alone is taken back and asked again', async () => {
  const told = await tell({
    script: { replies: [message([thinking('hm')]), say('Here.')] },
    options: { thinking: { type: 'enabled', budgetTokens: 1_024 } },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model thinking',
    'taken back',
    '→ empty_output_retry',
    'status requesting',
    'model says "Here." (replaces 1)',
    'end completed "Here."',
  ]);
  expect(told.requests.map(heard)[1]).toEqual(['user: do it']);
});
