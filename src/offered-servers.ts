/** What all servers of tools together add to a session, read at each use: they come and go. */
import type { HandleElicitation } from '../services/mcp/elicitation.ts';
import { resourceTools } from '../services/mcp/resources.ts';
import { deferredTools } from '../services/mcp/tool-search.ts';
import { orAborted } from '../services/or-aborted.ts';
import type { Tool } from '../services/tools/tool.ts';
import type { Command, MCPServerConnection } from './config.ts';

/** A server as a host may show it. */
export interface ServerReport {
  readonly name: string;
  readonly status: MCPServerConnection['status'];
  readonly error?: string;
  readonly tools: readonly { readonly name: string; readonly description: string }[];
}

export interface OfferedServers {
  /** Resolves when all have been waited for, or at the abort. Immediate from the second turn on. */
  ready(signal: AbortSignal): Promise<void>;
  tools(): readonly Tool[];
  commands(): readonly Command[];
  report(): readonly ServerReport[];
  reconnect(name: string): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Begins to connect them.
 * @param tell hears what people should know.
 * @param ask puts the servers' questions to the person.
 * @param found tools that the conversation has found already.
 */
export function offeredServers(
  servers: readonly MCPServerConnection[],
  tell: (text: string) => void,
  ask: HandleElicitation | undefined,
  found: readonly string[],
): OfferedServers {
  for (const server of servers) {
    server.listen?.(tell);
    if (ask) server.answerBy?.(ask);
  }
  const connecting = Promise.all(servers.map((server) => server.connect?.()));
  const offered = deferredTools(found);
  const toldTwice = new Set<string>();
  /** A name that comes twice would have the API refuse every request: the first one stays. */
  const distinct = () => {
    const byName = new Map<string, Tool>();
    for (const { name: server, tools } of servers) {
      for (const tool of tools) {
        if (!byName.has(tool.name)) byName.set(tool.name, tool);
        else if (!toldTwice.has(tool.name)) {
          toldTwice.add(tool.name);
          tell(
            `MCP server ${server}: another has a tool ${tool.name} as well: this one is left out`,
          );
        }
      }
    }
    return [...byName.values()];
  };
  const overResources = resourceTools(() => servers);
  return {
    ready: async (signal) => void (await orAborted(connecting, signal)),
    tools: () => [
      ...offered(distinct()),
      ...(servers.some(({ resources }) => resources) ? overResources : []),
    ],
    commands: () => servers.flatMap(({ commands = [] }) => commands),
    report: () =>
      servers.map(({ name, status, error, tools }) => ({
        ...{ name, status },
        ...(error === undefined ? {} : { error }),
        tools: tools.map((tool) => ({ name: tool.name, description: tool.description })),
      })),
    async reconnect(name) {
      const server = servers.find((one) => one.name === name);
      await server?.reconnect?.();
      return server?.reconnect !== undefined;
    },
    async close() {
      await Promise.allSettled(servers.map((server) => server.close()));
    },
  };
}
