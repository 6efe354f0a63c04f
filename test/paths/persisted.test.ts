/**
 * MACH-02. In every state in which the chart rests, its persisted snapshot is a plain value: JSON
 * takes nothing from it, and a machine restored from it persists as the same. Looked at in the real
 * engine, on paths that come to every state.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AnyActor, createActor, type InspectionEvent } from 'xstate';
import type { queryMachine } from '../../machines/query.machine.ts';
import { begin, type QueryState } from '../../machines/state.ts';
import { shortId, waitingNodes } from '../conformance/chart.ts';
import { leafOf } from '../conformance/scripted-world.ts';
import { generatePaths, type WorldPath } from './generate.ts';
import { walk } from './walk.ts';

type Persisted = ReturnType<AnyActor['getPersistedSnapshot']> & {
  readonly value: unknown;
  readonly context: QueryState;
  readonly children: Readonly<Record<string, { readonly snapshot: { readonly status: string } }>>;
};
const states = waitingNodes.map(({ id }) => shortId(id));
const restsOf = (path: WorldPath) => new Set(path.steps.map(({ at }) => leafOf(at)));

/** Few paths that together come to every state: the one with the most news, again and again. */
function chosenPaths(): readonly WorldPath[] {
  const { paths } = generatePaths();
  const missing = new Set(states);
  const chosen: WorldPath[] = [];
  const newsIn = (path: WorldPath) => [...restsOf(path)].filter((at) => missing.has(at));
  while (missing.size > 0) {
    const [best] = paths.toSorted((a, b) => newsIn(b).length - newsIn(a).length);
    const news = best ? newsIn(best) : [];
    if (!best || news.length === 0) throw new Error(`no path comes to ${[...missing].join(', ')}`);
    chosen.push(best);
    for (const at of news) missing.delete(at);
  }
  return chosen;
}

/** Some paths begin with a long conversation, and the machine may be busy. */
const WALKS_MS = 4 * 60_000;

const seen = new Map<string, Persisted>();
const wrong: string[] = [];
/** Called in the very step: what is thrown here would be the engine's. */
function look(message: unknown): void {
  const event = message as InspectionEvent;
  if (event.type !== '@xstate.snapshot' || event.actorRef.sessionId !== event.rootId) return;
  const actor = event.actorRef as AnyActor;
  const persisted = actor.getPersistedSnapshot() as Persisted;
  const at = leafOf(persisted.value);
  if (seen.has(at)) return;
  const again = JSON.parse(JSON.stringify(persisted));
  seen.set(at, again);
  try {
    expect(again).toEqual(persisted);
    const options = { snapshot: again } as never; // XState wants the input of a beginning, too
    const restored = createActor(actor.logic as typeof queryMachine, options);
    expect(restored.getPersistedSnapshot()).toEqual(persisted);
    expect(restored.getSnapshot().value).toEqual(persisted.value);
  } catch (error) {
    wrong.push(`${at}: ${(error as Error).message}`);
  }
}

describe('MACH-02 a persisted snapshot', () => {
  const paths = chosenPaths(); // to find them takes longer than to walk them
  beforeAll(async () => {
    subscribe('escapement:inspect', look);
    await Promise.all(paths.map((path) => walk(path)));
  }, WALKS_MS);
  afterAll(() => void unsubscribe('escapement:inspect', look));

  it('of every state survives JSON, and a machine restored from it persists as the same', () => {
    expect(wrong).toEqual([]);
    expect(states.filter((at) => !seen.has(at))).toEqual([]);
    expect(seen.has('terminal')).toBe(true);
  });

  it('holds no function, Map, Error, Date, BigInt or signal', () => {
    const odd: string[] = [];
    const check = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const proto = Object.getPrototypeOf(value);
      if (proto !== Object.prototype && proto !== Array.prototype) odd.push(path);
      for (const [key, inner] of Object.entries(value)) check(inner, `${path}.${key}`);
    };
    for (const [at, snapshot] of seen) check(snapshot, at);
    expect(odd).toEqual([]);
  });

  it('says what was on its way; begun again, that is interrupted, and no call runs twice', () => {
    const inFlight = (at: string) =>
      Object.entries(seen.get(at)?.children ?? {})
        .filter(([, { snapshot }]) => snapshot.status === 'active')
        .map(([id]) => id)
        .sort();
    expect(inFlight('sampling.streaming')).toEqual(['describer', 'model', 'tools']);
    expect(inFlight('preprocess.snip')).toEqual(['describer', 'snip', 'tools']);

    const { context } = seen.get('toolRun.draining') as Persisted;
    expect(context.openToolUses.length).toBeGreaterThan(0);
    const { history: _, limits, ...input } = context;
    const next = begin({ ...input, history: context.history, limits, startedAtMs: 1 });
    // the calls stand in the history; nobody waits for them, and nobody is told to run them
    expect(next.openToolUses).toEqual([]);
    expect(next.history).toEqual(context.history);
    expect([next.turnCount, next.attempt, next.ending]).toEqual([context.turnCount, [], undefined]);
  });
});
