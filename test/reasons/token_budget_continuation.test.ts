/**
 * The host paid for more output than the model gave: it is asked to go on while there is room.
 */
import { expect, it } from 'vitest';
import { message, say, text } from '../../src/testing/index.ts';
import { heard, tell } from '../tools/story.ts';

it('a budget in the prompt is used up', async () => {
  const told = await tell({
    script: {
      replies: [
        say('A first draft.', { usage: { output_tokens: 600 } }),
        say(' And the rest.', { usage: { output_tokens: 1_300 } }),
      ],
    },
    prompts: ['write it all down +2k'],
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model says "A first draft."',
    'token_budget continue 30 %',
    'nudge "30 % of the token budget is used (600 of 2000). There is room left: go on with the work, do not sum up."',
    '→ token_budget_continuation',
    'status requesting',
    'model says " And the rest."',
    'token_budget stop 95 %',
    'end completed "A first draft. And the rest."',
  ]);
  expect(told.requests.map(heard).at(-1)).toEqual([
    'user: write it all down +2k',
    'assistant: A first draft.',
    'user: 30 % of the token budget is used (600 of 2000). There is room left: go on with the work, do not sum up.',
  ]);
  expect(told.last).toMatchObject({ result: 'A first draft. And the rest.', num_turns: 2 });
});

it('what a stream had said that died counts, too: it was paid for', async () => {
  const told = await tell({
    script: {
      replies: [
        message([text('lost')], {
          usage: { output_tokens: 900 },
          startUsage: { output_tokens: 900 },
          fault: { kind: 'cut', after: { block: 0, delta: 0 } },
        }),
        say('A draft.', { usage: { output_tokens: 600 } }),
        say(' The rest.', { usage: { output_tokens: 400 } }),
      ],
    },
    prompts: ['write it all down +2k'],
  });
  const budget = told.lines.filter((line) => line.startsWith('token_budget'));
  expect(budget).toEqual(['token_budget continue 75 %', 'token_budget stop 95 %']);
});
