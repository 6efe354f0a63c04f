/**
 * The same events give the same run: what is heard decides, and nothing else. A query that really
 * ran is heard again without any service; one that was stored at its gate goes on as if it had not
 * been. And whatever is heard, the state stays small.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AnyEventObject, createActor, fromCallback } from 'xstate';
import type { QueryEvent, QueryOutput } from '../../machines/events.ts';
import { conversations, questions } from '../../machines/ports.ts';
import { queryMachine } from '../../machines/query.machine.ts';
import { begin, type QueryInput, type QueryState } from '../../machines/state.ts';
import { edgeById, type Snapshot, startWith, stepFrom } from './chart.ts';
import { isLower, rankOf } from './rank.ts';
import {
  call,
  fails,
  leafOf,
  noteOf,
  open,
  say,
  stop,
  summaryOf,
  tell,
  think,
  type World,
  wait,
  whole,
} from './scripted-world.ts';
import { all } from './world.ts';

const silent = Object.fromEntries(
  [...Object.keys(questions), ...Object.keys(conversations)].map((name) => [
    name,
    fromCallback(() => {}),
  ]),
);
/** The chart alone, without anyone who answers. */
const hear = (input: QueryInput, script: readonly AnyEventObject[]) => {
  const actor = createActor(queryMachine.provide({ actors: silent as never }), { input });
  const said: QueryOutput[] = [];
  actor.on('*', (word) => said.push(word));
  actor.start();
  for (const event of script) {
    if (actor.getSnapshot().status === 'active') actor.send(event as QueryEvent);
  }
  const { context, output } = actor.getSnapshot();
  actor.stop();
  return { context, reason: output?.reason, said };
};

describe('a query that ran, heard again', () => {
  const stories: Record<string, World> = {
    'a tool, a person, a cut answer': {
      calls: (n) =>
        n === 0
          ? [open, say('x'), call('t1'), stop('tool_use')]
          : whole(n, stop(n === 1 ? 'max_tokens' : 'end_turn')),
      tool: async (id, send) => {
        send({ type: 'person.asked', question: 'q', toolUseId: id, atMs: 10 });
        await wait(5);
        send({ type: 'person.answered', question: 'q', atMs: 15 });
        return {};
      },
      input: { startedAtMs: 1 },
    },
    'retries with their waits, a resume, a fallback': {
      input: { fallbackModel: 'b' },
      calls: (n) =>
        [
          [open, think(), fails('connection', { jitter: 0.1 })],
          [open, say('half'), fails('connection')],
          ...Array(3).fill([fails('overloaded')]),
        ][n] ?? whole(n, stop('end_turn')),
    },
    'a compaction, a stop hook, a budget': {
      limits: { tokenBudget: 250 },
      calls: (n) => (n === 0 ? [fails('prompt_too_long')] : whole(n, stop('end_turn'))),
      answers: {
        reactiveCompact: (s, _, log) => ({
          type: 'compact.done',
          history: summaryOf(s, log),
          usd: 0,
        }),
        stopHooks: (_, n) =>
          n === 1 ? { type: 'hooks.blocked', errors: [noteOf('red')] } : { type: 'hooks.passed' },
      },
    },
    'an abort': {
      calls: () => [open, say('x')],
      during: (send, at) => {
        if (at === 'sampling.streaming') setTimeout(() => send({ type: 'abort' }), 5);
      },
    },
  };
  it.each(Object.entries(stories))('%s', async (_, world) => {
    const told = await tell(world);
    const again = hear(told.input, told.heard);
    expect(again).toEqual({ context: told.context, reason: told.reason, said: told.out });
    // and a word less is another run
    expect(hear(told.input, told.heard.slice(0, -1)).context).not.toEqual(told.context);
  });

  it('MACH-02 stored at the gate and begun again: the same end', async () => {
    const world: World = {
      calls: (n) =>
        n === 0 ? [open, call('t1'), stop('tool_use')] : [open, say('b'), stop('end_turn')],
    };
    let stored = '';
    const told = await tell({
      ...world,
      during: (_, at, state) => {
        if (at === 'preprocess.toolResultBudget') stored = JSON.stringify(state);
      },
    });
    const { history: _, limits, ...context } = begin(JSON.parse(stored));
    expect([context.turnCount, context.iteration]).toEqual([2, 2]);
    const rest = await tell({
      calls: () => [open, say('b'), stop('end_turn')],
      input: context,
      limits,
    });
    const endOf = (run: typeof rest) => [run.reason, run.turnCount, run.answerCount];
    expect(endOf(rest)).toEqual(endOf(told));
  });
});

