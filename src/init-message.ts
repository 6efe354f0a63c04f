/** What the host may show about a turn when it begins. */
import { builtInAgents, mergedAgents } from '../services/agents/agent-definition.ts';
import { foundSkillsOf } from '../services/skills/found-skills.ts';
import type { EngineState } from './engine-state.ts';
import { systemToWire } from './to-wire.ts';
import { VERSION } from './version.ts';
import type { SDKMessage } from './wire.ts';

/** 9. Skills and plugins were read with the options; those of parts are found by the work. */
export function loadSkills({ config, readFileState }: EngineState): readonly string[] {
  return [...(config.skills ?? []), ...foundSkillsOf(readFileState)].map(({ name }) => name);
}

/** 10. Tools, servers, commands, the model and the mode: as they are now. */
export function initMessage(
  { session, config, servers }: EngineState,
  model: string,
  skills: readonly string[],
): SDKMessage {
  return systemToWire(
    {
      subtype: 'init',
      cwd: config.cwd,
      model,
      tools: session.tools().map(({ name }) => name),
      mcp_servers: servers.report().map(({ tools: _, ...server }) => server),
      permissionMode: config.getAppState().toolPermissionContext.mode,
      slash_commands: session.commands().map(({ name }) => name),
      agents: mergedAgents(builtInAgents, config.agents).map(({ name }) => name),
      skills,
      apiKeySource: config.model.apiKey ? 'ANTHROPIC_API_KEY' : 'none',
      output_style: 'default',
      escapement_version: VERSION,
      claude_code_version: VERSION,
    },
    session.uuid(),
    session.id,
  );
}
