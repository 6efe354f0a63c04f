/** Paths for any machine: they end, they cover, and what they cannot take is said. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  assign,
  createActor,
  createMachine,
  fromCallback,
  fromPromise,
  setup,
  waitFor,
} from 'xstate';
import { coverTransitions } from '../../../src/testing/index.ts';
import { takenIn, transitionId } from '../../../src/testing/taken-transitions.ts';

/** With all that a path generator stumbles over: invoke, after, always, a counter that goes up. */
const loader = setup({
  types: {} as {
    context: { tries: number; triesMax: number; seen: readonly number[] };
    input: { triesMax: number };
    events: { type: 'cancel' } | { type: 'part'; n: number };
  },
  actors: {
    load: fromPromise<number>(() => Promise.reject(new Error('never run by paths'))),
    watch: fromCallback(() => {}),
  },
  guards: {
    triesLeft: ({ context }) => context.tries < context.triesMax,
    isEven: (_, n: { n: number }) => n.n % 2 === 0,
  },
  actions: { count: assign({ tries: ({ context }) => context.tries + 1 }) },
}).createMachine({
  id: 'loader',
  initial: 'loading',
  context: ({ input }) => ({ tries: 0, triesMax: input.triesMax, seen: [] }),
  invoke: { id: 'watcher', src: 'watch' },
  on: { cancel: '.cancelled' },
  states: {
    loading: {
      invoke: { src: 'load', onDone: 'choosing', onError: { target: 'failed', actions: 'count' } },
      after: { 1000: { target: 'failed', actions: 'count' } },
      on: {
        part: { actions: assign({ seen: ({ context, event }) => [...context.seen, event.n] }) },
      },
    },
    choosing: {
      always: [
        { guard: ({ context }) => context.seen.length > 0, target: 'loaded' },
        { target: 'empty' },
      ],
    },
    failed: { always: [{ guard: 'triesLeft', target: 'waiting' }, { target: 'broken' }] },
    waiting: { after: { 50: 'loading' } },
    loaded: { type: 'final' },
    empty: { type: 'final' },
    broken: { type: 'final' },
    cancelled: { type: 'final' },
  },
});
const outcomes = {
  load: { data: { output: 1 }, down: { error: new Error('down') } },
  watch: { part: { sends: { type: 'part', n: 1 } } },
} as const;
const options = {
  input: { triesMax: 2 },
  events: { cancel: { type: 'cancel' } },
  lastResort: ['cancel'],
  project: ({ tries, seen }: { tries: number; seen: readonly number[] }) => [
    tries,
    seen.length > 0,
  ],
} as const;

describe('MACH-08 paths', () => {
  it('end, and take every transition, `always` and `after` included', () => {
    const { paths, unreachable, transitions, states } = coverTransitions(loader, outcomes, options);
    expect(transitions).toHaveLength(10);
    expect(unreachable).toEqual([]);
    expect(new Set(paths.flatMap((path) => path.transitions))).toEqual(new Set(transitions));
    expect(states).toBeLessThan(30);
    expect(paths.map(({ title }) => title)).toEqual([
      'empty: load: down → waiting after 50',
      'loaded: as usual',
      'cancelled: cancel',
      'empty: loading after 1000 → waiting after 50',
      'broken: load: down → waiting after 50 → load: down',
    ]);
  });

  it('can be walked by the machine with real services, step by step', async () => {
    for (const path of coverTransitions(loader, outcomes, { ...options, deadlines: false }).paths) {
      let answer = (_name: string) => {};
      const load = fromPromise<number>(
        () =>
          new Promise((resolve, reject) => {
            answer = (name) => (name === 'data' ? resolve(1) : reject(new Error(name)));
          }),
      );
      const walked: string[] = [];
      const actor = createActor(loader.provide({ actors: { load } }), {
        input: { triesMax: 2 },
        inspect: (event) => walked.push(...takenIn(event).map(transitionId)),
      });
      actor.start();
      for (const { at, event, service, outcome } of path.steps) {
        await waitFor(actor, ({ value }) => value === at);
        if (service === 'load') answer(outcome);
        else actor.send(event as never);
      }
      await waitFor(actor, ({ status }) => status === 'done');
      expect(walked).toEqual(path.transitions);
    }
  });

  it('say which transitions nothing can take', () => {
    const { unreachable } = coverTransitions(loader, { load: { data: { output: 1 } } }, options);
    expect(unreachable).toEqual([
      'loading · part · 0',
      'loading · error 0 · 0',
      'choosing · always · 0',
    ]);
  });

  it('a bound that a projection hides loses transitions, and that is said', () => {
    const { unreachable } = coverTransitions(loader, outcomes, { ...options, project: () => 0 });
    expect(unreachable).toContain('failed · always · 1');
  });

  it('a counter without end is an error that says what to do', () => {
    const counter = createMachine({
      context: { n: 0 },
      initial: 'on',
      states: { on: { on: { more: { actions: assign({ n: ({ context }) => context.n + 1 }) } } } },
    });
    const cover = () =>
      coverTransitions(counter, {}, { events: { more: { type: 'more' } }, limit: 50 });
    expect(cover).toThrow(/more than 50 states; the last was on with \{"n":49\}.*`project`/s);
  });

  it('a guard that throws is named with its place', () => {
    const machine = createMachine({
      initial: 'here',
      states: {
        here: {
          on: {
            go: {
              guard: () => {
                throw new Error('boom');
              },
              target: 'there',
            },
          },
        },
        there: { type: 'final' },
      },
    });
    const cover = () => coverTransitions(machine, {}, { events: { go: { type: 'go' } } });
    expect(cover).toThrow(/“go” in here breaks the machine: .*boom/s);
  });

  it('regions side by side, patterns, states that are done, machines inside machines', () => {
    const inner = createMachine({ id: 'inner', initial: 'a', states: { a: { type: 'final' } } });
    const machine = setup({ actors: { inner } }).createMachine({
      type: 'parallel',
      states: {
        left: {
          initial: 'a',
          onDone: { actions: [] },
          states: { a: { on: { 'move.*': 'b' } }, b: { type: 'final' } },
        },
        right: {
          initial: 'a',
          states: {
            a: { invoke: { id: 'child', src: 'inner', onDone: 'b' } },
            b: { type: 'final' },
          },
        },
      },
    });
    const { unreachable, paths } = coverTransitions(
      machine,
      { inner: { done: { output: undefined } } },
      { events: { 'move.left': { type: 'move.left' } } },
    );
    expect(unreachable).toEqual([]);
    expect(paths).toHaveLength(1);
    expect(paths[0]?.end.status).toBe('done');
  });

  it('any chain of states is covered by one path, whatever its length', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), (length) => {
        const states = Object.fromEntries(
          Array.from({ length }, (_, i) => [`s${i}`, { on: { next: `s${i + 1}` } }]),
        );
        const machine = createMachine({
          initial: 's0',
          states: { ...states, [`s${length}`]: { type: 'final' } },
        });
        const covered = coverTransitions(machine, {}, { events: { next: { type: 'next' } } });
        expect(covered.unreachable).toEqual([]);
        expect(covered.paths.map(({ steps }) => steps.length)).toEqual([length]);
      }),
      { numRuns: 20, seed: 1 },
    );
  });
});