const uuidOf = (n: number) => `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`;
const callOf = (n: number) => `toolu_${String(n).padStart(24, '0')}`;
const newCall = (n: number): AnyEventObject => ({
  type: 'stream.toolUse',
  id: callOf(n),
  deadlineMs: 600_000,
  message: { uuid: uuidOf(n), role: 'assistant', kind: 'tool_use', toolUseId: callOf(n) },
});
/** What can be said here, with ids as long as the API's. */
const choicesAt = (snapshot: Snapshot, n: number): readonly AnyEventObject[] =>
  snapshot._nodes.flatMap((node) => [
    ...node.invoke.flatMap(({ id }) =>
      Object.values(all.answers[id as 'snip'] ?? {}).map((output) => ({
        type: `xstate.done.actor.${id}`,
        output,
      })),
    ),
    ...(node.key === 'backingOff' ? [...node.transitions.keys()].map((type) => ({ type })) : []),
    ...Object.values(all.heard[node.id.replace('query.', '')] ?? {}).map((event) => {
      if (event.type === 'stream.toolUse') return newCall(n);
      if (!('message' in event)) return event;
      const message = { ...event.message, uuid: uuidOf(n) };
      const id = snapshot.context.openToolUses[0]?.id ?? '';
      return event.type === 'tool.result' ? { ...event, id, message } : { ...event, message };
    }),
  ]);
/** The first of them, from some place on, that leads anywhere but to the end. */
const stepOn = (snapshot: Snapshot, choices: readonly AnyEventObject[], from: number) => {
  for (let i = 0; i < choices.length; i += 1) {
    const event = choices[(from + i) % choices.length] as AnyEventObject;
    const step = stepFrom(snapshot, event);
    if (step.edges.length > 0 && step.after.status === 'active') return step;
  }
  return undefined;
};
const sizeOf = (state: QueryState) => JSON.stringify(state).length;
const input: QueryInput = {
  queryId: 'q',
  history: { head: '0/', count: 0, tokens: 0 },
  model: 'm',
  startedAtMs: 0,
};

describe('whatever is heard', () => {
  it('MACH-01 the state stays below 64 KB, and each iteration has less left', () => {
    let iterations = 0;
    const picks = fc.array(fc.nat({ max: 1_000 }), { minLength: 100, maxLength: 200 });
    fc.assert(
      fc.property(picks, (chosen) => {
        let snapshot = startWith(input).after;
        let rank = rankOf(snapshot.context);
        for (const [n, pick] of chosen.entries()) {
          const next = stepOn(snapshot, choicesAt(snapshot, n), pick);
          if (!next) return; // from here it can only end
          snapshot = next.after;
          expect(sizeOf(snapshot.context)).toBeLessThan(65_536);
          if (!next.edges.some((id) => edgeById.get(id)?.to.includes('preprocess'))) continue;
          iterations += 1;
          const lower = rankOf(snapshot.context);
          expect(isLower(lower, rank)).toBe(true);
          rank = lower;
        }
      }),
      { numRuns: 20, seed: 7 },
    );
    expect(iterations).toBeGreaterThan(50);
  });

  it('MACH-01 the largest state there can be is below 64 KB', () => {
    let snapshot = startWith(input).after;
    const feed = (event: AnyEventObject) => {
      snapshot = stepFrom(snapshot, event).after;
      return sizeOf(snapshot.context);
    };
    while (leafOf(snapshot.value).startsWith('preprocess')) {
      const id = leafOf(snapshot.value).replace('preprocess.', '');
      const output = { type: 'stage.done', history: input.history, usd: 0 };
      feed({ type: `xstate.done.actor.${id}`, output });
    }
    feed(open);
    const { blocksMax, questionsMax } = snapshot.context.limits;
    const sizes: number[] = [];
    for (let n = 0; n < blocksMax; n += 1) sizes.push(feed(newCall(n)));
    for (let n = 0; n <= questionsMax; n += 1) {
      const asked = { type: 'person.asked', question: uuidOf(n), toolUseId: callOf(n), atMs: n };
      sizes.push(feed(asked));
    }
    const { openToolUses, openQuestions } = snapshot.context;
    expect([openToolUses.length, openQuestions.length]).toEqual([blocksMax, questionsMax]);
    expect(Math.max(...sizes)).toBeLessThan(65_536);
    feed(say('one block more is not taken'));
    expect(leafOf(snapshot.value)).toBe('toolRun.asking');
  });
});
