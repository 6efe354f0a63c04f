/** The system prompt and the user context of a session: built once, or the cache would be lost. */
import type { Session } from './session.ts';
import { systemContext, systemPrompt, userContext } from './system-prompt.ts';

export async function buildSessionPrompt(session: Session, model: string): Promise<void> {
  if (session.systemPrompt.length > 0) return;
  const { cwd, env, customSystemPrompt, appendSystemPrompt, getAppState, memory } = session.config;
  const custom = customSystemPrompt;
  session.systemPrompt = systemPrompt({
    custom,
    append: appendSystemPrompt,
    context: custom === undefined ? await systemContext(cwd, env) : undefined,
  });
  session.userContext = userContext({
    cwd,
    additionalDirectories: getAppState().toolPermissionContext.additionalDirectories,
    platform: process.platform,
    date: session.now().toISOString().slice(0, 10),
    model,
    memory: memory ?? [],
  });
}
