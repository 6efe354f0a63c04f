/** What a page may do, when it was allowed: breakpoints and steps, and events to a machine. */
import type { AnyActorRef, AnyMachineSnapshot } from 'xstate';
import type { Hold } from './hold.ts';
import type { LiveRun } from './live-run.ts';
import type { Command, CommandAnswer, Sendable } from './protocol.ts';
import { alphabetOf } from './xstate-steps.ts';

export interface Control {
  /** May hold, step, go on. */
  readonly hold: boolean;
  /** May send events to machines. */
  readonly send: boolean;
}

const no = (why: string): CommandAnswer => ({ ok: false, why });
const done: CommandAnswer = { ok: true };

/** *Contract:* never throws. */
export function obey(
  body: string,
  { run, hold, control }: { run: LiveRun; hold: Hold | undefined; control: Control },
): CommandAnswer {
  const command = commandIn(body);
  if (!command) return no('this is no command: see protocol.ts');
  switch (command.do) {
    case 'abort':
    case 'send':
      if (!control.send && !(command.do === 'abort' && control.hold)) {
        return no('events may not be sent: the inspector was started without it');
      }
      return send(command, run);
    default:
      if (!control.hold || !hold) {
        return no('nothing can be held here: the inspector was started without it');
      }
      return holdBy(command, hold, run);
  }
}

function holdBy(
  command: Extract<Command, { do: 'break' | 'hold' | 'step' | 'go' }>,
  hold: Hold,
  run: LiveRun,
): CommandAnswer {
  switch (command.do) {
    case 'break':
      if (!isState(command.state, run)) return no(`there is no state ${command.state}`);
      hold.break(command.state, command.on);
      return done;
    case 'hold':
      hold.stop();
      return done;
    case 'step':
      if (!hold.isHeld) return no('nothing is held');
      run.control('stepped', hold.state.held?.waiting[0] ?? '');
      hold.step();
      return done;
    case 'go':
      if (!hold.isHeld) return no('nothing is held');
      hold.go();
      return done;
  }
}

const isState = (id: string, run: LiveRun): boolean =>
  run.charts.some((key) => run.chart(key)?.chart.nodes.some((node) => node.id === id));

function send(command: Extract<Command, { do: 'send' | 'abort' }>, run: LiveRun): CommandAnswer {
  const { instance } = command;
  const event = command.do === 'abort' ? { type: 'abort' } : command.event;
  return sendTo(instance, event, run);
}

/**
 * The one rule of what may be sent, whoever wants to: an event of the machine's own, and only where
 * it would do something. It is written down before it is sent.
 */
export function sendTo(
  instance: string,
  event: { readonly type: string },
  run: LiveRun,
): CommandAnswer {
  const actor = run.actor(instance);
  if (!actor) return no(`${instance} does not run`);
  const isKnown = sendable(instance, run)?.events.some(({ type }) => type === event.type);
  if (!isKnown) return no(`${event.type} is no event of this machine`);
  if (!canTake(actor, event)) return no(`${event.type} would do nothing now`);
  run.control(event.type === 'abort' ? 'aborted' : 'sent', event.type, instance);
  actor.send(event);
  return done;
}

/** @returns nothing for an instance that does not run, or is no machine. */
export function sendable(instance: string, run: LiveRun): Sendable | undefined {
  const actor = run.actor(instance);
  const snapshot = actor?.getSnapshot() as AnyMachineSnapshot | undefined;
  if (!actor || !snapshot?.machine) return undefined;
  const events = alphabetOf(snapshot).map((type) => ({ type, can: canTake(actor, { type }) }));
  return { instance, events };
}

/** A guard may want fields that a bare event does not have: then it cannot. */
function canTake(actor: AnyActorRef, event: { readonly type: string }): boolean {
  try {
    return (actor.getSnapshot() as AnyMachineSnapshot).can(event);
  } catch {
    return false;
  }
}

function commandIn(body: string): Command | undefined {
  let said: unknown;
  try {
    said = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (typeof said !== 'object' || said === null) return undefined;
  const { do: what, state, on, instance, event } = said as Readonly<Record<string, unknown>>;
  switch (what) {
    case 'hold':
    case 'step':
    case 'go':
      return { do: what };
    case 'break':
      return typeof state === 'string' && typeof on === 'boolean'
        ? { do: what, state, on }
        : undefined;
    case 'abort':
      return typeof instance === 'string' ? { do: what, instance } : undefined;
    case 'send':
      return typeof instance === 'string' && isEvent(event)
        ? { do: what, instance, event }
        : undefined;
    default:
      return undefined;
  }
}

const isEvent = (event: unknown): event is { readonly type: string } =>
  typeof event === 'object' &&
  event !== null &&
  'type' in event &&
  typeof event.type === 'string' &&
  !event.type.startsWith('xstate.');
