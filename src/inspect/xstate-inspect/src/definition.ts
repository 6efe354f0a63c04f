/**
 * A machine of XState 5 in the words of XState 4: `guard` is `cond`, `reenter` is not `internal`,
 * targets are ids, and what a service answers belongs to its `invoke`. JSON only, so guards and
 * actions are names.
 */
import type { Actor, StateNode, Transition } from './v5.ts';

export interface V4Transition {
  readonly target?: readonly string[];
  readonly cond?: string;
  readonly actions: readonly V4Action[];
  readonly internal: boolean;
  readonly description?: string;
  readonly meta?: unknown;
}
export interface V4Action {
  readonly type: string;
  readonly params?: unknown;
}
export interface V4Invoke {
  readonly id: string;
  readonly src: string;
  readonly onDone: readonly V4Transition[];
  readonly onError: readonly V4Transition[];
}
type V4Table = Readonly<Record<string, readonly V4Transition[]>>;
export interface V4Node {
  readonly id: string;
  readonly key?: string;
  readonly type?: 'parallel' | 'final' | 'history';
  readonly history?: 'shallow' | 'deep';
  readonly target?: string;
  readonly initial?: string;
  readonly on: V4Table;
  readonly after?: V4Table;
  readonly always?: readonly V4Transition[];
  readonly onDone?: readonly V4Transition[];
  readonly invoke?: readonly V4Invoke[];
  readonly entry?: readonly V4Action[];
  readonly exit?: readonly V4Action[];
  readonly tags?: readonly string[];
  readonly meta?: unknown;
  readonly description?: string;
  readonly states?: Readonly<Record<string, V4Node>>;
  readonly predictableActionArguments?: true;
}

export interface Definition {
  readonly config: V4Node;
  /** What XState 4 calls an event of this machine. */
  readonly eventName: (type: string) => string;
}

/** Makes values of the host (params, meta) fit for JSON. */
type Show = (value: unknown) => unknown;

/** @returns how XState 4 would have written the actor's logic. */
export function definitionOf(actor: Actor, show: Show): Definition {
  const root = actor.logic?.root;
  if (root === undefined) return { config: lifeOf(actor.id), eventName: plainName };
  const names = new Map<string, string>();
  const config = nodeOf(root, show, names);
  return {
    config: { ...config, predictableActionArguments: true },
    eventName: (type) => names.get(type) ?? plainName(type),
  };
}

/** Promises, callbacks, observables: no states of their own, but a life. */
function lifeOf(id: string): V4Node {
  const to = (state: string): readonly V4Transition[] => [
    { target: [`#${id}.${state}`], actions: [], internal: true },
  ];
  const state = (key: string, more: Partial<V4Node> = {}): V4Node => ({
    id: `${id}.${key}`,
    key,
    on: {},
    ...more,
  });
  return {
    id,
    initial: 'active',
    on: {},
    states: {
      active: state('active', {
        on: { done: to('done'), error: to('error'), stop: to('stopped') },
      }),
      done: state('done', { type: 'final' }),
      error: state('error', { type: 'final' }),
      stopped: state('stopped', { type: 'final' }),
    },
    predictableActionArguments: true,
  };
}

const AFTER = 'xstate.after.';
const DONE_STATE = 'xstate.done.state.';
const DONE_ACTOR = 'xstate.done.actor.';
const ERROR_ACTOR = 'xstate.error.actor.';

/** Without the machine: only it knows where in `xstate.after.<delay>.<state>` the state begins. */
const plainName = (type: string): string => {
  if (type.startsWith(DONE_ACTOR)) return `done.invoke.${type.slice(DONE_ACTOR.length)}`;
  if (type.startsWith(ERROR_ACTOR)) return `error.platform.${type.slice(ERROR_ACTOR.length)}`;
  if (type.startsWith(DONE_STATE)) return `done.state.${type.slice(DONE_STATE.length)}`;
  return type;
};

function nodeOf(node: StateNode, show: Show, names: Map<string, string>): V4Node {
  const ways = waysOf(node, show, names);
  const children = Object.entries(node.states);
  const { type, history } = node;
  const isPlain = type === 'atomic' || type === 'compound';
  const { target } = node.config;
  return {
    id: node.id,
    key: node.key,
    ...(isPlain ? {} : { type }),
    ...(history === false ? {} : { history }),
    ...(type === 'history' && typeof target === 'string' ? { target } : {}),
    ...optional('initial', node.initial?.target?.[0]?.key),
    ...ways,
    ...(node.tags.length === 0 ? {} : { tags: node.tags }),
    ...(node.meta === undefined ? {} : { meta: show(node.meta) }),
    ...optional('description', node.description),
    entry: node.entry.filter(isOwn).map((action) => actionOf(action, show)),
    exit: node.exit.filter(isOwn).map((action) => actionOf(action, show)),
    ...(children.length === 0
      ? {}
      : {
          states: Object.fromEntries(
            children.map(([key, child]) => [key, nodeOf(child, show, names)]),
          ),
        }),
  };
}

