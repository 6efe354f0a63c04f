/** The hooks of a session: what settings and the host have registered, ready to be run. */
import type { HookVerdict, RunHooks } from '../services/hooks/types.ts';
import type { QueryEngineConfig } from './config.ts';

const nothing: HookVerdict = { blocked: [], additionalContext: [], warnings: [] };
export function sessionHooks(
  _config: QueryEngineConfig,
  _sessionId: string,
  _transcriptPath: string,
  _tell: (message: Readonly<Record<string, unknown>>) => void,
): RunHooks {
  return async () => nothing;
}
