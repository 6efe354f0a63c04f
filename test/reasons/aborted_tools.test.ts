/**
 * The host says stop while a tool runs: the call is answered in the history, and the next prompt
 * works.
 */
import { expect, it } from 'vitest';
import { callTool, say } from '../../src/testing/index.ts';
import { hostTool } from '../tools/host-tool.ts';
import { heard, lineOf, tell } from '../tools/story.ts';

it('an interrupt while a tool runs', async () => {
  let onStart = () => {};
  const started = new Promise<void>((resolve) => {
    onStart = resolve;
  });
  const told = await tell({
    script: { replies: [callTool('Wait'), say('Yes?')] },
    config: () => ({
      tools: [
        hostTool('Wait', (_, { signal }) => {
          onStart();
          return new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
          });
        }),
      ],
    }),
    prompts: ['do it', 'something else'],
    during: async (message, engine) => {
      if (lineOf(message) !== 'model calls Wait {}') return;
      await started;
      engine.interrupt();
    },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model calls Wait {}',
    'result (error) "The call was interrupted."',
    'end aborted_tools (error_during_execution) ""',
    'init',
    'status requesting',
    'model says "Yes?"',
    'end completed "Yes?"',
  ]);
  expect(told.requests.map(heard).at(-1)).toEqual([
    'user: do it',
    'assistant: Wait({})',
    'user: error The call was interrupted. + something else',
  ]);
});
