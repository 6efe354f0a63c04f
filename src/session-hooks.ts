/** The hooks of a session: what settings and the host have registered, ready to be run. */
import { readHookCallbacks } from '../services/hooks/callbacks.ts';
import type { HookRegistration } from '../services/hooks/registration.ts';
import { createRunHooks, type HookMessage, type HookRunner } from '../services/hooks/run-hooks.ts';
import { readHookSettings } from '../services/hooks/settings.ts';
import { createJudge } from '../services/permissions/judge.ts';
import type { Tool, ToolInput } from '../services/tools/tool.ts';
import type { QueryEngineConfig } from './config.ts';
import { userHomeOf } from './home-folders.ts';
import { UsageError } from './usage-error.ts';

/**
 * @throws UsageError when a settings file has a hook that cannot be read: an engine with fewer
 * guards than its owner wrote down is never made.
 */
export function sessionHooks(
  config: QueryEngineConfig,
  session: {
    readonly id: string;
    readonly transcriptPath: string;
    readonly uuid: () => string;
    readonly tools: () => readonly Tool[];
  },
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
    matchesRule: ruleMatcher(config, session.tools),
    uuid: session.uuid,
    ...(includeHookEvents ? { onMessage: tell } : {}),
  });
}

/**
 * Does a condition (`if`) fit a call? Judged as a deny rule would be: a command line fits as soon
 * as one of its commands does, and what cannot be understood fits, so that the hook is asked.
 */
function ruleMatcher({ cwd, env }: QueryEngineConfig, tools: () => readonly Tool[]) {
  const judge = createJudge({ home: userHomeOf(env) });
  return async (rule: string, toolName: string, input: ToolInput): Promise<boolean> => {
    const tool = tools().find(({ name }) => name === toolName);
    if (!tool) return true;
    const rules = [{ source: 'session' as const, allow: [], deny: [rule], ask: [] }];
    const context = {
      mode: 'bypassPermissions' as const,
      rules,
      additionalDirectories: [],
      isBypassAvailable: true,
    };
    return (await judge(tool, input, context, cwd)).behavior !== 'allow';
  };
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
