/**
 * What a test can see and do inside a running engine, by `engine.inspect`: the transitions that its
 * chart takes, and faults in place of its services. The only place that puts anything in; all else
 * of a path comes over HTTP, from hooks, tools and the host.
 */
import { type AnyActorLogic, fromCallback, fromPromise, type InspectionEvent } from 'xstate';
import type { QueryInput } from '../../machines/state.ts';
import { takenIn, transitionId } from '../../src/testing/taken-transitions.ts';
import type { Fault } from './plan.ts';

/** An actor as XState makes it: it is shown before it has its first state. */
interface Newborn {
  readonly id: string;
  readonly sessionId: string;
  logic: AnyActorLogic;
  readonly options: { input?: unknown };
}

const never = () => new Promise<never>(() => {});
const questionFaults: Readonly<Record<Fault, AnyActorLogic>> = {
  throws: fromPromise(() => Promise.reject(new Error('boom'))),
  hangs: fromPromise(never),
};
const conversationFaults: Readonly<Record<string, AnyActorLogic>> = {
  throws: fromCallback(() => {
    throw new Error('boom');
  }),
  hangs: fromCallback(() => {}),
};
const conversations = ['model', 'tools', 'describer'];

export interface Inside {
  /** Ids of the transitions of the query that is watched, in order. */
  readonly taken: readonly string[];
  /** Faults that no service was there for. */
  readonly faultsLeft: readonly string[];
  readonly inspect: (event: InspectionEvent) => void;
}

/**
 * @param query number of the query in its session, from 0, that is watched.
 * @param onTaken told after each step, with all that were taken.
 */
export function lookInside(options: {
  readonly query: number;
  readonly faults: ReadonlyMap<string, Fault>;
  readonly input: Partial<QueryInput>;
  readonly onTaken: (taken: readonly string[]) => void;
}): Inside {
  const taken: string[] = [];
  const faults = new Map(options.faults);
  const lives = new Map<string, number>();
  let queries = -1;
  const isWatched = () => queries === options.query;
  const born = (actor: Newborn, isRoot: boolean) => {
    if (isRoot) {
      queries += 1;
      if (isWatched()) Object.assign(actor.options.input as object, options.input);
      return;
    }
    if (!isWatched()) return;
    const life = lives.get(actor.id) ?? 0;
    lives.set(actor.id, life + 1);
    const fault = faults.get(`${actor.id} ${life}`);
    if (!fault || !faults.delete(`${actor.id} ${life}`)) return;
    const set = conversations.includes(actor.id) ? conversationFaults : questionFaults;
    actor.logic = set[fault] as AnyActorLogic;
  };
  return {
    taken,
    get faultsLeft() {
      return [...faults.keys()];
    },
    inspect: (event) => {
      const actor = event.actorRef as unknown as Newborn;
      const isRoot = actor.sessionId === event.rootId;
      if (event.type === '@xstate.actor') born(actor, isRoot);
      if (!isRoot || !isWatched()) return;
      const more = takenIn(event).map(transitionId);
      if (more.length === 0) return;
      taken.push(...more);
      options.onTaken(taken);
    },
  };
}
