/**
 * What a walk through the whole chart shows: every edge and every reason is reached, no retry is
 * taken once a call has been handed over with anything left to take back, and no way leads round in
 * a circle for nothing.
 */
import { describe, expect, it } from 'vitest';
import {
  type AnyEventObject,
  type AnyStateNode,
  createActor,
  createMachine,
  fromCallback,
} from 'xstate';
import { conversations, questions } from '../../machines/ports.ts';
import { queryMachine } from '../../machines/query.machine.ts';
import { terminalReasons } from '../../machines/reasons.ts';
import { handedOver, type QueryInput } from '../../machines/state.ts';
import {
  drawn,
  type Edge,
  edgeById,
  edges,
  explore,
  reasons,
  type Snapshot,
  type Step,
  shortId,
  startWith,
  stepFrom,
  waitingNodes,
} from './chart.ts';
import { freeCycle } from './cycles.ts';
import { lenses } from './world.ts';

const views = lenses.map((lens) => ({ lens, ...explore(lens) }));

describe('paths', () => {
  const snapshots = views.flatMap((view) => [...view.states.values()]);
  const steps = views.flatMap((view) => [...view.steps.values()].flat());
  const taken = new Set([
    ...views.flatMap(({ lens }) => startWith(lens.input).edges),
    ...steps.flatMap((step) => step.edges),
  ]);

  it('take every edge of the chart', () => {
    expect(edges.filter(({ id }) => !taken.has(id)).map(({ id }) => id)).toEqual([]);
  });
  it('reach every reason', () => {
    const reached = new Set([...taken].map((id) => edgeById.get(id)?.reason));
    expect(reasons.filter((reason) => !reached.has(reason))).toEqual([]);
  });
  it('never take back anything once a call was handed over', () => {
    const mayTakeBack = snapshots.filter(
      ({ context }) => handedOver(context) && context.attempt.length > 0,
    );
    expect(mayTakeBack).toEqual([]);
  });
  it('end in the terminal state, with a reason, and nowhere else', () => {
    const odd = snapshots.filter(
      ({ status, value, context }) =>
        (status === 'done') !== (value === 'terminal') ||
        (status === 'done') !== (context.ending !== undefined),
    );
    expect(odd).toEqual([]);
  });
  it('rest only where a deadline runs, or a person is waited for', () => {
    const rests = snapshots.filter(({ status }) => status === 'active').map(leafOf);
    const waits = waitingNodes.map(({ id }) => shortId(id));
    expect([...new Set(rests)].sort()).toEqual(waits.sort());
  });
});

describe('endings', () => {
  /** The shortest way to each ending. */
  const ways = new Map<string, { input: QueryInput; events: readonly AnyEventObject[] }>();
  for (const { lens, first, steps, states } of views) {
    const paths = new Map<string, readonly AnyEventObject[]>([[first, []]]);
    for (const [key, path] of paths) {
      const ending = states.get(key)?.context.ending;
      if (ending && !ways.has(ending)) ways.set(ending, { input: lens.input, events: path });
      for (const { to, event } of steps.get(key) ?? []) {
        if (!paths.has(to)) paths.set(to, [...path, event]);
      }
    }
  }
  const silent = fromCallback(() => {});
  const services = [...Object.keys(questions), ...Object.keys(conversations)];
  const query = queryMachine.provide({
    actors: Object.fromEntries(services.map((name) => [name, silent])) as never,
  });

  it.each(Object.keys(terminalReasons))(
    '%s: done, with its output, and a parent hears of it',
    (reason) => {
      const way = ways.get(reason);
      expect(way).toBeDefined();
      const told: unknown[] = [];
      const parent = createMachine({
        invoke: {
          id: 'query',
          src: query,
          input: way?.input as never,
          onDone: { actions: ({ event }) => told.push(event.output.reason) },
        },
      });
      const actor = createActor(parent).start();
      const child = actor.getSnapshot().children.query;
      for (const event of way?.events ?? []) child?.send(event as never);
      expect(child?.getSnapshot()).toMatchObject({
        status: 'done',
        value: 'terminal',
        output: { reason, turnCount: expect.any(Number) },
      });
      expect(told).toEqual([reason]);
      actor.stop();
    },
  );
});

