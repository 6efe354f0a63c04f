/** What a dead process has left: a turn without a result, and prompts that nobody has taken. */
import type { Restored } from '../services/journal/restore.ts';
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

/** Prompts of a dead process get their result from the first turn after it. */
export function takeUpLeft(engine: EngineState, turn: Turn): Restored | undefined {
  const { left } = engine;
  engine.left = undefined;
  if (!left) return undefined;
  turn.promptUuids.push(...left.openPrompts);
  if (left.isInterrupted) engine.session.transcript.note('turn-resumed', {});
  return left;
}

/** Its queue: hooks look at these prompts, too. The result names them, also those it stops. */
export async function takeUpQueued(
  engine: EngineState,
  turn: Turn,
  left: Restored | undefined,
): Promise<readonly LogMessage[]> {
  const queued = left?.queued ?? [];
  const { signal } = engine.abortController;
  const warn = (text: string) => engine.untold.push(text);
  const { taken, admitted } = await admitLeft(engine.session, queued, signal, warn);
  turn.promptUuids.push(...taken.map(({ uuid }) => uuid));
  return admitted;
}
