/** A server that tells nonsense of what it has used: told, and the budget stays what it is. */
import { expect, it } from 'vitest';
import { callTool, say } from '../../../src/testing/index.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { tell } from '../../tools/story.ts';

const endless = 1e308;

it.each([
  ['endless', { output_tokens: endless }, { output_tokens: endless }],
  ['negative, then text', { input_tokens: -5, output_tokens: endless }, { output_tokens: 'x' }],
  ['none', { input_tokens: 1 }, { output_tokens: null }],
])('%s numbers count for what was said', async (_, usage, finalUsage) => {
  const words = 'word '.repeat(3_000);
  const told = await tell({
    script: {
      replies: [
        say(words, { usage, finalUsage } as never),
        say('again', { usage, finalUsage } as never),
      ],
    },
    prompts: ['do it', 'and again'],
    except: ['usage'],
  });
  const [first, second] = told.results;
  expect(first?.terminal_reason).toBe('completed');
  // 15 dollars a million tokens, and about four characters a token.
  expect(first?.total_cost_usd).toBeGreaterThan(0.03);
  expect(second?.total_cost_usd).toBeLessThan(1);
  expect(told.lines.filter((line) => line.startsWith("warning the server's usage"))).toHaveLength(
    2,
  );
});

it('a budget is still one', async () => {
  const usage = { output_tokens: endless };
  const told = await tell({
    script: {
      replies: [
        callTool('Take', { text: 'word '.repeat(4_000) }, { usage, finalUsage: usage }),
        say('never asked for'),
      ],
    },
    options: { maxBudgetUsd: 0.08 },
    config: () => ({ tools: [hostTool('Take', () => 'taken')] }),
    except: ['usage', 'script'],
  });
  expect(told.last.terminal_reason).toBe('budget_exhausted');
  expect(told.last.total_cost_usd).toBeLessThan(0.2);
});
