/**
 * Paths through a machine that together take every transition it has: what a test suite of the
 * machine must walk. For any XState 5 machine, with `invoke`, `after` and `always`, as it is: no
 * copy for tests. Services are not run; what they could answer is the alphabet.
 */
import type {
  AnyEventObject,
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyStateNode,
  ContextFrom,
  EventFromLogic,
  InputFrom,
} from 'xstate';
import { activeNodes } from '../xstate-inside.ts';
import { pathsThrough } from './shortest-paths.ts';
import {
  eventName,
  pureSteps,
  type Stepped,
  stateName,
  transitionId,
  transitionsOf,
} from './taken-transitions.ts';

/** What a service may do when it is asked: answer, fail, or say something to the machine. */
export type Outcome<E = AnyEventObject, C = unknown> =
  | { readonly output: unknown | ((context: C) => unknown) }
  | { readonly error: unknown }
  | { readonly sends: E };

/**
 * By service (the `src` of an `invoke`, or its id), then by a name of yours. The first outcome of
 * a service is its usual one.
 */
export type Outcomes<E = AnyEventObject, C = unknown> = Readonly<
  Record<string, Readonly<Record<string, Outcome<E, C>>>>
>;

export interface CoverOptions<M extends AnyStateMachine> {
  readonly input?: InputFrom<M>;
  /** Events of the outside world, by name. Each is tried wherever a state listens to it. */
  readonly events?: Readonly<Record<string, EventFromLogic<M>>>;
  /**
   * What the guards can tell apart, and nothing else: two states with the same picture are one.
   * Default: the whole context. A counter that only goes up makes endlessly many states: bound it
   * (by a small limit of the machine), do not hide it.
   */
  readonly project?: (context: ContextFrom<M>) => unknown;
  /** What cannot happen: an answer to a question that was not asked. */
  readonly isPossible?: (snapshot: AnyMachineSnapshot, event: AnyEventObject) => boolean;
  /** Names that a path uses only where nothing else takes the transition: `abort`. */
  readonly lastResort?: readonly string[];
  /** Deadlines are missed. Default: true. A state that does nothing but wait is always left. */
  readonly deadlines?: boolean;
  /** The ending that paths should come to, where they can. Default: any. */
  readonly prefers?: (snapshot: AnyMachineSnapshot) => boolean;
  /** How an ending is called in a title. Default: its state. */
  readonly nameEnd?: (snapshot: AnyMachineSnapshot) => string;
  /** Names of steps that titles leave out. Default: the first outcome of each service. */
  readonly usual?: readonly string[];
  /** Ids of the transitions that are wanted. Default: all. */
  readonly wanted?: readonly string[];
  /** More states than this are an error. Default: 20,000. */
  readonly limit?: number;
}

/** One thing that happens, and all that the machine does at once because of it. */
export interface PathStep {
  /** `callModel: overloaded`, `waiting after 500`, `abort`. */
  readonly name: string;
  /** The service that speaks, if one does. */
  readonly service: string | undefined;
  /** Name of the outcome, or of the event. */
  readonly outcome: string;
  readonly event: AnyEventObject;
  readonly transitions: readonly string[];
  /** State of the machine when it happens. */
  readonly at: unknown;
}

export interface TestPath {
  /** `completed: tool_use → prompt too long → drained`: what is not usual, and how it ends. */
  readonly title: string;
  readonly steps: readonly PathStep[];
  /** Of the whole path, in order; first those that the start takes. */
  readonly transitions: readonly string[];
  readonly end: AnyMachineSnapshot;
}

export interface PathCoverage {
  readonly paths: readonly TestPath[];
  /** Ids of all transitions of the machine: `<state> · <event> · <place in its list>`. */
  readonly transitions: readonly string[];
  /** Those that no path can take. Anything in here is a mistake: of the machine, or of the world. */
  readonly unreachable: readonly string[];
  /** Size of what was looked at. */
  readonly states: number;
  readonly steps: number;
}