/** The ways out of a state, each under the key where XState 4 looks for it. */
function waysOf(node: StateNode, show: Show, names: Map<string, string>) {
  const on: Record<string, readonly V4Transition[]> = {};
  const after: Record<string, readonly V4Transition[]> = {};
  const answers = new Map<string, readonly V4Transition[]>();
  let onDone: readonly V4Transition[] | undefined;
  for (const [type, transitions] of node.transitions) {
    const ways = transitions.map((transition) => transitionOf(transition, show));
    const end = `.${node.id}`;
    if (type === `${DONE_STATE}${node.id}`) onDone = ways;
    else if (type.startsWith(DONE_ACTOR) || type.startsWith(ERROR_ACTOR)) answers.set(type, ways);
    else if (type.startsWith(AFTER) && type.endsWith(end)) {
      const delay = type.slice(AFTER.length, -end.length);
      after[delay] = ways;
      names.set(type, `xstate.after(${delay})#${node.id}`);
    } else on[type] = ways;
  }
  const invoke = node.invoke.map(({ id, src }): V4Invoke => {
    const [done, error] = [`${DONE_ACTOR}${id}`, `${ERROR_ACTOR}${id}`];
    const found = { onDone: answers.get(done) ?? [], onError: answers.get(error) ?? [] };
    answers.delete(done);
    answers.delete(error);
    return { id, src: typeof src === 'string' ? src : 'inline', ...found };
  });
  // answers of actors that were spawned, or invoked further up
  for (const [type, ways] of answers) on[plainName(type)] = ways;
  return {
    on,
    ...(Object.keys(after).length === 0 ? {} : { after }),
    ...(node.always?.length ? { always: node.always.map((way) => transitionOf(way, show)) } : {}),
    ...(onDone === undefined ? {} : { onDone }),
    ...(invoke.length === 0 ? {} : { invoke }),
  };
}

function transitionOf(transition: Transition, show: Show): V4Transition {
  const { target, guard, actions, reenter, description, meta } = transition;
  return {
    ...(target === undefined ? {} : { target: target.map(({ id }) => `#${id}`) }),
    ...(guard === undefined ? {} : { cond: nameOf(guard) }),
    actions: actions.map((action) => actionOf(action, show)),
    internal: !reenter,
    ...optional('description', description),
    ...(meta === undefined ? {} : { meta: show(meta) }),
  };
}

/** XState 5 writes the timers of `after` among the actions; XState 4 adds its own. */
const isOwn = (action: unknown): boolean =>
  ![field(action, 'id'), field(action, 'sendId')].some(
    (id) => typeof id === 'string' && id.startsWith(AFTER),
  );

function actionOf(action: unknown, show: Show): V4Action {
  const params = field(action, 'params');
  const isPlain = params === undefined || typeof params === 'function';
  return { type: nameOf(action, ''), ...(isPlain ? {} : { params: show(params) }) };
}

const field = (value: unknown, name: string): unknown =>
  (typeof value === 'object' || typeof value === 'function') && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;

/**
 * A guard or an action: a name, `{ type, params }`, a function of the host, or one that XState made
 * (`assign`, `raise`, `and`, `not`). XState 4 would run an action that is called `xstate.assign`,
 * so the prefix goes.
 */
function nameOf(part: unknown, params = paramsText(field(part, 'params'))): string {
  if (typeof part === 'string') return part;
  const inner = field(part, 'guards');
  if (Array.isArray(inner)) {
    const names = inner.map((guard) => nameOf(guard)).join(', ');
    return `${String(field(part, 'name') ?? '') || 'guards'}(${names})`;
  }
  const type = field(part, 'type');
  if (typeof type === 'string' && type !== '') return type.replace(/^xstate\./, '') + params;
  const name = field(part, 'name');
  return typeof name === 'string' && !NAMELESS.includes(name) ? name : 'inline';
}
/** A function that was written in its place is called like the place. */
const NAMELESS: readonly string[] = ['', 'guard', 'actions', 'entry', 'exit'];

/** `flawIs(refusal)`: what tells two uses of one guard apart. */
function paramsText(params: unknown): string {
  if (typeof params !== 'object' || params === null) return '';
  const values = Object.values(params).flat();
  const isShort = values.every((value) => /^(string|number|boolean)$/.test(typeof value));
  return values.length > 0 && isShort ? `(${values.join(', ')})` : '';
}

const optional = <K extends string, V>(key: K, value: V | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V };
