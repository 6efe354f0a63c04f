/** Servers of tools by configuration: from files and options to connections. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRecord } from '../services/is-record.ts';
import { externalServer } from '../services/mcp/external-server.ts';
import { InstanceServer, isServerInstance } from '../services/mcp/instance-server.ts';
import { externalServerPrefix } from '../services/mcp/names.ts';
import { readServerConfig, type ServerConfig } from '../services/mcp/server-config.ts';
import type { MCPServerConnection } from './config.ts';
import { grantsFolder } from './own-folder.ts';
import { type LoadedPlugin, PLUGIN_ROOT } from './plugins.ts';
import { isFile, statsOf } from './stats-of.ts';
import { UsageError } from './usage-error.ts';
import { VERSION } from './version.ts';

/** The project's own servers, in the format that other programs share. */
export const PROJECT_FILE = '.mcp.json';
/** More than this is no such file. */
const FILE_BYTES_MAX = 4 << 20;
/** Longer names are cut in the names of the tools anyway. */
const NAME_CHARS_MAX = 200;

type Environment = Readonly<Record<string, string | undefined>>;
type Entries = Readonly<Record<string, unknown>>;

export interface ServerSettings {
  /** Absolute: where servers start, and what they are told as root. */
  readonly cwd: string;
  /** Of the session. `${NAME}` in entries is looked up here; a server sees a small part of it. */
  readonly env: Environment;
  readonly additionalDirectories: () => readonly string[];
  /** The option `mcpServers`, or all `--mcp-config`. Wins over the project's file. */
  readonly configured: Entries;
  /** Does the host trust the project's own file? It names programs that are started. */
  readonly readsProject: boolean;
  /** Of folders that the host has named: their servers are `plugin:<plugin>:<server>`. */
  readonly plugins: readonly LoadedPlugin[];
  /** Names that the host has connected itself. */
  readonly known: ReadonlySet<string>;
  /** `$ESCAPEMENT_HOME`: what was granted at servers is kept there. */
  readonly home: string;
  readonly waitMs?: number;
  readonly toolMs?: number;
  readonly onDebug?: (text: string) => void;
}

/**
 * Checks everything and connects nothing: a connection begins when the engine asks for it.
 * @throws UsageError naming file, place and remedy.
 */
export function mcpServers(settings: ServerSettings): readonly MCPServerConnection[] {
  return [...configuredServers(settings)].flatMap(([name, config]) =>
    settings.known.has(name) ? [] : [connection(name, config, settings)],
  );
}

/** By name, each checked. @throws UsageError naming file, place and remedy. */
export function configuredServers(
  settings: Pick<ServerSettings, 'cwd' | 'env' | 'configured' | 'readsProject' | 'plugins'>,
): ReadonlyMap<string, ServerConfig> {
  const { configured, readsProject, plugins, cwd, env } = settings;
  const file = join(cwd, PROJECT_FILE);
  const read = (entries: Entries, where: string) =>
    Object.entries(entries).map(
      ([name, entry]) => [name, checked(name, entry, where, env)] as const,
    );
  const servers = new Map([
    ...plugins.flatMap((plugin) => serversOf(plugin, env)),
    ...(readsProject ? read(entriesOf(file), file) : []),
    ...read(configured, 'mcpServers'),
  ]);
  refuseOneName([...servers.keys()]);
  return servers;
}

/** The API takes a name once, and a rule for one of them would mean the other. */
function refuseOneName(names: readonly string[]): void {
  const known = new Map<string, string>();
  for (const name of names) {
    const prefix = externalServerPrefix(name);
    const other = known.get(prefix);
    if (other !== undefined) {
      const both = `${JSON.stringify(other)} and ${JSON.stringify(name)}`;
      throw new UsageError(
        `mcpServers: ${both} have the same name in the names of their tools (${prefix}): rename one`,
      );
    }
    known.set(prefix, name);
  }
}

/** Their entries may name the plugin's folder, and the servers find it in their environment. */
function serversOf({ name: plugin, folder, servers }: LoadedPlugin, env: Environment) {
  const own = { [PLUGIN_ROOT]: folder };
  return servers.flatMap(({ file, entries }) =>
    Object.entries(entries).map(([name, entry]) => {
      const config = checked(name, entry, file, { ...env, ...own });
      const known =
        config.type === 'stdio' ? { ...config, env: { ...own, ...config.env } } : config;
      return [`plugin:${plugin}:${name}`, known] as const;
    }),
  );
}

function connection(
  name: string,
  config: ServerConfig,
  settings: ServerSettings,
): MCPServerConnection {
  const { cwd, env, home, additionalDirectories, waitMs, toolMs, onDebug } = settings;
  const times = toolMs === undefined ? {} : { toolMs };
  if (config.type !== 'sdk') {
    return externalServer({
      ...{ name, config, cwd, env, clientVersion: VERSION, ...times },
      grants: grantsFolder(home),
      roots: () => [cwd, ...additionalDirectories()],
      ...(waitMs === undefined ? {} : { waitMs }),
      ...(onDebug ? { onDebug } : {}),
    });
  }
  const { instance } = config;
  return isServerInstance(instance)
    ? new InstanceServer({ ...{ name, instance, clientVersion: VERSION }, ...times })
    : absent(name);
}

/** The host's own server of which only the name has come. */
const absent = (name: string): MCPServerConnection => ({
  name,
  status: 'failed',
  error: 'it lives in the host, which has not connected it',
  tools: [],
  close: async () => {},
});

/** `undefined` where there is no file. */
function entriesOf(file: string): Entries {
  const text = readIfThere(file);
  if (text === undefined) return {};
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new UsageError(`${file}: not JSON (${(error as Error).message}): correct or remove it`);
  }
  const servers = isRecord(json) ? json.mcpServers : undefined;
  if (isRecord(servers)) return servers;
  throw new UsageError(`${file}: holds no "mcpServers" object: correct or remove it`);
}

function readIfThere(file: string): string | undefined {
  if (statsOf(file) && !isFile(file)) {
    throw new UsageError(`${file} is no file: remove it, or put the servers there`);
  }
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new UsageError(`${file}: cannot be read (${code}): make it readable or remove it`);
  }
  if (text.length <= FILE_BYTES_MAX) return text;
  throw new UsageError(`${file}: larger than ${FILE_BYTES_MAX} bytes: this lists no servers`);
}

function checked(name: string, entry: unknown, where: string, env: Environment): ServerConfig {
  if (name.trim() === '' || name.length > NAME_CHARS_MAX) {
    const quoted = JSON.stringify(name.slice(0, 40));
    throw new UsageError(
      `${where}: a server is named ${quoted}: use 1 to ${NAME_CHARS_MAX} characters`,
    );
  }
  const result = readServerConfig(entry, env);
  if (result.ok) return result.config;
  const place = [name, result.place].filter(Boolean).join('.');
  throw new UsageError(`${where}: ${place} ${result.why}`);
}
