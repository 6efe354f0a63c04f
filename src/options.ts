/**
 * The only map from the option names of the official Agent SDK to the engine's configuration. The
 * CLI's flags and the library's `query()` both come through here.
 */
import { resolve } from 'node:path';
import { mergedAgents } from '../services/agents/agent-definition.ts';
import { HISTORY_SNIP } from '../services/features.ts';
import { modelFacts } from '../services/model/model-table.ts';
import type { ToolPermissionContext } from '../services/permissions/types.ts';
import type { PermissionUpdate } from '../services/permissions/updates.ts';
import { checkOptions } from './check-options.ts';
import { childEnvironment } from './child-environment.ts';
import type { AppState, QueryEngineConfig } from './config.ts';
import { engineHomeOf, userHomeOf } from './home-folders.ts';
import { type InstructionPlace, loadInstructions } from './instructions.ts';
import { offeredTools } from './offered-tools.ts';
import { type Environment, fieldsOf, modelsOf } from './option-fields.ts';
import type { Options } from './option-types.ts';
import { permissionContext } from './permission-context.ts';
import { type LoadedPlugin, loadPlugins } from './plugins.ts';
import { QueryEngine } from './query-engine.ts';
import { realFolder, workingFolder } from './real-folder.ts';
import { openRequested } from './resume.ts';
import { sandboxPolicy } from './sandbox-policy.ts';
import { savePermissions } from './save-permissions.ts';
import { connectionsOf } from './server-connections.ts';
import { SessionToolState } from './session.ts';
import {
  type LoadedSettings,
  loadSettings,
  managedSettingsFile,
  merged,
  type Settings,
  type SettingsPlace,
} from './settings.ts';
import { watchSettings } from './settings-refresh.ts';
import { replaySnip } from './snip-replay.ts';
import { isFolder, mayBeFolder } from './stats-of.ts';
import { checkOutputSchema } from './structured-output.ts';
import { UsageError } from './usage-error.ts';

export type { Options };

/**
 * Reads settings and environment as far as the options say, checks everything, and makes an engine.
 * Writes nothing and asks no network.
 * @param environment `process.env` of the host; the names that are read stand in
 * `docs/environment.md`. Options and settings win over it.
 * @param machine where an administrator's settings are; for tests.
 * @throws UsageError with cause and remedy in one line.
 */
export async function engineFromOptions(
  options: Options,
  environment: Environment,
  machine?: { readonly managedFile?: string },
): Promise<QueryEngine> {
  const config = await configFromOptions(options, environment, machine);
  // Last of all: from here on a session may be held, and only the engine gives it up again.
  const { home, cwd, journal: store } = config;
  const opened = await openRequested(options, { home, cwd, store });
  try {
    return new QueryEngine({ ...config, ...opened });
  } catch (error) {
    await opened.resumed?.writer?.close(); // or the next try would find it in use by ourselves
    throw error;
  }
}

/** The same, one step before: for hosts that set what has no option (bounds, gates, services). */
export async function configFromOptions(
  options: Options,
  environment: Environment,
  machine: { readonly managedFile?: string } = { managedFile: managedSettingsFile },
): Promise<QueryEngineConfig> {
  const odd = checkOptions(options);
  const place = placeOf(options, environment, machine);
  const { cwd, home, sources } = place;
  const userHome = userHomeOf(environment);
  const loaded = await loadSettings(place);
  const settings = merged(loaded);
  const models = modelsOf(options, settings, environment);
  refuseBudgetWithoutPrice(options, models.userSpecifiedModel);
  const fields = fieldsOf(options, settings, environment);
  if (options.outputFormat) await checkOutputSchema(options.outputFormat.schema);
  const permissions = permissionContext(options, loaded, cwd);
  const appState = heldAppState(permissions);
  const plugins = await loadPlugins(options.plugins ?? [], cwd);
  const written = await instructionsOf(options, { cwd, home, userHome, sources, plugins });
  const env = childEnvironment(environment, { byHost: options.env, bySettings: settings.env });
  const readsProject = sources.includes('project');
  return {
    ...{ ...fields, ...models, ...appState, cwd, home, env },
    ...guardsOf(place, loaded, settings, userHome),
    ...(await offeredTools(options, {
      ...{ agents: written.agents, skills: written.skills },
      insideHosts: (options.webFetchInsideHosts ?? []).map((host) => host.toLowerCase()),
    })),
    ...written,
    mcpClients: await connectionsOf(options, environment, {
      ...{ cwd, env, home, plugins, readsProject },
      additionalDirectories: () =>
        appState.getAppState().toolPermissionContext.additionalDirectories,
    }),
    ...(HISTORY_SNIP ? { snipReplay: replaySnip } : {}),
    readFileCache: new SessionToolState(),
    hookSettings: hooksOf(loaded, plugins),
    readsNested: readsProject && !options.bare,
    startWarnings: [
      ...odd,
      ...loaded.flatMap(({ warnings }) => warnings),
      ...missingFolders(permissions.additionalDirectories),
    ],
  };
}

