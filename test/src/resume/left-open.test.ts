/**
 * What a dead process has left waits for a turn that asks the model: one that fails before, or
 * needs no model, neither swallows its prompts nor answers for them.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SubmitOptions } from '../../../src/config.ts';
import type { QueryEngine } from '../../../src/query-engine.ts';
import { callTool, type Script, type Step, say, tooLong } from '../../../src/testing/index.ts';
import { conversationOf, openPlace, type Run } from './kit.ts';

let place: ReturnType<typeof openPlace>;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

const id = (n: number) => `${n}${n}${n}${n}${n}${n}${n}${n}-0000-4000-8000-000000000000`;

/** A process that died in its turn, with a prompt beside it. @returns how to go on. */
async function dead(): Promise<Pick<Run, 'home' | 'options'>> {
  let home = '';
  const first = await place.run({
    script: {
      replies: [
        ...[say('Noted.'), say('Noted, too.')],
        ...[callTool('Bash', { command: 'echo A' }), say('never seen')],
      ],
    },
    prompts: [
      `remember ${'x'.repeat(60_000)}`, // there is something to sum up
      'and this',
      { prompt: 'the first', uuid: id(1) },
    ],
    during: (said, engine) => {
      if (home !== '' || said.type !== 'user') return;
      engine.enqueue('beside it', { uuid: id(2), priority: 'later' });
      home = place.crash();
    },
  });
  return { home, options: { resume: first.sessionId } };
}

/** Turns that are over before the model is asked: how, and how they end. */
const before: Record<
  string,
  readonly [
    (engine: QueryEngine, options: SubmitOptions) => ReturnType<QueryEngine['compact']>,
    string,
  ]
> = {
  'an empty prompt': [(engine, options) => engine.submitMessage('', options), 'turn_setup_failed'],
  'a line that is none': [
    (engine, options) => engine.submitMessage('x', { ...options, fault: 'no JSON' }),
    'turn_setup_failed',
  ],
  'a prompt that a hook stops': [
    (engine, options) => engine.submitMessage('STOP', options),
    'hook_stopped',
  ],
  'a command of the engine': [(engine, options) => engine.compact('', options), 'completed'],
};
const stops = {
  UserPromptSubmit: [
    {
      hooks: [
        async (input: { readonly prompt?: string }) =>
          input.prompt === 'STOP' ? { decision: 'block', reason: 'not this' } : {},
      ],
    },
  ],
} as never;

const script = (...replies: readonly Step[]): Script => ({
  replies,
  compactions: [say('<summary>the first, and A</summary>')],
});

describe.each(Object.keys(before))('%s comes first', (name) => {
  const [submit, reason] = before[name] ?? [];

  it('… and the next prompt takes everything along, and its result names it', async () => {
    const left = await dead();
    const ran = await place.run({
      ...left,
      options: { ...left.options, hooks: stops },
      script: script(say('all of it')),
      drive: async function* (engine) {
        if (submit) yield* submit(engine, { uuid: id(3) });
        expect(engine.interrupted).toMatchObject({ promptUuids: [id(1)], mayFinish: true });
        yield* engine.submitMessage('go on', { uuid: id(4) });
        expect(engine.interrupted).toBeUndefined();
      },
    });
    expect(ran.results.map((one) => [one.terminal_reason, one.user_message_uuids])).toEqual([
      [reason, [id(3)]],
      ['completed', [id(4), id(1), id(2)]],
    ]);
    const isSummed = ran.lines.includes('compact_boundary');
    expect(isSummed).toBe(name === 'a command of the engine');
    expect(conversationOf(ran.requests.at(-1)).slice(-2)).toEqual([
      'user: beside it',
      'user: go on',
    ]);
    const again = await place.run({ ...left, script: script(say('done')), prompts: ['more'] });
    expect(again.last.user_message_uuids).toHaveLength(1);
  });

  it('… and the process ends: the turn is interrupted still, and this was no try to end it', async () => {
    const left = await dead();
    for (let process = 0; process < 4; process += 1) {
      await place.run({
        ...left,
        options: { ...left.options, hooks: stops },
        script: script(),
        drive: (engine) => submit?.(engine, { uuid: id(3) }) ?? engine.finishInterrupted(),
      });
    }
    const ran = await place.run({
      ...left,
      script: script(say('to the end')),
      drive: (engine) => {
        expect(engine.interrupted).toEqual({ promptUuids: [id(1)], tries: 0, mayFinish: true });
        return engine.finishInterrupted();
      },
    });
    expect(ran.results.map((one) => [one.terminal_reason, one.user_message_uuids])).toEqual([
      ['completed', [id(1), id(2)]],
    ]);
  });
});

it('a prompt of the queue that its host sends again is asked once', async () => {
  const left = await dead();
  const ran = await place.run({
    ...left,
    script: script(say('once')),
    prompts: [{ prompt: 'beside it', uuid: id(2) }],
  });
  expect(ran.last.user_message_uuids).toEqual([id(2), id(1)]);
  const talk = conversationOf(ran.requests[0]);
  expect(talk.filter((line) => line === 'user: beside it')).toHaveLength(1);
});

it('a summary in the turn before a crash does not lose what waits for its own turn', async () => {
  let home = '';
  const first = await place.run({
    script: {
      replies: [say('Noted.'), say('Noted, too.'), tooLong(), say('never seen')],
      compactions: [say('<summary>all of it</summary>')],
    },
    prompts: [`remember ${'x'.repeat(60_000)}`, 'and this', { prompt: 'the last', uuid: id(1) }],
    during: (said, engine) => {
      if (said.type === 'system' && said.subtype === 'init' && home === '') {
        engine.enqueue('in the hands of the caller', { uuid: id(2), priority: 'later' });
        engine.enqueue('taken back', { uuid: id(3), priority: 'later' });
        engine.takeQueued();
        engine.cancel(id(3));
        engine.enqueue('beside it', { uuid: id(4), priority: 'later' });
        home = 'not yet';
      }
      if (said.type === 'system' && said.subtype === 'compact_boundary') home = place.crash();
    },
  });
  const ran = await place.run({
    home,
    options: { resume: first.sessionId },
    script: script(say('all of it')),
    prompts: [{ prompt: 'go on', uuid: id(5) }],
  });
  expect(ran.last.user_message_uuids).toEqual([id(5), id(1), id(2), id(4)]);
  expect(conversationOf(ran.requests[0]).slice(-3)).toEqual([
    'user: in the hands of the caller',
    'user: beside it',
    'user: go on',
  ]);
});