/** A step between two states of the picture. */
export interface Step extends PathStep {
  readonly from: string;
  readonly to: string;
  /** Unlikely things cost more: a path takes them only where it must. */
  readonly cost: number;
}

/** What `explore` has seen. */
export interface Explored {
  readonly first: string;
  readonly begun: readonly string[];
  readonly states: ReadonlyMap<string, AnyMachineSnapshot>;
  readonly steps: ReadonlyMap<string, readonly Step[]>;
}

const LIMIT = 20_000;
/** A fault is worth a few usual steps, a last resort many. */
const COST = { usual: 1, fault: 6, lastResort: 40 } as const;

interface Letter {
  readonly name: string;
  readonly service: string | undefined;
  readonly outcome: string;
  readonly event: AnyEventObject;
  readonly cost: number;
}

/** Every transition of a machine, in the order in which it is drawn. */
export const allTransitions = (machine: AnyStateMachine): readonly string[] => {
  const below = (node: AnyStateNode): AnyStateNode[] => [
    node,
    ...Object.values(node.states).flatMap(below),
  ];
  return below(machine.root).flatMap((node) => transitionsOf(node).flat().map(transitionId));
};

/**
 * Few, short paths from the start to an end that together take every transition.
 *
 * *Contract:* the machine's guards and assigns are pure. Throws when there are more states than
 * `limit`, and when a guard or an assign throws.
 *
 * @example
 * ```ts
 * const { paths, unreachable } = coverTransitions(
 *   machine,
 *   { load: { loaded: { output: [1] }, down: { error: new Error('down') } } },
 *   { project: ({ tries }) => tries },
 * );
 * ```
 */
export function coverTransitions<M extends AnyStateMachine>(
  machine: M,
  outcomes: Outcomes<EventFromLogic<M>, ContextFrom<M>>,
  options: CoverOptions<M> = {},
): PathCoverage {
  const transitions = allTransitions(machine);
  const seen = explore(machine, outcomes, options);
  const { wanted = transitions, usual = usualOf(outcomes as Outcomes) } = options;
  const paths = pathsThrough(seen, {
    wanted,
    prefers: options.prefers,
    nameEnd: options.nameEnd ?? (({ value }) => nameOfValue(value)),
    isUsual: ({ name }) => usual.includes(name),
  });
  const reached = new Set(paths.flatMap((path) => path.transitions));
  return {
    paths,
    transitions,
    unreachable: wanted.filter((id) => !reached.has(id)),
    states: seen.states.size,
    steps: [...seen.steps.values()].reduce((sum, { length }) => sum + length, 0),
  };
}

/** Every state that the machine can come to, and every step between two of them. */
export function explore<M extends AnyStateMachine>(
  machine: M,
  outcomes: Outcomes<EventFromLogic<M>, ContextFrom<M>>,
  options: CoverOptions<M> = {},
): Explored {
  const { limit = LIMIT, project = (context: ContextFrom<M>) => context as unknown } = options;
  const { begin, step } = pureSteps(machine);
  const keyOf = (s: AnyMachineSnapshot) =>
    JSON.stringify([s.value, s.status, project(s.context as ContextFrom<M>)]);
  const start = begin(options.input);
  const first = keyOf(start.after);
  const states = new Map<string, AnyMachineSnapshot>([[first, start.after]]);
  const steps = new Map<string, readonly Step[]>();
  for (const [from, snapshot] of states) {
    const out: Step[] = [];
    for (const letter of lettersOf(snapshot, outcomes as Outcomes, options)) {
      const { after, taken } = attempt(letter, snapshot, () => step(snapshot, letter.event));
      if (taken.length === 0) continue; // nobody listens, or every guard says no
      const to = keyOf(after);
      if (!states.has(to)) states.set(to, after);
      const transitions = taken.map(transitionId);
      out.push({ ...letter, from, to, transitions, at: snapshot.value });
    }
    steps.set(from, out);
    if (states.size > limit) throw tooMany(limit, snapshot);
  }
  return { first, begun: start.taken.map(transitionId), states, steps };
}