/** @throws UsageError for a working folder that there is not. */
function placeOf(
  options: Options,
  environment: Environment,
  machine: { readonly managedFile?: string },
): SettingsPlace {
  const { settingSources, settings, customTools = [], mcpClients = [] } = options;
  return {
    ...machine,
    hostTools: [...customTools, ...mcpClients.flatMap(({ tools }) => tools)].flatMap(
      ({ name }) => (typeof name === 'string' ? [name] : []), // what is odd is said by whoever offers
    ),
    cwd: folderNamed(options.cwd ?? workingFolder()),
    home: engineHomeNamed(environment),
    sources: settingSources ?? ['user'],
    // Nobody has said whether this folder is trusted: what it forbids counts all the same.
    guardsOnly: settingSources === undefined ? ['project', 'local'] : [],
    ...(settings === undefined ? {} : { flag: settings }),
  };
}

/** For a host that keeps none of its own. */
function heldAppState(
  toolPermissionContext: ToolPermissionContext,
): Pick<QueryEngineConfig, 'getAppState' | 'setAppState'> {
  let appState: AppState = { toolPermissionContext, todos: [] };
  return {
    getAppState: () => appState,
    setAppState: (change) => {
      appState = change(appState);
    },
  };
}

/** What people have written down. Bare: nothing that was not asked for by name. */
async function instructionsOf({ agents = {}, bare }: Options, place: InstructionPlace) {
  const written = await loadInstructions({ ...place, sources: bare ? [] : place.sources });
  const given = Object.entries(agents).map(([name, agent]) => ({ name, ...agent }));
  return { ...written, agents: mergedAgents(written.agents, given) };
}

const hooksOf = (
  loaded: readonly LoadedSettings[],
  plugins: readonly LoadedPlugin[],
): NonNullable<QueryEngineConfig['hookSettings']> => [
  ...loaded.flatMap(({ source, file, settings: { hooks } }) =>
    hooks === undefined ? [] : [{ source, file, hooks }],
  ),
  ...plugins.flatMap(({ hooks }) => hooks),
];

/** A bound that cannot be held must not look like one. */
function refuseBudgetWithoutPrice({ maxBudgetUsd }: Options, model: string): void {
  if (maxBudgetUsd === undefined || modelFacts(model).price !== null) return;
  throw new UsageError(
    `maxBudgetUsd: the price of ${model} is not known, so the budget could not be held: ` +
      'bound the work by maxTurns or maxDurationMs instead',
  );
}

/** @throws UsageError for a place that cannot be a folder; it is made when something is written. */
function engineHomeNamed(environment: Environment): string {
  const home = engineHomeOf(environment);
  if (mayBeFolder(resolve(home))) return home;
  throw new UsageError(`ESCAPEMENT_HOME: ${home} is no folder: name one, or a place for one`);
}

function folderNamed(cwd: string): string {
  const folder = realFolder(cwd);
  if (isFolder(folder)) return folder;
  throw new UsageError(`working folder ${folder} does not exist or is no folder`);
}

/** They may still be made; but a slip in a path should not look like an open folder. */
const missingFolders = (folders: readonly string[]): readonly string[] =>
  folders
    .filter((folder) => !isFolder(folder))
    .map((folder) => `additional folder ${folder} does not exist or is no folder: check the path`);

/** What watches over a session while it runs: its settings, its fence, what is kept of answers. */
function guardsOf(
  place: SettingsPlace,
  loaded: readonly LoadedSettings[],
  { sandbox }: Settings,
  userHome: string,
) {
  const { cwd, home, sources } = place;
  const policy = sandboxPolicy(sandbox, { cwd, home, userHome });
  return {
    refreshSettings: watchSettings(place, loaded),
    savePermissions: (updates: readonly PermissionUpdate[]) =>
      savePermissions(updates, { cwd, home, sources }),
    ...(policy ? { sandbox: policy } : {}),
  };
}
