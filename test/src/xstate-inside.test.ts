/**
 * The contract with XState: what it keeps to itself, and we look at. When a new version has other
 * names, this fails, and `src/xstate-inside.ts` is the one file to change.
 */
import { expect, it } from 'vitest';
import { type AnyMachineSnapshot, createActor, type InspectionEvent, setup } from 'xstate';
import { activeNodes, inertScope, transitionsIn } from '../../src/xstate-inside.ts';

const calls: string[] = [];
const machine = setup({
  types: {} as { events: { type: 'go' } | { type: 'stay' } },
  actions: { act: () => void calls.push('act') },
  guards: { never: () => false },
}).createMachine({
  id: 'walk',
  initial: 'a',
  states: {
    a: {
      on: {
        go: [
          { guard: 'never', target: 'c' },
          { target: 'b', actions: 'act' },
        ],
        stay: {},
      },
    },
    b: { always: 'c' },
    c: { initial: 'inner', states: { inner: { after: { 1000: '#walk.a' } } } },
  },
});
const ids = (snapshot: unknown) =>
  activeNodes(snapshot as AnyMachineSnapshot)
    .map(({ id }) => id)
    .sort();
const names = (events: readonly InspectionEvent[]) =>
  events.flatMap((event) =>
    transitionsIn(event).map(({ source, eventType, target }) =>
      [source.id, eventType, ...(target ?? []).map(({ id }) => id)].join(' '),
    ),
  );
const way = ['walk.a go walk.b', 'walk.b  walk.c'];

it('an actor that runs tells which transitions it has taken, and where it stands', () => {
  const seen: InspectionEvent[] = [];
  const actor = createActor(machine, { inspect: (event) => seen.push(event) }).start();
  seen.length = 0;
  actor.send({ type: 'go' });
  expect(names(seen)).toEqual(way);
  expect(ids(actor.getSnapshot())).toEqual(['walk', 'walk.c', 'walk.c.inner']);
  // the very transitions of the machine, not copies: that is how their place is found
  const [edge] = seen.flatMap(transitionsIn);
  expect(machine.states.a?.transitions.get('go')?.[1]).toBe(edge);
  actor.stop();
  expect(calls.splice(0)).toEqual(['act']);
});

it('a pure step tells the same, and runs nothing', () => {
  const seen: InspectionEvent[] = [];
  const scope = inertScope((event) => void seen.push(event)) as never;
  const first = machine.getInitialSnapshot(scope);
  expect(ids(first)).toEqual(['walk', 'walk.a']);
  seen.length = 0;
  const next = machine.transition(first, { type: 'go' }, scope);
  expect(names(seen)).toEqual(way);
  expect(ids(next)).toEqual(['walk', 'walk.c', 'walk.c.inner']);
  expect(calls).toEqual([]);
});

it('what is no machine stands nowhere', () => {
  expect(activeNodes({})).toEqual([]);
});
