/** The end of a session: what it has started ends with it. */
import { join } from 'node:path';
import { sweepOldFiles } from '../services/journal/retention.ts';
import type { OfferedServers } from './offered-servers.ts';
import { type Session, SessionToolState } from './session.ts';

/** A hook that wants to say goodbye does not keep the process alive for longer. */
const END_HOOKS_MS = 5_000;

export async function closeSession(
  { toolState, transcript, stopping, runHooks, config, start }: Session,
  servers: OfferedServers,
): Promise<void> {
  // Without a turn there is nothing to tell and nothing to sweep.
  const wasUsed = start.hasBegun;
  if (wasUsed) {
    const signal = AbortSignal.timeout(END_HOOKS_MS);
    await runHooks('SessionEnd', { reason: 'other' }, { matchQuery: 'other', signal });
  }
  await Promise.allSettled(stopping);
  await runHooks.dispose();
  if (toolState instanceof SessionToolState) await toolState.dispose();
  await servers.close();
  await transcript.close();
  if (wasUsed) await sweepOldFiles(join(config.home, 'projects'), new Date());
}
