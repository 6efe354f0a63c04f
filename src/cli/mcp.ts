/** `escapement mcp login <name>`: a grant for a server over HTTP, asked of the person who sits here. */
import { realpathSync } from 'node:fs';
import { childEnvironment } from '../child-environment.ts';
import { engineHomeOf } from '../home-folders.ts';
import { configuredServers } from '../mcp-servers.ts';
import { nearMiss } from '../near-miss.ts';
import { grantsFolder } from '../own-folder.ts';
import { loadPlugins } from '../plugins.ts';
import { loadSettings, managedSettingsFile, merged } from '../settings.ts';
import { UsageError } from '../usage-error.ts';
import { VERSION } from '../version.ts';
import { pluginsOf, sourcesOf } from './args.ts';
import { type CliContext, exitCodes } from './context.ts';
import { type Flags, parseFlags } from './flags.ts';
import { readMcpConfig } from './mcp-config.ts';
import { watchSignals } from './signals.ts';

const usage = 'say escapement mcp login <name> or escapement mcp logout <name> [--mcp-config …]';

const help = `Usage: escapement mcp login <name> [--mcp-config <files-or-json...>] [--trust]
       escapement mcp logout <name> [--mcp-config <files-or-json...>] [--trust]

login asks you, in a browser, for what a server of tools over HTTP wants granted, and keeps it for
the sessions from now on. logout forgets it here; take it back at the server, too.

  --mcp-config <files-or-json...>   where the server is named
  --plugin-dir <folders...>         plugins that bring servers
  --trust                           reads .mcp.json and the settings of this folder, too
  --setting-sources <sources>       which settings files count, as in a run: user,project,local
  --strict-mcp-config               only the servers of --mcp-config
  -h, --help                        print this help
`;

/** @returns the exit code. @throws UsageError before anything is asked. */
export async function runMcp(argv: readonly string[], context: CliContext): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    await context.out.writeText(help);
    return exitCodes.good;
  }
  const [action, ...rest] = argv;
  if (action !== 'login' && action !== 'logout') throw new UsageError(`mcp: ${usage}`);
  const { flags, words } = parseFlags(rest);
  const [name, ...more] = words;
  if (name === undefined || more.length > 0) throw new UsageError(`mcp ${action}: ${usage}`);
  const home = engineHomeOf(context.environment);
  const servers = await serversOf(flags, home, context);
  const server = servers.get(name);
  if (!server) throw new UsageError(`mcp ${action}: ${unknown(name, [...servers.keys()])}`);
  if (server.type !== 'http') {
    throw new UsageError(`mcp ${action}: ${name} is a program of this machine: it has no login`);
  }
  await context.out.writeText(`${name} is at ${JSON.stringify(server.url)}\n`);
  const folder = grantsFolder(home);
  return action === 'login'
    ? login(name, { server, folder, clientVersion: VERSION }, context)
    : logout(name, server.url, folder, context);
}

/** The servers that a run with these flags would have, at the addresses that it would ask. */
async function serversOf(flags: Flags, home: string, { cwd: folder, environment }: CliContext) {
  const cwd = realpathSync(folder);
  const sources = sourcesOf(flags) ?? ['user'];
  const { settings: flag, strictMcpConfig: isStrict = false } = flags;
  const place = { cwd, home, sources, managedFile: managedSettingsFile };
  const { env } = merged(await loadSettings({ ...place, ...(flag === undefined ? {} : { flag }) }));
  const { plugins = [] } = pluginsOf(flags);
  return configuredServers({
    ...{ cwd, env: childEnvironment(environment, { bySettings: env }) },
    configured: await readMcpConfig(flags.mcpConfig ?? [], cwd),
    readsProject: sources.includes('project') && !isStrict,
    plugins: isStrict ? [] : await loadPlugins(plugins, cwd),
  });
}

function unknown(name: string, known: readonly string[]): string {
  const meant = nearMiss(name, known);
  const hint = meant ? `did you mean ${meant}?` : `there are: ${known.join(', ') || 'none'}`;
  return `there is no server ${name} in --mcp-config (and .mcp.json, which --trust reads): ${hint}`;
}

async function login(
  name: string,
  place: Pick<
    Parameters<typeof import('../../services/mcp/authorize-server.ts').authorizeServer>[0],
    'server' | 'folder' | 'clientVersion'
  >,
  { out, warn }: CliContext,
): Promise<number> {
  const { authorizeServer } = await import('../../services/mcp/authorize-server.ts');
  const ending = new AbortController();
  const watch = watchSignals(() => ending.abort());
  const end = await authorizeServer({
    ...place,
    signal: ending.signal,
    show: (address) => void out.writeText(`Open this address in a browser:\n${address.href}\n`),
    exchanging: () => warn('exchanging the code …'),
  });
  switch (end.kind) {
    case 'granted':
      await out.writeText(`${name} has granted it: sessions use it from now on.\n`);
      return exitCodes.good;
    case 'notNeeded':
      await out.writeText(`${name} answers without a login, or with the one that is kept.\n`);
      return exitCodes.good;
    case 'failed':
      warn(`mcp login: ${name}: ${end.why}`);
      return watch.exitCode ?? exitCodes.failed;
  }
}

async function logout(
  name: string,
  url: string,
  folder: string,
  { out }: CliContext,
): Promise<number> {
  const { GrantFile } = await import('../../services/mcp/grant-file.ts');
  const was = await new GrantFile(folder, url).forget();
  const text = was
    ? `What ${name} had granted is forgotten here; the server itself was not told, and may still hold it.`
    : `${name} had granted nothing.`;
  await out.writeText(`${text}\n`);
  return exitCodes.good;
}
