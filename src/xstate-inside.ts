/**
 * What XState 5 keeps to itself and we look at all the same: which transitions a step has taken,
 * and where a machine stands. The only file that knows these names; `xstate` is pinned, and a
 * contract test fails when a new version has others.
 */
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  createEmptyActor,
  type InspectionEvent,
} from 'xstate';

/** The transitions of one microstep, in their order; of any other inspection event none. */
export const transitionsIn = (event: InspectionEvent): readonly AnyTransitionDefinition[] =>
  event.type === '@xstate.microstep' ? event._transitions : [];

/** All states that are active, with those above them. None for an actor that is no machine. */
export const activeNodes = ({
  _nodes,
}: Partial<Pick<AnyMachineSnapshot, '_nodes'>>): readonly AnyStateNode[] => _nodes ?? [];

const nothing = () => {};

/**
 * For pure steps of a machine: nothing is run, nothing is sent, and the steps are told. XState's
 * own is not exported.
 */
export function inertScope(
  tell: (event: InspectionEvent) => void,
): Parameters<AnyStateMachine['transition']>[2] {
  const empty = createEmptyActor();
  const system = Object.assign(Object.create(empty.system as object), {
    _sendInspectionEvent: tell,
  });
  return {
    ...{ self: empty, logger: nothing, id: '', sessionId: 'x', defer: nothing },
    ...{ stopChild: nothing, emit: nothing, actionExecutor: nothing, system },
  } as unknown as Parameters<AnyStateMachine['transition']>[2];
}
