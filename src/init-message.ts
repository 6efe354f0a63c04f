/** What the host may show about a turn when it begins. */
import type { QueryEngineConfig } from './config.ts';
import type { ServerReport } from './offered-servers.ts';
import type { Session } from './session.ts';
import { systemToWire } from './to-wire.ts';
import { VERSION } from './version.ts';
import type { SDKMessage } from './wire.ts';

export interface InitFacts {
  readonly model: string;
  readonly servers: readonly ServerReport[];
  readonly commands: readonly string[];
  readonly agents: readonly string[];
  readonly skills: readonly string[];
}

export function initMessage(
  session: Session,
  { cwd, getAppState, model: access }: QueryEngineConfig,
  facts: InitFacts,
): SDKMessage {
  return systemToWire(
    {
      subtype: 'init',
      cwd,
      model: facts.model,
      tools: session.tools().map(({ name }) => name),
      mcp_servers: facts.servers.map(({ tools: _, ...server }) => server),
      permissionMode: getAppState().toolPermissionContext.mode,
      slash_commands: facts.commands,
      agents: facts.agents,
      skills: facts.skills,
      apiKeySource: access.apiKey ? 'ANTHROPIC_API_KEY' : 'none',
      output_style: 'default',
      escapement_version: VERSION,
      claude_code_version: VERSION,
    },
    session.uuid(),
    session.id,
  );
}
