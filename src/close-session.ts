/** The end of a session: what it has started ends with it. */
import { join } from 'node:path';
import { sweepOldFiles } from '../services/journal/retention.ts';
import type { EngineState } from './engine-state.ts';
import { SessionToolState } from './session.ts';

/** For the turn that runs: an interrupt ends it at once, if its host reads on. */
const LAST_WORD_MS = 1_000;
/** A hook that wants to say goodbye does not keep the process alive for longer. */
const END_HOOKS_MS = 5_000;
/** A server that runs within the host may never close. Others have ends of their own before. */
const SERVERS_MS = 10_000;

export async function closeSession(engine: EngineState): Promise<void> {
  engine.isClosed = true;
  engine.interrupt();
  await engine.agents.close();
  await lastWord(engine);
  const { readFileState, session, servers } = engine;
  const { transcript, stopping, runHooks, config, start, watch } = session;
  // Without a turn there is nothing to tell and nothing to sweep.
  const wasUsed = start.hasBegun;
  if (wasUsed) {
    const signal = AbortSignal.timeout(END_HOOKS_MS);
    await runHooks('SessionEnd', { reason: 'other' }, { matchQuery: 'other', signal });
  }
  await Promise.allSettled(stopping);
  await runHooks.dispose();
  if (readFileState instanceof SessionToolState) await readFileState.dispose();
  await orLate(servers.close(), SERVERS_MS);
  await transcript.close();
  if (wasUsed) await sweepOldFiles(join(config.home, 'projects'), new Date());
  watch.tell({ type: 'engine.closed' });
}

/** The turn that runs is given its time to end: its result belongs into the file. */
async function lastWord(engine: EngineState): Promise<void> {
  if (!engine.turn) return;
  const ended = new Promise<void>((resolve) => {
    engine.onTurnEnd = resolve;
  });
  await orLate(ended, LAST_WORD_MS);
}

/** Waits for it, but no longer than that. */
async function orLate(work: Promise<void>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
