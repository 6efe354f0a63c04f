/**
 * Our own services are not trusted, either: one that throws ends the turn with a reason, one that
 * never answers is not waited for, and the session goes on after both.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { QueryDeps } from '../../../src/deps.ts';
import { callTool, type Script, say, tooLong } from '../../../src/testing/index.ts';
import { summing } from '../../tools/gates.ts';
import { hostTool, pixel } from '../../tools/host-tool.ts';
import { answer, past, user } from '../../tools/past.ts';
import { tell } from '../../tools/story.ts';

type Conversation = 'callModel' | 'toolExecutor' | 'roundDescriber';
type Question = Exclude<keyof QueryDeps, Conversation | 'uuid' | 'now' | 'clock'>;

const done: Script = { replies: [callTool('Look'), say('done'), say('again')] };
const full: Script = { replies: [tooLong(), say('again'), say('again')] };
/** What brings each service into play, and what comes of it when it never answers. */
const services: Record<Exclude<Question, 'switchModel'>, readonly [Script, late: string]> = {
  toolResultBudget: [done, 'completed'],
  snip: [done, 'completed'],
  microcompact: [done, 'completed'],
  collapse: [done, 'completed'],
  autocompact: [done, 'completed'],
  // Without it a request may be illegal: nothing is sent.
  legalize: [done, 'model_error'],
  attachments: [done, 'completed'],
  stopHooks: [done, 'model_error'],
  drainCollapses: [full, 'completed'],
  reactiveCompact: [full, 'prompt_too_long'],
  stripMedia: [
    {
      replies: [
        {
          kind: 'error',
          status: 400,
          error: { type: 'invalid_request_error', message: 'Could not process image' },
        },
        say('again'),
      ],
    },
    'image_error',
  ],
};

async function tellWith(name: Question, script: Script, service: () => Promise<never>) {
  let isBroken = true;
  const told = await tell({
    gates: summing,
    script,
    prompts: [[{ type: 'text', text: 'do it' }, pixel], 'again'],
    limits: limitsFor(name),
    config: () => ({
      tools: [hostTool('Look', () => 'seen')],
      initialMessages: past(user('x'.repeat(60_000)), answer('m0', 'Noted.')),
      deps: {
        [name]: (state: never, signal: never) =>
          isBroken ? service() : (fixed as never as (a: never, b: never) => unknown)(state, signal),
      },
    }),
    during: (said) => {
      if (said.type === 'result') isBroken = false;
    },
  });
  return told;
}
/** Short for the service that is broken; the others work, on a busy machine, too. */
const limitsFor = (name: Question) => {
  const of = {
    autocompact: 'summaryMs',
    reactiveCompact: 'summaryMs',
    drainCollapses: 'drainMs',
    attachments: 'attachMs',
    stopHooks: 'hooksMs',
    switchModel: 'switchMs',
  } as const;
  return { [name in of ? of[name as keyof typeof of] : 'stageMs']: 60 };
};

/** What the service says in the second turn. */
const fixed = async (state: { history: unknown }) => ({
  type: 'stage.done',
  history: state.history,
  usd: 0,
});

describe('a service that throws', () => {
  it.each(Object.entries(services))('%s: the turn ends with a reason', async (name, [script]) => {
    const told = await tellWith(name as Question, script, () =>
      Promise.reject(new Error('a bug of ours')),
    );
    expect(told.results[0]).toMatchObject({ terminal_reason: 'model_error', is_error: true });
    expect(told.results[0]?.errors[0]).toContain('a bug of ours');
  });

  it('callModel', async () => {
    const told = await tell({
      script: {},
      config: () => ({
        deps: {
          // biome-ignore lint/correctness/useYield: it breaks before it says anything
          callModel: async function* () {
            throw new Error('a bug of ours');
          },
        },
      }),
    });
    expect(told.last).toMatchObject({ terminal_reason: 'model_error' });
    expect(told.last.errors[0]).toContain('a bug of ours');
  });

  it('roundDescriber: nobody waits for its line, so the turn goes on', async () => {
    const told = await tell({
      script: { replies: [callTool('Look'), say('done')] },
      config: () => ({
        tools: [hostTool('Look', () => 'seen')],
        deps: {
          roundDescriber: async (line) =>
            line.onCommand(() => {
              throw new Error('a bug of ours');
            }),
        },
      }),
    });
    expect(told.last.terminal_reason).toBe('completed');
    expect(told.lines.filter((line) => line.includes('could not be described'))).toHaveLength(1);
  });

  const executors: Record<string, QueryDeps['toolExecutor']> = {
    'when it begins': () => Promise.reject(new Error('a bug of ours')),
    'while calls wait for it': () => wait(200).then(() => Promise.reject('a bug of ours')),
    'when it hears of a call': async (line) =>
      line.onCommand(() => {
        throw new Error('a bug of ours');
      }),
  };
  it.each(Object.entries(executors))('toolExecutor, %s', async (_, toolExecutor) => {
    const told = await tell({
      script: { replies: [callTool('Look'), say('never asked')] },
      config: () => ({ tools: [hostTool('Look', () => 'seen')], deps: { toolExecutor } }),
      except: ['script', 'usage'], // the stream may be cut before it has said its last numbers
    });
    expect(told.last).toMatchObject({ terminal_reason: 'model_error', is_error: true });
    expect(told.last.errors[0]).toContain('toolExecutor: ');
    expect(told.last.errors[0]).toContain('a bug of ours');
  });
});

describe('a service that never answers', () => {
  it.each(Object.entries(services))('%s is not waited for', async (name, [script, late]) => {
    const told = await tellWith(name as Question, script, () => new Promise(() => {}));
    expect(told.results[0]?.terminal_reason).toBe(late);
  });
});

it('a callback of the host that throws is told once, and ends nothing', async () => {
  const broken = () => {
    throw new Error('a bug of the host');
  };
  const told = await tell({
    script: { replies: [callTool('Look'), say('done')] },
    config: () => ({ tools: [hostTool('Look', () => 'seen')], setSDKStatus: broken }),
    begin: (engine) => {
      engine.inspect = broken;
    },
    except: ['view', 'stands'], // they are seen with the inspector that is replaced here
  });
  expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'done' });
  const warnings = told.lines.filter((line) => line.includes('a bug of the host'));
  expect(warnings.map((line) => line.split(' ')[1]).sort()).toEqual(['inspect', 'setSDKStatus']);
});
