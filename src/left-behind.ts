/** What a dead process has left: a turn without a result, and prompts that nobody has taken. */
import type { LogMessage } from '../services/messages.ts';
import type { EngineState } from './engine-state.ts';
import { admitLeft } from './prompt-hooks.ts';
import type { Turn } from './turn.ts';

/** A turn that kills its process each time must not do so for ever. */
const FINISH_TRIES_MAX = 3;

/** A turn that a dead process has left without a result. */
export interface InterruptedTurn {
  /** Its prompts. The result of the turn that ends it names them. */
  readonly promptUuids: readonly string[];
  /** How often it was tried to be ended. */
  readonly tries: number;
  readonly mayFinish: boolean;
}

/** `undefined`: there is none, or a turn has taken it up. */
export function interruptedTurn({ left }: EngineState): InterruptedTurn | undefined {
  if (!left?.isInterrupted) return undefined;
  const { openPrompts: promptUuids, finishTries: tries } = left;
  return { promptUuids, tries, mayFinish: tries < FINISH_TRIES_MAX };
}

/** Why it is not tried once more. */
export const givenUp = ({ tries }: InterruptedTurn): string =>
  `The turn that was interrupted was tried ${tries} times, and each time its process ended: ` +
  'it is not tried again by itself. Give a prompt to go on from there.';

/**
 * A turn begins: whatever it runs may kill this process, too, so the try is written down first. It
 * takes up what was left with `takeUpLeft`; until then its result leaves that open.
 */
export function noteTry({ left, session }: EngineState, turn: Turn): void {
  turn.left = left;
  if (!left?.isInterrupted) return;
  session.transcript.note('turn-resumed', {});
}

/** What a turn has taken up. */
export interface TakenUp {
  /** Prompts that nobody has read yet. */
  readonly messages: readonly LogMessage[];
  /** By the turn that was interrupted. */
  readonly turnsSpent: number;
}

/**
 * Only for a turn that asks the model: its result is that of the interrupted turn, too, and names
 * its prompts. Hooks look at prompts from the queue; the result names also those that they stop.
 */
export async function takeUpLeft(engine: EngineState, turn: Turn): Promise<TakenUp> {
  const { left, session, abortController } = engine;
  if (!left) return { messages: [], turnsSpent: 0 };
  // A host may have sent one of them again: then it is the prompt of this turn.
  const queued = left.queued.filter(({ uuid }) => !turn.promptUuids.includes(uuid));
  const warn = (text: string) => engine.untold.push(text);
  const { taken, admitted } = await admitLeft(session, queued, abortController.signal, warn);
  engine.left = undefined;
  turn.left = undefined;
  turn.promptUuids.push(...left.openPrompts, ...taken.map(({ uuid }) => uuid));
  return { messages: admitted, turnsSpent: left.turnsSpent };
}
