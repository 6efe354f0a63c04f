/**
 * The begin of a session: its file, its fence, its hooks. Most of it is for the first turn; what
 * can change is looked at before each.
 */
import type { EngineState } from './engine-state.ts';
import { journalNotices } from './journal-notices.ts';
import { noteTry } from './left-behind.ts';
import { sandboxWarnings } from './sandbox-policy.ts';
import type { Session } from './session.ts';
import type { Turn } from './turn.ts';
import type { SDKMessage } from './wire.ts';

/** Before anything is said or asked in a turn. @returns what the host should know of the file. */
export async function makeReady(engine: EngineState, turn: Turn): Promise<readonly SDKMessage[]> {
  const notices = await openJournal(engine);
  noteTry(engine, turn);
  await lookAtSettings(engine);
  await engine.servers.ready(engine.abortController.signal);
  return notices;
}

/** Before the first line is written. @returns what the host should know of the file. */
export async function openJournal(engine: EngineState): Promise<readonly SDKMessage[]> {
  if (engine.hasOpenedJournal) return [];
  const cutBytes = await engine.session.transcript.open();
  engine.hasOpenedJournal = true;
  const notices = journalNotices(cutBytes, engine.config.resumed?.restored);
  return notices.map((text) => engine.warning(text));
}

/** Files may have changed since the last turn; the fence is looked at before the first. */
async function lookAtSettings({ config, session, untold }: EngineState): Promise<void> {
  const { refreshSettings, sandbox, setAppState } = config;
  if (!session.start.hasBegun && sandbox) untold.push(...(await sandboxWarnings(sandbox)));
  if (!refreshSettings) return;
  const { warnings, change } = await refreshSettings();
  untold.push(...warnings);
  setAppState((previous) => ({
    ...previous,
    toolPermissionContext: change(previous.toolPermissionContext),
  }));
}

/**
 * Hooks are asked once, before whatever comes first: also when that is a command that needs no
 * model. What they say waits for the first prompt that the model reads. @returns warnings for the
 * host.
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
