/**
 * Where somebody may let a query wait: before a service begins, before the chart hears an answer,
 * and in its clock. Without one nothing waits and nothing costs.
 */
import type { Actor, ActorOptions } from 'xstate';
import type { QueryEvent } from '../machines/events.ts';
import type { queryMachine } from '../machines/query.machine.ts';
import type { Ask, Line } from '../services/as-actor.ts';
import { orAborted } from '../services/or-aborted.ts';

type Chart = typeof queryMachine;
/** What XState asks for timers. */
export type Clock = NonNullable<ActorOptions<Chart>['clock']>;

/** Holds queries, all of them together: time that one spends waiting must not run out for another. */
export interface QueryHold {
  begin(queryId: string): HeldQuery;
}

/** *Contract:* never throws. An abort is not asked for: it goes to the chart itself. */
export interface HeldQuery {
  /** Of the chart: stands still while the query is held. */
  readonly clock: Clock;
  /** The chart, as soon as there is one. */
  bind(actor: Actor<Chart>): void;
  /** @param run called when the service may begin: now, or later. Never, after the abort. */
  start(service: string, run: () => void, signal: AbortSignal): void;
  /** @param run called when the chart may hear it, in order: now, or later. */
  deliver(event: QueryEvent, run: () => void, signal: AbortSignal): void;
  end(): void;
}

/** A question that is asked, and whose answer is heard, when that is allowed. */
export function heldAsk<E extends QueryEvent>(
  held: HeldQuery | undefined,
  service: string,
  ask: Ask<E>,
): Ask<E> {
  if (!held) return ask;
  return async (state, signal) => {
    await allowed((run) => held.start(service, run, signal), signal);
    signal.throwIfAborted(); // nobody waits for it: it does not begin
    const answer = await ask(state, signal);
    await allowed((run) => held.deliver(answer, run, signal), signal);
    return answer;
  };
}

/** The same for a conversation: what it says is heard in the order in which it was said. */
export function heldTalk<Command>(
  held: HeldQuery | undefined,
  service: string,
  talk: (line: Line<Command>) => Promise<void>,
): (line: Line<Command>) => Promise<void> {
  if (!held) return talk;
  return async (line) => {
    const { signal } = line;
    const commands: Command[] = [];
    let listener = (command: Command): void => void commands.push(command);
    // Commands that come before it may begin are not lost.
    line.onCommand((command) => listener(command));
    await allowed((run) => held.start(service, run, signal), signal);
    if (signal.aborted) return;
    await talk({
      ...line,
      onCommand: (hear) => {
        listener = hear;
        for (const command of commands.splice(0)) hear(command);
      },
      send: (event) => held.deliver(event, () => line.send(event), signal),
    });
  };
}

/** Also when the query is over: then nobody listens, and nothing may wait. */
async function allowed(ask: (run: () => void) => void, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await orAborted(new Promise<void>((resolve) => ask(resolve)), signal);
}
