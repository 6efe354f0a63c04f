/** Which transitions a machine takes: in a pure step, and in an actor that runs. */
import type {
  AnyEventObject,
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyStateNode,
  AnyTransitionDefinition,
  InspectionEvent,
} from 'xstate';
import { inertScope, transitionsIn } from '../xstate-inside.ts';

/** `after stageMs`, `done snip`, `error snip`, `always`, or the type of the event. */
export const eventName = ({ eventType, source }: AnyTransitionDefinition): string => {
  if (eventType === '') return 'always';
  const ofState = `.${source.id}`;
  const type = eventType.endsWith(ofState) ? eventType.slice(0, -ofState.length) : eventType;
  return type.replace(/^xstate\.(after|done|error)\.((actor|state)\.)?/, '$1 ');
};

/** A state by the way to it from the machine; the machine itself by its own id. */
export const stateName = ({ id, machine }: AnyStateNode): string =>
  id.startsWith(`${machine.id}.`) ? id.slice(machine.id.length + 1) : id;

/** All transitions that start in a state, event by event, in the order in which they are tried. */
export const transitionsOf = (
  node: AnyStateNode,
): readonly (readonly AnyTransitionDefinition[])[] =>
  node.always ? [...node.transitions.values(), node.always] : [...node.transitions.values()];

const known = new WeakMap<AnyTransitionDefinition, string>();

/** `<state> · <event> · <place in its list>`: the same for every copy of a machine. */
export function transitionId(transition: AnyTransitionDefinition): string {
  const id = known.get(transition);
  if (id !== undefined) return id;
  const { source } = transition;
  const list = transitionsOf(source).find((one) => one.includes(transition)) ?? [];
  const made = `${stateName(source)} · ${eventName(transition)} · ${list.indexOf(transition)}`;
  known.set(transition, made);
  return made;
}

/** The transitions of one microstep; of any other inspection event none. */
export const takenIn = (event: InspectionEvent): readonly AnyTransitionDefinition[] =>
  transitionsIn(event).filter(isDrawn);
/** XState enters the first state by a transition that nobody has drawn. */
const isDrawn = (transition: AnyTransitionDefinition) =>
  known.has(transition) ||
  transitionsOf(transition.source).some((list) => list.includes(transition));

/** What one step has led to. */
export interface Stepped<Snapshot = AnyMachineSnapshot> {
  readonly after: Snapshot;
  /** In the order in which they were taken: what an event causes, and what follows at once. */
  readonly taken: readonly AnyTransitionDefinition[];
}

/**
 * Steps of a machine that runs nothing: no service starts, no timer runs, no action of a host is
 * called. `assign` and all else that is pure happens.
 */
export function pureSteps<M extends AnyStateMachine>(machine: M) {
  let taken: AnyTransitionDefinition[] = [];
  const scope = inertScope((event) => {
    taken.push(...takenIn(event));
  });
  type Snapshot = ReturnType<M['getInitialSnapshot']>;
  const during = (step: () => AnyMachineSnapshot): Stepped<Snapshot> => {
    taken = [];
    const after = step() as Snapshot;
    return { after, taken };
  };
  return {
    /** The first snapshot, and what was taken to come to it. */
    begin: (input?: unknown) => during(() => machine.getInitialSnapshot(scope, input as never)),
    step: (snapshot: AnyMachineSnapshot, event: AnyEventObject) =>
      during(() => machine.transition(snapshot, event, scope)),
  };
}