/** *Contract:* throws what the machine threw, with the place. */
function attempt(letter: Letter, snapshot: AnyMachineSnapshot, step: () => Stepped) {
  const stepped = (() => {
    try {
      return step();
    } catch (error) {
      throw broken(letter, snapshot, error);
    }
  })();
  if (stepped.after.status === 'error') throw broken(letter, snapshot, stepped.after.error);
  return stepped;
}

/** All that could happen here. */
function lettersOf(
  snapshot: AnyMachineSnapshot,
  outcomes: Outcomes,
  options: CoverOptions<AnyStateMachine>,
): Letter[] {
  if (snapshot.status !== 'active') return [];
  const { events = {}, lastResort = [], isPossible = () => true, deadlines = true } = options;
  const heard = new Set<string>();
  const found: Letter[] = [];
  for (const node of activeNodes(snapshot)) {
    found.push(...node.invoke.flatMap((invoke) => answersOf(invoke, snapshot, outcomes)));
    for (const [type, [transition]] of node.transitions) {
      heard.add(type);
      if (!type.startsWith('xstate.after.')) continue;
      const onlyWaits = node.transitions.size === 1 && node.invoke.length === 0;
      if (!deadlines && !onlyWaits) continue;
      const outcome = transition ? eventName(transition) : type;
      const name = `${stateName(node)} ${outcome}`;
      const cost = onlyWaits ? COST.usual : COST.fault;
      found.push({ name, service: undefined, outcome, event: { type }, cost });
    }
  }
  for (const [name, event] of Object.entries(events) as [string, AnyEventObject][]) {
    if (!heard.has(event.type) && !isHeardByPattern(event.type, heard)) continue;
    found.push({ name, service: undefined, outcome: name, event, cost: COST.usual });
  }
  return found
    .filter(({ event }) => isPossible(snapshot, event))
    .map((letter) =>
      lastResort.includes(letter.name) ? { ...letter, cost: COST.lastResort } : letter,
    );
}
const isHeardByPattern = (type: string, heard: ReadonlySet<string>) =>
  heard.has('*') ||
  [...heard].some((key) => key.endsWith('.*') && type.startsWith(key.slice(0, -1)));

/** What a service that is being asked could do. */
function answersOf(
  { id, src }: { readonly id: string; readonly src: unknown },
  { context }: AnyMachineSnapshot,
  outcomes: Outcomes,
): Letter[] {
  const service = typeof src === 'string' && outcomes[src] ? src : id;
  return Object.entries(outcomes[service] ?? {}).map(([outcome, what]) => ({
    name: `${service}: ${outcome}`,
    service,
    outcome,
    event: eventFor(what, id, context),
    cost: 'error' in what ? COST.fault : COST.usual,
  }));
}

function eventFor(what: Outcome, actorId: string, context: unknown): AnyEventObject {
  if ('sends' in what) return what.sends;
  if ('error' in what) {
    return { type: `xstate.error.actor.${actorId}`, actorId, error: what.error };
  }
  const output = typeof what.output === 'function' ? what.output(context) : what.output;
  return { type: `xstate.done.actor.${actorId}`, actorId, output };
}

/** The first outcome of a service goes without saying. */
const usualOf = (outcomes: Outcomes): readonly string[] =>
  Object.entries(outcomes).map(([service, named]) => `${service}: ${Object.keys(named)[0]}`);

const nameOfValue = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : Object.entries(value as Record<string, unknown>)
        .map(([state, below]) => `${state}.${nameOfValue(below)}`)
        .join(' + ');

const broken = ({ name }: Letter, { value }: AnyMachineSnapshot, error: unknown) =>
  new Error(`coverTransitions: “${name}” in ${nameOfValue(value)} breaks the machine: ${error}`, {
    cause: error,
  });
const tooMany = (limit: number, { value, context }: AnyMachineSnapshot) =>
  new Error(
    `coverTransitions: more than ${limit} states; the last was ${nameOfValue(value)} with ` +
      `${JSON.stringify(context)?.slice(0, 300)}. Let \`project\` return what the guards can tell ` +
      'apart and nothing else, and give the machine small bounds for its counters.',
  );