/** Strongly connected components (Tarjan, without recursion): state → number of its component. */
function componentsOf(steps: ReadonlyMap<string, readonly Step[]>): Map<string, number> {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const component = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const lower = (key: string, to: number) => low.set(key, Math.min(low.get(key) ?? to, to));
  for (const root of steps.keys()) {
    if (index.has(root)) continue;
    const work: { key: string; i: number }[] = [{ key: root, i: 0 }];
    for (let top = work.at(-1); top; top = work.at(-1)) {
      if (top.i === 0) {
        low.set(top.key, index.size);
        index.set(top.key, index.size);
        stack.push(top.key);
        onStack.add(top.key);
      }
      const step = steps.get(top.key)?.[top.i];
      top.i += 1;
      if (step) {
        if (!index.has(step.to)) work.push({ key: step.to, i: 0 });
        else if (onStack.has(step.to)) lower(top.key, index.get(step.to) ?? 0);
        continue;
      }
      work.pop();
      const above = work.at(-1);
      if (above) lower(above.key, low.get(top.key) ?? 0);
      if (low.get(top.key) !== index.get(top.key)) continue;
      const number = component.size;
      for (let key = stack.pop(); key !== undefined; key = stack.pop()) {
        onStack.delete(key);
        component.set(key, number);
        if (key === top.key) break;
      }
    }
  }
  return component;
}

describe('cycles', () => {
  /** Neither left nor entered anew: the deadline of the state runs on. */
  const staysUnderDeadline = (edge: Edge) =>
    edge.to.length === 0 &&
    (edge.from === 'query' ||
      [...edge.node.transitions.keys()].some((type) => type.startsWith('xstate.after.')));

  it.each(views)('spend something: $lens.name', ({ steps }) => {
    const component = componentsOf(steps);
    for (const step of [...steps.values()].flat()) {
      if (component.get(step.from) !== component.get(step.to)) continue;
      const where = step.edges.map((id) => edgeById.get(id) as Edge);
      const stays = step.from === step.to && where.every(staysUnderDeadline);
      if (!stays) expect(`${step.from} —${step.letter}→ ${step.to}`).toBe('no cycle');
    }
  });

  it('are none once the edges that spend are taken away, for any size of the bounds', () => {
    expect(freeCycle(drawn)).toBeUndefined();
  });
});

/** The deadlines that run here. */
const deadlinesOf = (snapshot: Snapshot) =>
  (snapshot._nodes as readonly AnyStateNode[]).flatMap((node) =>
    [...node.transitions.keys()].filter((type) => type.startsWith('xstate.after.')),
  );
/** More missed deadlines in a row than any budget allows. */
const DEADLINES_MAX = 200;
/** Every state in the whole proof, every tenth in a hurry. */
const EVERY = process.env.ESCAPEMENT_PROVE_SHARE === '1' ? 1 : 10;

describe('with every service silent', () => {
  it.each(views)('deadlines alone lead to the end: $lens.name', ({ lens, states }) => {
    const keyOf = ({ value, context }: Snapshot) => JSON.stringify([value, lens.project(context)]);
    /** States from which the end is known to follow. */
    const ends = new Set<string>();
    for (const begun of [...states.values()].filter((_, n) => n % EVERY === 0)) {
      const way: string[] = [];
      let snapshot = begun;
      while (snapshot.status === 'active' && !ends.has(keyOf(snapshot))) {
        way.push(keyOf(snapshot));
        expect(way.length, `${leafOf(begun)} does not end`).toBeLessThan(DEADLINES_MAX);
        const [deadline, ...more] = deadlinesOf(snapshot);
        expect(more).toEqual([]);
        if (deadline === undefined) {
          expect(snapshot.tags).toContain('awaitingPerson');
          break; // a person is the only one who is waited for without a deadline
        }
        snapshot = stepFrom(snapshot, { type: deadline }).after;
      }
      if (snapshot.status !== 'active') expect(snapshot.context.ending).toBeDefined();
      for (const key of way) ends.add(key);
    }
    expect(ends.size).toBeGreaterThan(10);
  });
});

/** `sampling.streaming` for a query that is there. */
function leafOf({ value }: { value: unknown }): string {
  if (typeof value === 'string') return value;
  const [[state, below] = ['', '']] = Object.entries(value as object);
  return `${state}.${leafOf({ value: below })}`;
}
