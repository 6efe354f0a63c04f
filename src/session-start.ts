/** The begin of a session: its hooks are asked once, before whatever comes first. */
import type { Session } from './session.ts';
import type { SDKMessage } from './wire.ts';

/**
 * Also when the first thing that a person says is a command that needs no model. What the hooks say
 * waits for the first prompt that the model reads. @returns warnings for the host.
 */
export async function beginSession(
  session: Session,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { start, config, runHooks } = session;
  if (start.hasBegun) return [];
  start.hasBegun = true;
  const { initialMessages = [], resumed } = config;
  const source = resumed || initialMessages.length > 0 ? 'resume' : 'startup';
  const verdict = await runHooks('SessionStart', { source }, { matchQuery: source, signal });
  start.contexts.push(...verdict.additionalContext);
  return verdict.warnings;
}

/** A killed process may have shown the begin of an answer that never became one: it is taken back. */
export function retractHalfSaid({ start, transcript, uuid, id }: Session): readonly SDKMessage[] {
  return start.halfSaid.splice(0).map((half) => {
    transcript.retract(half);
    return { type: 'tombstone', message: { uuid: half }, uuid: uuid(), session_id: id };
  });
}
