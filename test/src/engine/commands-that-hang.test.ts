/** Commands of the host that say nothing: whoever says stop does not wait for them. */
import { expect, it } from 'vitest';
import type { Command } from '../../../src/config.ts';
import type { QueryEngine } from '../../../src/query-engine.ts';
import { runCommand } from '../../../src/run-command.ts';
import { say } from '../../../src/testing/index.ts';
import { tell } from '../../tools/story.ts';

const face = { name: 'hang', description: '' };
const kinds: Record<string, (hang: (signal: AbortSignal) => Promise<never>) => Command> = {
  local: (hang) => ({ ...face, type: 'local', run: (_, signal) => hang(signal) }),
  prompt: (hang) => ({ ...face, type: 'prompt', expand: (_, signal) => hang(signal) }),
  session: (hang) => ({ ...face, type: 'session', run: (_, { signal }) => hang(signal) }),
};

it.each(Object.keys(kinds))(
  'a %s command: it is told to stop, and the next prompt works',
  async (kind) => {
    let engine: QueryEngine | undefined;
    let told: AbortSignal | undefined;
    const { results } = await tell({
      script: { replies: [say('And now?')] },
      prompts: ['/hang on', 'something else'],
      begin: (made) => {
        engine = made;
      },
      config: () => ({
        commands: [
          kinds[kind]?.((signal) => {
            told = signal;
            queueMicrotask(() => engine?.interrupt());
            return new Promise(() => {});
          }) as Command,
        ],
      }),
    });
    expect(told?.aborted).toBe(true);
    expect(results.map((one) => [one.terminal_reason, one.result])).toEqual([
      ['aborted_streaming', ''],
      ['completed', 'And now?'],
    ]);
  },
);

it('nobody says stop: its time is bounded', async () => {
  let told: AbortSignal | undefined;
  const command: Command = {
    ...face,
    type: 'local',
    run: (_, signal) => {
      told = signal;
      return new Promise(() => {});
    },
  };
  const never = new AbortController().signal;
  const hanging = runCommand({ command, argument: '' }, never, 20);
  await expect(hanging).rejects.toThrow('/hang said nothing for 0.02 s and was given up');
  expect(told?.aborted).toBe(true);
});

it('what it throws is the result of its turn, and not only while somebody waits', async () => {
  const { results } = await tell({
    script: { replies: [] },
    prompts: ['/hang on'],
    config: () => ({
      commands: [{ ...face, type: 'local', run: async () => Promise.reject(new Error('no disk')) }],
    }),
  });
  expect(results).toMatchObject([{ terminal_reason: 'turn_setup_failed', errors: ['no disk'] }]);
});
