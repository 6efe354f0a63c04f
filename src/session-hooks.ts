/** The hooks of a session: what settings and the host have registered, ready to be run. */
import { readHookCallbacks } from '../services/hooks/callbacks.ts';
import type { HookRegistration } from '../services/hooks/registration.ts';
import { createRunHooks, type HookMessage, type HookRunner } from '../services/hooks/run-hooks.ts';
import { readHookSettings } from '../services/hooks/settings.ts';
import type { QueryEngineConfig } from './config.ts';
import { UsageError } from './usage-error.ts';

/**
 * @throws UsageError when a settings file has a hook that cannot be read: an engine with fewer
 * guards than its owner wrote down is never made.
 */
export function sessionHooks(
  config: QueryEngineConfig,
  session: { readonly id: string; readonly transcriptPath: string; readonly uuid: () => string },
  tell: (message: HookMessage) => void,
): HookRunner {
  const registrations = registrationsOf(config);
  const { cwd, env, getAppState, includeHookEvents } = config;
  return createRunHooks({
    registrations: () => registrations,
    base: () => ({
      session_id: session.id,
      transcript_path: session.transcriptPath,
      cwd,
      permission_mode: getAppState().toolPermissionContext.mode,
    }),
    env: () => env,
    projectRoot: cwd,
    uuid: session.uuid,
    ...(includeHookEvents ? { onMessage: tell } : {}),
  });
}

/** In the order in which they count: settings as they were loaded, then the host's callbacks. */
function registrationsOf(config: QueryEngineConfig): readonly HookRegistration[] {
  const files = (config.hookSettings ?? []).map(readHookSettings);
  const [error] = files.flatMap(({ errors }) => errors);
  if (error) {
    throw new UsageError(`${error.file}: ${error.path} ${error.message}: ${error.remedy}`);
  }
  const callbacks = readHookCallbacks(config.hookCallbacks ?? {});
  if (callbacks.errors.length > 0) throw new UsageError(callbacks.errors[0] ?? 'wrong hooks');
  return [...files.flatMap(({ hooks }) => hooks), ...callbacks.hooks];
}
