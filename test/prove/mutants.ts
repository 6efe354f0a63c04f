/**
 * Charts with one mistake each: a guard that always or never holds, an action that is forgotten,
 * an edge that leads elsewhere, a bound that is off by one. Made from the chart itself, so that a
 * new edge has its mutants without a word.
 */
import { createMachine } from 'xstate';
import { defaultLimits } from '../../machines/limits.ts';
import { queryMachine } from '../../machines/query.machine.ts';
import { begin, type QueryInput } from '../../machines/state.ts';
import type { QueryChart } from '../conformance/chart.ts';

export interface Mutant {
  readonly name: string;
  readonly kind: 'guard' | 'action' | 'target' | 'limit';
  /** Where it is: id of the edge, the state, or the bound. */
  readonly place: string;
  readonly make: () => QueryChart;
}

type Config = Record<string, unknown>;
/** The way to a part of the configuration. */
type Way = readonly (string | number)[];
interface EdgePlace {
  readonly id: string;
  readonly way: Way;
  readonly edge: Config;
}

const isObject = (value: unknown): value is Config =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** Parts that are shared in the source are copied apart; functions stay. */
function copy<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copy) as T;
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, copy(part)])) as T;
}
const original = queryMachine.config as unknown as Config;

/** A copy of the chart in which the part at the end of the way is another. */
function changed(way: Way, part: unknown): QueryChart {
  const config = copy(original);
  let at = config as Record<string | number, unknown>;
  for (const key of way.slice(0, -1)) at = at[key] as Record<string | number, unknown>;
  const last = way.at(-1) as string | number;
  if (part === undefined) delete at[last];
  else at[last] = part;
  return machineOf(config);
}
const machineOf = (config: Config): QueryChart =>
  createMachine(config as never, queryMachine.implementations as never) as unknown as QueryChart;

const list = (value: unknown): readonly unknown[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];
/** Edges of one event: `x`, `{ x }` or a list of them. */
const edgesAt = (value: unknown, way: Way, id: string): EdgePlace[] =>
  list(value).flatMap((edge, i) => {
    const here = Array.isArray(value) ? [...way, i] : way;
    return isObject(edge) ? [{ id: `${id} · ${i}`, way: here, edge }] : [];
  });

interface StatePlace {
  readonly name: string;
  readonly way: Way;
  readonly node: Config;
}
const statesBelow = (node: Config, way: Way, name: string): StatePlace[] => [
  { name: name === '' ? 'query' : name, way, node },
  ...Object.entries((node.states ?? {}) as Record<string, Config>).flatMap(([key, child]) =>
    statesBelow(child, [...way, 'states', key], name === '' ? key : `${name}.${key}`),
  ),
];
const states = statesBelow(original, [], '');

const edgesOf = ({ name, way, node }: StatePlace): EdgePlace[] => [
  ...['on', 'after'].flatMap((kind) =>
    Object.entries((node[kind] ?? {}) as Config).flatMap(([event, edges]) =>
      edgesAt(edges, [...way, kind, event], `${name} · ${kind === 'on' ? '' : 'after '}${event}`),
    ),
  ),
  ...edgesAt(node.always, [...way, 'always'], `${name} · always`),
  ...list(node.invoke).flatMap((invoke, i) =>
    ['onDone', 'onError'].flatMap((kind) => {
      const { [kind]: edges, id } = invoke as Config;
      const here = Array.isArray(node.invoke) ? [...way, 'invoke', i] : [...way, 'invoke'];
      const event = `${kind === 'onDone' ? 'done' : 'error'} ${String(id)}`;
      return edgesAt(edges, [...here, kind], `${name} · ${event}`);
    }),
  ),
];
const edges = states.flatMap(edgesOf);

const nameOf = (part: unknown) => (isObject(part) ? String(part.type) : String(part));
const always = { holds: () => true, fails: () => false };
const guardMutants = edges
  .filter(({ edge }) => edge.guard !== undefined)
  .flatMap(({ id, way, edge }) =>
    Object.entries(always).map(
      ([how, guard]): Mutant => ({
        name: `${id}: “${nameOf(edge.guard)}” always ${how}`,
        kind: 'guard',
        place: id,
        make: () => changed([...way, 'guard'], guard),
      }),
    ),
  );

const without = (actions: unknown, at: number) => {
  const rest = list(actions).filter((_, i) => i !== at);
  return rest.length > 0 ? rest : undefined;
};
const actionMutants = [
  ...edges.map(({ id, way, edge }) => ({ place: id, way: [...way, 'actions'], of: edge.actions })),
  ...states.flatMap(({ name, way, node }) =>
    ['entry', 'exit'].map((kind) => ({
      place: `${name} · ${kind}`,
      way: [...way, kind],
      of: node[kind],
    })),
  ),
].flatMap(({ place, way, of }) =>
  list(of).map(
    (action, at): Mutant => ({
      name: `${place}: no “${nameOf(action)}”`,
      kind: 'action',
      place,
      make: () => changed(way, without(of, at)),
    }),
  ),
);

/** Every state by its id, but those that hold the others. */
const targets = states.slice(1).map(({ name }) => `#query.${name}`);
/** The next one that is not a part of it: to enter a state is to enter its first part. */
const elsewhere = (target: string): string => {
  const at = targets.indexOf(target);
  const rest = [...targets.slice(at + 1), ...targets.slice(0, at)];
  return rest.find((id) => !id.startsWith(`${target}.`) && !target.startsWith(`${id}.`)) as string;
};
const targetMutants = edges
  .filter(({ edge }) => typeof edge.target === 'string')
  .map(({ id, way, edge }): Mutant => {
    const target = edge.target as string;
    const state = id.split(' · ')[0] as string;
    const parent = state.includes('.') ? `${state.slice(0, state.lastIndexOf('.'))}.` : '';
    const whole = target.startsWith('#')
      ? target
      : `#query.${target.startsWith('.') ? state + target : parent + target}`;
    const other = elsewhere(whole);
    return {
      name: `${id}: to ${other.slice('#query.'.length)} in place of ${whole.slice('#query.'.length)}`,
      kind: 'target',
      place: id,
      make: () => changed([...way, 'target'], other),
    };
  });

type LimitName = keyof typeof defaultLimits;
const limitMutants = (Object.keys(defaultLimits) as LimitName[]).flatMap((limit) =>
  [1, -1].map(
    (by): Mutant => ({
      name: `${limit} ${by > 0 ? 'is one more' : 'is one less'}`,
      kind: 'limit',
      place: limit,
      make: () =>
        changed(['context'], ({ input }: { input: QueryInput }) => {
          const state = begin(input);
          const { limits } = state;
          // from `UNBOUNDED` there is no one more
          const value = Math.max(limits[limit] + by, 0);
          return { ...state, limits: { ...limits, [limit]: value } };
        }),
    }),
  ),
);

export const mutants: readonly Mutant[] = [
  ...guardMutants,
  ...actionMutants,
  ...targetMutants,
  ...limitMutants,
];
/** The same way to make a chart, without any mistake: what no check may object to. */
export const unchanged = (): QueryChart => machineOf(copy(original));
