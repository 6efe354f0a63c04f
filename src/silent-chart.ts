/**
 * The chart alone, to hear again what it has heard once: nobody answers, and no time passes, for
 * answers and deadlines stand in the record. The same events give the same steps.
 */
import { type ActorOptions, createActor, fromCallback } from 'xstate';
import { conversations, questions } from '../machines/ports.ts';
import { queryMachine } from '../machines/query.machine.ts';
import type { QueryInput } from '../machines/state.ts';

const silentMachine = queryMachine.provide({
  actors: Object.fromEntries(
    [...Object.keys(questions), ...Object.keys(conversations)].map((name) => [
      name,
      fromCallback(() => {}),
    ]),
  ) as never,
});
const noTime = { setTimeout: () => 0, clearTimeout: () => {} };

/**
 * Not started yet.
 * @param inspect hears each of its steps.
 */
export const silentChart = (
  input: QueryInput,
  inspect?: ActorOptions<typeof queryMachine>['inspect'],
) =>
  createActor(silentMachine, {
    ...{ input, clock: noTime },
    ...(inspect === undefined ? {} : { inspect }),
  });
