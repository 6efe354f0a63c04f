/** The servers of tools that a session begins with. */
import type { MCPServerConnection } from './config.ts';
import type { ServerSettings } from './mcp-servers.ts';
import { numberFrom } from './model-access.ts';
import type { Environment } from './option-fields.ts';
import type { Options } from './option-types.ts';
import type { LoadedPlugin } from './plugins.ts';

/** Those that are connected already, and those by configuration. Nothing is connected here. */
export async function connectionsOf(
  options: Options,
  environment: Environment,
  where: Pick<ServerSettings, 'cwd' | 'env' | 'home' | 'readsProject' | 'additionalDirectories'> & {
    readonly plugins: readonly LoadedPlugin[];
  },
): Promise<readonly MCPServerConnection[]> {
  const { mcpClients: connected = [], mcpServers: configured = {}, stderr } = options;
  const isStrict = options.strictMcpConfig === true;
  const readsProject = where.readsProject && !isStrict;
  const plugins = isStrict ? [] : where.plugins.filter(({ servers }) => servers.length > 0);
  const hasOwn = readsProject || plugins.length > 0;
  if (!hasOwn && Object.keys(configured).length === 0) return connected;
  const { mcpServers } = await import('./mcp-servers.ts');
  const waitMs = numberFrom(environment, 'MCP_TIMEOUT');
  const toolMs = numberFrom(environment, 'MCP_TOOL_TIMEOUT');
  const own = mcpServers({
    ...{ ...where, configured, readsProject, plugins },
    known: new Set(connected.map(({ name }) => name)),
    ...(waitMs ? { waitMs } : {}),
    ...(toolMs ? { toolMs } : {}),
    ...(stderr && { onDebug: stderr }),
  });
  return [...connected, ...own];
}
