/**
 * The rest of a budget lowers `max_tokens` to what it can pay; when that is no answer any more,
 * the turn ends before a call is made.
 */
import { expect, it } from 'vitest';
import { callTool, message, say, text } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

it('the result of the tool is shown, the next call is not made', async () => {
  const told = await tell({
    script: {
      replies: [
        callTool('Bash', { command: 'echo paid' }, { usage: { output_tokens: 3_000 } }),
        say('never asked for'),
      ],
    },
    // 15 dollars a million tokens: 3,000 are 4.5 cents, and what is left pays for less than 1,024.
    options: { maxBudgetUsd: 0.06 },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model calls Bash {"command":"echo paid"}',
    'result "paid"',
    '→ next_turn',
    'end budget_exhausted (error_max_budget_usd) ""',
  ]);
  expect(told.requests.map(({ body }) => Number(body.max_tokens) < 4_000)).toEqual([true]);
  expect(told.last).toMatchObject({ subtype: 'error_max_budget_usd', num_turns: 1 });
  expect(told.last.total_cost_usd).toBeLessThan(0.06);
});

it('what was billed after the chart had hung up counts, too', async () => {
  const told = await tell({
    script: {
      replies: [
        message([text('one'), text('two'), text('three')], { usage: { input_tokens: 100_000 } }),
        say('never asked for'),
      ],
    },
    limits: { blocksMax: 1 },
    // 3 dollars a million tokens: the prompt was 30 cents, whether its answer was heard or not.
    options: { maxBudgetUsd: 0.2 },
    except: ['script', 'usage'],
  });
  expect(told.requests).toHaveLength(1);
  // Whether the bill comes before the limits are looked at or while the purse is asked: the same end.
  const isAsked = (line: string) => line === 'status requesting';
  expect(told.lines.filter((line) => !isAsked(line))).toEqual([
    'init',
    'model says "one"',
    expect.stringMatching(/^nudge "Your answer broke off/),
    '→ stream_resume',
    'end budget_exhausted (error_max_budget_usd) "one"',
  ]);
  expect(told.last.errors).toEqual([expect.stringContaining('A larger maxBudgetUsd')]);
});
