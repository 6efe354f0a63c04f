/** Whether a call of a dead process is run again: whoever is asked may never answer. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Options } from '../../../src/options.ts';
import type { QueryEngine } from '../../../src/query-engine.ts';
import { callTool, say } from '../../../src/testing/index.ts';
import { lineOf } from '../../tools/story.ts';
import { conversationOf, openPlace, type Run } from './kit.ts';

let place: ReturnType<typeof openPlace>;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

/** A process that died while its call ran. */
async function dead(): Promise<{ readonly home: string; readonly resume: string }> {
  let home = '';
  const { sessionId: resume } = await place.run({
    script: { replies: [callTool('Bash', { command: 'touch began; sleep 60' })] },
    during: async (said, engine) => {
      if (!lineOf(said).startsWith('model calls')) return;
      await expect.poll(() => existsSync(join(place.cwd, 'began'))).toBe(true);
      home = place.crash();
      engine.interrupt();
    },
  });
  return { home, resume };
}

const asked: Record<string, (signals: AbortSignal[]) => Options> = {
  'a function': (signals) => ({
    onUnknownOutcome: (_, { signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    },
  }),
  'a person': (signals) => ({
    onUnknownOutcome: 'ask',
    canUseTool: (_name, _input, { signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    },
  }),
};
const isAsking = (said: Parameters<typeof lineOf>[0]) => lineOf(said) === 'state requires_action';

async function goOn(name: string, run: Pick<Run, 'during' | 'drive' | 'prompts'>) {
  const { home, resume } = await dead();
  const signals: AbortSignal[] = [];
  const options = { resume, ...asked[name]?.(signals) };
  const ran = await place.run({ home, options, script: { replies: [say('And now?')] }, ...run });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  return ran;
}

it.each(Object.keys(asked))('%s is waited for visibly, until somebody says stop', async (name) => {
  const ran = await goOn(name, {
    prompts: ['go on', 'and then?'],
    during: (said, engine) => {
      if (isAsking(said)) engine.interrupt();
    },
  });
  const states = ran.lines.filter((line) => line.startsWith('state '));
  expect(states.slice(0, 2)).toEqual(['state requires_action', 'state running']);
  expect(ran.results.map((one) => one.terminal_reason)).toEqual(['aborted_streaming', 'completed']);
  expect(conversationOf(ran.requests.at(-1)).join('\n')).toMatch(/outcome is unknown/);
});

it.each(Object.keys(asked))('%s does not keep a host from leaving', async (name) => {
  const leave = async function* (engine: QueryEngine) {
    for await (const said of engine.submitMessage('go on')) {
      yield said;
      if (isAsking(said)) break;
    }
    yield* engine.submitMessage('and then?');
  };
  const ran = await goOn(name, { drive: leave });
  expect(ran.last).toMatchObject({ terminal_reason: 'completed', result: 'And now?' });
});
