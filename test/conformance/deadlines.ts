/**
 * A query ends by itself: in every state that waits, with every service silent, a deadline is over
 * at its time, and deadlines alone lead on to the end. On a simulated clock, to the millisecond.
 */
import { type AnyEventObject, createActor, fromCallback, SimulatedClock } from 'xstate';
import { conversations, questions } from '../../machines/ports.ts';
import type { QueryInput } from '../../machines/state.ts';
import { leafOf, type QueryChart } from './chart.ts';
import { all } from './world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
/** No deadline is longer, and no budget allows so many of them in a row. */
const HOUR = 60 * MINUTE;
const HOURS_MAX = 60;

const done = (id: string, letter: string): AnyEventObject => ({
  type: `xstate.done.actor.${id}`,
  actorId: id,
  output: all.answers[id as 'snip']?.[letter],
});
const heard = (place: string, ...letters: readonly string[]): AnyEventObject[] =>
  letters.map((letter) => all.heard[place]?.[letter] as AnyEventObject);
const stages = ['toolResultBudget', 'snip', 'microcompact', 'collapse', 'autocompact'];
const upTo = (n: number) => stages.slice(0, n).map((id) => done(id, 'ok'));
const sent = [...upTo(5), done('legalize', 'fits')];
const failed = (letter: string) => [...sent, ...heard('sampling.requesting', letter)];
const streamed = (...letters: readonly string[]) => [
  ...failed('opened'),
  ...heard('sampling.streaming', ...letters),
];
const called = streamed('call', 'tool_use');

export interface Wait {
  /** What leads to the state. */
  readonly events: readonly AnyEventObject[];
  /** `undefined`: for ever, since it is a person that is waited for. */
  readonly ms: number | undefined;
  readonly input?: Partial<QueryInput>;
}
/** How long each state waits: numbers as the design has them, not as the code computes them. */
export const waits: Readonly<Record<string, Wait>> = {
  'preprocess.toolResultBudget': { events: upTo(0), ms: 10 * SECOND },
  'preprocess.snip': { events: upTo(1), ms: 10 * SECOND },
  'preprocess.microcompact': { events: upTo(2), ms: 10 * SECOND },
  'preprocess.collapse': { events: upTo(3), ms: 10 * SECOND },
  'preprocess.autocompact': { events: upTo(4), ms: 180 * SECOND },
  'preprocess.legalize': { events: upTo(5), ms: 10 * SECOND },
  'sampling.requesting': { events: sent, ms: 150 * SECOND },
  'sampling.streaming': { events: failed('opened'), ms: 30 * MINUTE },
  'sampling.backingOff': { events: failed('connection'), ms: 0.5 * SECOND },
  'sampling.switchingModel': {
    events: failed('overloaded'),
    ms: 60 * SECOND,
    input: { fallbackModel: 'b', limits: { overloadsMax: 1 } },
  },
  // a grace, and the call's own deadline
  'toolRun.draining': { events: called, ms: 30 * SECOND + 1 },
  'toolRun.asking': { events: [...called, ...heard('toolRun', 'asked')], ms: undefined },
  'toolRun.attaching': {
    events: [
      ...called,
      ...heard('toolRun', 'result'),
      ...heard('toolRun.draining', 'all answered'),
    ],
    ms: 5 * SECOND,
  },
  'recovery.stripping': { events: failed('bad image'), ms: 10 * SECOND },
  'recovery.draining': { events: failed('prompt too long'), ms: 1 * SECOND },
  'recovery.compacting': {
    events: [...failed('prompt too long'), done('drainCollapses', 'no collapse')],
    ms: 180 * SECOND,
  },
  'stopHooks.evaluating': { events: streamed('text', 'end_turn'), ms: 5 * MINUTE },
};

const silent = Object.fromEntries(
  [...Object.keys(questions), ...Object.keys(conversations)].map((name) => [
    name,
    fromCallback(() => {}),
  ]),
);

/** A query of which nothing is ever heard again after these events. */
function fallSilent(chart: QueryChart, { events, input }: Wait, durationMs?: number) {
  const clock = new SimulatedClock();
  const limits = { ...input?.limits, ...(durationMs === undefined ? {} : { durationMs }) };
  const actor = createActor(chart.provide({ actors: silent as never }), {
    clock,
    input: {
      queryId: 'q',
      history: { head: '0/u', count: 1, tokens: 0 },
      model: 'a',
      startedAtMs: 0,
      ...input,
      limits,
    },
  });
  actor.start();
  for (const event of events) actor.send(event as never);
  const leaf = () => leafOf(actor.getSnapshot().value);
  return { clock, leaf, actor, isOver: () => actor.getSnapshot().status !== 'active' };
}

/** @returns what is wrong with how this state waits, if anything is. */
export function waitFault(chart: QueryChart, state: string, wait: Wait): string | undefined {
  const { clock, leaf, actor, isOver } = fallSilent(chart, wait);
  if (leaf() !== state) return `${state} is not reached, but ${leaf()}`;
  if (wait.ms === undefined) {
    clock.increment(DAY);
    if (leaf() !== state) return `${state} does not wait for a person`;
    actor.send({ type: 'person.answered', question: 'q', atMs: DAY });
  } else {
    clock.increment(wait.ms - 1);
    if (leaf() !== state) return `${state} is left before its deadline`;
    clock.increment(1);
    if (leaf() === state) return `${state} outlasts its deadline`;
  }
  for (let n = 0; n < HOURS_MAX && !isOver(); n += 1) clock.increment(HOUR);
  if (!isOver()) return `${state} leads to ${leaf()}, which never ends`;
  return actor.getSnapshot().output?.reason ? undefined : `${state} ends without a reason`;
}

/** The host's own time is over, wherever the query is. Not while a person is asked. */
export function clockFault(chart: QueryChart, state: string, wait: Wait): string | undefined {
  const MS = 400;
  const { clock, actor, isOver, leaf } = fallSilent(chart, wait, MS);
  clock.increment(MS - 1);
  if (isOver()) return `${state} ends before the host's time is over`;
  clock.increment(1);
  if (wait.ms === undefined)
    return leaf() === state ? undefined : `${state} does not stop the clock`;
  const reason = actor.getSnapshot().output?.reason;
  return reason === 'deadline_exceeded' ? undefined : `${state} outlasts the host's time`;
}
