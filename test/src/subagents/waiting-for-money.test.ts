/** A request that waits for what another one holds is nobody's silence. */
import { expect, it } from 'vitest';
import { callTools, say } from '../../../src/testing/index.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { tell } from '../../tools/story.ts';

it('is told, and never taken for a model that does not answer', async () => {
  const told = await tell({
    script: {
      replies: [
        callTools([
          ['Task', { description: 'd', prompt: 'p', run_in_background: true }],
          ['Wait', {}],
        ]),
        // Headers at once, so that no clock but the purse's runs.
        say('of the agent', { firstEventDelayMs: 1_500 }),
        say('of the loop'),
      ],
      whenExhausted: say('heard'),
    },
    // A longer answer than the budget pays for: whoever asks first holds all of it.
    options: { maxBudgetUsd: 0.3 },
    limits: { requestMs: 300, retryBaseMs: 1, outputTokens: 64_000 },
    config: ({ tools = [] }, { server }) => ({
      tools: [
        ...tools,
        hostTool('Wait', async () => {
          await expect.poll(() => server.requests.length).toBeGreaterThan(1);
          return 'the agent asks';
        }),
      ],
    }),
  });
  // The first request loads the SDK, which may take longer than this story allows an answer.
  const since = told.lines.slice(told.lines.indexOf('result "the agent asks"'));
  expect(since.filter((line) => line.startsWith('retry'))).toEqual([]);
  expect(since.join('\n')).toMatch(/info The next request waits: of the budget of \$0\.3/);
  expect(told.results[0]).toMatchObject({ terminal_reason: 'completed' });
});
