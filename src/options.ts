/**
 * The only map from the option names of the official Agent SDK to the engine's configuration. The
 * CLI's flags and the library's `query()` both come through here.
 */
import { statSync } from 'node:fs';
import { type AgentDefinition, mergedAgents } from '../services/agents/agent-definition.ts';
import { HISTORY_SNIP } from '../services/features.ts';
import type { HookCallbackMatcher } from '../services/hooks/callbacks.ts';
import type { HookEvent } from '../services/hooks/types.ts';
import type { JournalStore } from '../services/journal/store.ts';
import type {
  ElicitationAnswer,
  ElicitationQuestion,
  HandleElicitation,
} from '../services/mcp/elicitation.ts';
import { modelFacts } from '../services/model/model-table.ts';
import type { ModelClient, ThinkingConfig } from '../services/model/types.ts';
import type { CanUseTool, PermissionMode } from '../services/permissions/types.ts';
import type { PermissionUpdate } from '../services/permissions/updates.ts';
import type { BuiltInParts } from '../services/tools/built-in.ts';
import type { Tool } from '../services/tools/tool.ts';
import { childEnvironment } from './child-environment.ts';
import type {
  AppState,
  Gates,
  MCPServerConnection,
  OnUnknownOutcome,
  OrphanedPermission,
  QueryEngineConfig,
  SDKStatus,
} from './config.ts';
import { engineHomeOf, userHomeOf } from './home-folders.ts';
import { loadInstructions } from './instructions.ts';
import { refuseWhatIsLeftOut } from './left-out.ts';
import type { ServerSettings } from './mcp-servers.ts';
import { modelAccess, modelNamed, numberFrom } from './model-access.ts';
import { nearMiss } from './near-miss.ts';
import { permissionContext } from './permission-context.ts';
import { type LoadedPlugin, loadPlugins, type Plugin } from './plugins.ts';
import { QueryEngine } from './query-engine.ts';
import { realFolder } from './real-folder.ts';
import { openRequested } from './resume.ts';
import { sandboxPolicy } from './sandbox-policy.ts';
import { savePermissions } from './save-permissions.ts';
import { SessionToolState } from './session.ts';
import {
  type LoadedSettings,
  loadSettings,
  managedSettingsFile,
  merged,
  type SettingSource,
  type Settings,
  type SettingsPlace,
} from './settings.ts';
import { watchSettings } from './settings-refresh.ts';
import { replaySnip } from './snip-replay.ts';
import { checkOutputSchema } from './structured-output.ts';
import { UsageError } from './usage-error.ts';

/** Options with the official SDK's names and meanings; what is ours stands at the end. */
export interface Options {
  readonly abortController?: AbortController;
  readonly additionalDirectories?: readonly string[];
  readonly agents?: Readonly<Record<string, Omit<AgentDefinition, 'name'>>>;
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  /** Built-in tools that are offered: names, or the preset. Empty: none. */
  readonly tools?: readonly string[] | { readonly type: 'preset'; readonly preset: string };
  readonly canUseTool?: CanUseTool;
  readonly continue?: boolean;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly fallbackModel?: string;
  readonly forkSession?: boolean;
  readonly hooks?: Partial<Record<HookEvent, readonly HookCallbackMatcher[]>>;
  readonly includeHookEvents?: boolean;
  readonly includePartialMessages?: boolean;
  readonly maxBudgetUsd?: number;
  readonly maxThinkingTokens?: number;
  readonly maxTurns?: number;
  /** Servers of tools that are already connected (the CLI connects those of the control protocol). */
  readonly mcpClients?: readonly MCPServerConnection[];
  /**
   * Servers by name: `{command, args?, env?}`, `{type: 'http', url, headers?}`, or
   * `{type: 'sdk', instance}`. Those of the project's `.mcp.json` come with the setting source
   * `project`; one of the same name here wins.
   */
  readonly mcpServers?: Readonly<Record<string, unknown>>;
  /** Only `mcpServers` count, never `.mcp.json`. */
  readonly strictMcpConfig?: boolean;
  /** A server of tools asks the person something. Without it servers are told that nobody answers. */
  readonly onElicitation?: (
    question: ElicitationQuestion,
    options: { readonly signal: AbortSignal },
  ) => Promise<ElicitationAnswer>;
  /** What child processes of servers print on stderr, bounded; for finding faults. */
  readonly stderr?: (text: string) => void;
  readonly model?: string;
  readonly outputFormat?: {
    readonly type: 'json_schema';
    readonly schema: Readonly<Record<string, unknown>>;
  };
  readonly permissionMode?: PermissionMode;
  /** Folders with commands, agents, skills, hooks and servers of tools. Naming one lets it act. */
  readonly plugins?: readonly Plugin[];
  readonly allowDangerouslySkipPermissions?: boolean;
  readonly persistSession?: boolean;
  readonly replayUserMessages?: boolean;
  readonly resume?: string;
  readonly resumeSessionAt?: string;
  readonly sessionId?: string;
  readonly settingSources?: readonly SettingSource[];
  /** A path, a JSON text, or the settings themselves. */
  readonly settings?: string | Readonly<Record<string, unknown>>;
  readonly systemPrompt?:
    | string
    | { readonly type: 'preset'; readonly preset: string; readonly append?: string };
  readonly appendSystemPrompt?: string;
  readonly taskBudget?: { readonly total: number };
  readonly thinking?: ThinkingConfig;
  /** Tells, too, what each request holds and why each call may run (`informational`, `info`). */
  readonly verbose?: boolean;

  // ── ours ──
  /** Anything with `messages.create`: Bedrock, Vertex, a gateway, a fake. */
  readonly client?: ModelClient;
  readonly fetch?: typeof fetch;
  readonly defaultHeaders?: Readonly<Record<string, string>>;
  readonly maxDurationMs?: number;
  readonly tokenBudget?: number;
  readonly maxOutputTokens?: number;
  /** Window in tokens for compaction, where it is to be smaller than the model's. */
  readonly autoCompactWindow?: number;
  /** Above so many messages the oldest turns are dropped, without a summary. */
  readonly historySnip?: { readonly maxMessages: number };
  /** Hosts inside of the machine or its network (`localhost`) that WebFetch may reach, too. */
  readonly webFetchInsideHosts?: readonly string[];
  readonly bare?: boolean;
  readonly onStatus?: (status: SDKStatus) => void;
  /** Where sessions are kept. Default: files below `$ESCAPEMENT_HOME`. */
  readonly journal?: JournalStore;
  /** What becomes of a call that ran when its process died. Default: the model is told. */
  readonly onUnknownOutcome?: OnUnknownOutcome;
  /** The answer to a question that a process asked before it died. */
  readonly orphanedPermission?: OrphanedPermission;
  /** A turn that was interrupted by a crash is ended first, with a result of its own. */
  readonly finishInterrupted?: boolean;
}

/** In-between: what a host may do with an engine is on the engine. */
type Environment = Readonly<Record<string, string | undefined>>;

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
  const cwd = folderNamed(options.cwd ?? process.cwd());
  const home = engineHomeNamed(environment);
  const sources = options.settingSources ?? ['user'];
  const place: SettingsPlace = {
    ...{ ...machine, cwd, home, sources },
    // Nobody has said whether this folder is trusted: what it forbids counts all the same.
    guardsOnly: options.settingSources === undefined ? ['project', 'local'] : [],
    ...(options.settings === undefined ? {} : { flag: options.settings }),
  };
  const loaded = await loadSettings(place);
  const settings = merged(loaded);
  const model = modelAccess(options, { ...environment, ...options.env });
  const env = childEnvironment(environment, { byHost: options.env, bySettings: settings.env });
  const userSpecifiedModel = modelNamed(
    options.model ?? settings.model ?? environment.ANTHROPIC_MODEL,
    model,
  );
  refuseBudgetWithoutPrice(options, userSpecifiedModel);
  refuseWhatIsLeftOut({ ...settings, ...askedFor(options) });
  if (options.outputFormat) await checkOutputSchema(options.outputFormat.schema);
  const permissions = permissionContext(options, loaded, cwd);
  const userHome = userHomeOf(environment);
  const plugins = await loadPlugins(options.plugins ?? [], cwd);
  // Bare: nothing that was not asked for by name.
  const read = options.bare ? [] : sources;
  const written = await loadInstructions({ cwd, home, userHome, sources: read, plugins });
  const given = Object.entries(options.agents ?? {}).map(([name, agent]) => ({ name, ...agent }));
  const agents = mergedAgents(written.agents, given);
  const mcpClients = await connectionsOf(options, environment, {
    ...{ cwd, env, home, plugins, readsProject: sources.includes('project') },
    additionalDirectories: () => appState.toolPermissionContext.additionalDirectories,
  });
  let appState: AppState = { toolPermissionContext: permissions, todos: [] };
  return {
    ...fieldsOf(options, settings),
    ...guardsOf(place, loaded, settings, userHome),
    cwd,
    home,
    env,
    model,
    userSpecifiedModel,
    ...(settings.smallModel === undefined
      ? {}
      : { smallModel: modelNamed(settings.smallModel, model) }),
    ...(options.fallbackModel === undefined
      ? {}
      : { fallbackModel: modelNamed(options.fallbackModel, model) }),
    ...(await builtInTools(options, {
      ...{ agents, skills: written.skills },
      insideHosts: (options.webFetchInsideHosts ?? []).map((host) => host.toLowerCase()),
    })),
    commands: written.commands,
    mcpClients,
    agents,
    getAppState: () => appState,
    setAppState: (change) => {
      appState = change(appState);
    },
    ...(HISTORY_SNIP ? { snipReplay: replaySnip } : {}),
    readFileCache: new SessionToolState(),
    gates: gatesFrom(settings),
    limits: limitsFrom(environment),
    hookSettings: [
      ...loaded.flatMap(({ source, file, settings: { hooks } }) =>
        hooks === undefined ? [] : [{ source, file, hooks }],
      ),
      ...plugins.flatMap(({ hooks }) => hooks),
    ],
    memory: written.memory,
    memoryPaths: written.memoryPaths,
    skills: written.skills,
    readsNested: sources.includes('project') && !options.bare,
    startWarnings: missingFolders(permissions.additionalDirectories),
    ...windowFrom(options, settings, environment),
  };
}

const askedFor = ({ historySnip, tokenBudget }: Options) => defined({ historySnip, tokenBudget });

/** A bound that cannot be held must not look like one. */
function refuseBudgetWithoutPrice({ maxBudgetUsd }: Options, model: string): void {
  if (maxBudgetUsd === undefined || modelFacts(model).price !== null) return;
  throw new UsageError(
    `maxBudgetUsd: the price of ${model} is not known, so the budget could not be held: ` +
      'bound the work by maxTurns or maxDurationMs instead',
  );
}

/** Those that are connected already, and those by configuration. Nothing is connected here. */
async function connectionsOf(
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

/** Options and settings that become fields of the same meaning. Options win. */
function fieldsOf(options: Options, settings: Settings) {
  const { systemPrompt } = options;
  const preset = typeof systemPrompt === 'object' ? systemPrompt : undefined;
  const thinking: ThinkingConfig | undefined =
    options.thinking ??
    (options.maxThinkingTokens === undefined
      ? undefined
      : options.maxThinkingTokens > 0
        ? { type: 'enabled', budgetTokens: options.maxThinkingTokens }
        : { type: 'disabled' });
  return defined({
    abortController: options.abortController,
    appendSystemPrompt: options.appendSystemPrompt ?? preset?.append,
    bare: options.bare,
    canUseTool: options.canUseTool,
    customSystemPrompt: typeof systemPrompt === 'string' ? systemPrompt : undefined,
    handleElicitation: elicitationBy(options.onElicitation),
    hookCallbacks: options.hooks,
    includeHookEvents: options.includeHookEvents,
    includePartialMessages: options.includePartialMessages,
    jsonSchema: options.outputFormat?.schema,
    maxBudgetUsd: options.maxBudgetUsd,
    maxDurationMs: options.maxDurationMs ?? settings.maxDurationMs,
    maxOutputTokens: options.maxOutputTokens ?? settings.maxOutputTokens,
    maxTurns: options.maxTurns,
    persistSession: options.persistSession,
    replayUserMessages: options.replayUserMessages,
    journal: options.journal,
    onUnknownOutcome: options.onUnknownOutcome,
    orphanedPermission: options.orphanedPermission,
    sessionId: options.sessionId,
    setSDKStatus: options.onStatus,
    taskBudget: options.taskBudget,
    thinkingConfig: thinking,
    tokenBudget: options.tokenBudget ?? settings.tokenBudget,
    verbose: options.verbose,
  });
}

const elicitationBy = (ask: Options['onElicitation']): HandleElicitation | undefined =>
  ask && ((question, signal) => ask(question, { signal }));

/** Without the fields that nobody gave. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** @throws UsageError for a place that cannot be a folder; it is made when something is written. */
function engineHomeNamed(environment: Environment): string {
  const home = engineHomeOf(environment);
  const stats = statSync(home, { throwIfNoEntry: false });
  if (!stats || stats.isDirectory()) return home;
  throw new UsageError(`ESCAPEMENT_HOME: ${home} is no folder: name one, or a place for one`);
}

function folderNamed(cwd: string): string {
  const folder = realFolder(cwd);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return folder;
  throw new UsageError(`working folder ${folder} does not exist or is no folder`);
}

/** They may still be made; but a slip in a path should not look like an open folder. */
const missingFolders = (folders: readonly string[]): readonly string[] =>
  folders
    .filter((folder) => !statSync(folder, { throwIfNoEntry: false })?.isDirectory())
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

/** The tools that are offered: those that are named, without those that are denied as a whole. */
async function builtInTools(
  options: Options,
  parts: BuiltInParts,
): Promise<Pick<QueryEngineConfig, 'tools' | 'skillTool'>> {
  const [{ builtInTools: all }, { skillTool: opens }] = await Promise.all([
    import('../services/tools/built-in.ts'),
    import('../services/skills/index.ts'),
  ]);
  const { tools: wanted } = options;
  const names = Array.isArray(wanted) ? new Set(wanted as readonly string[]) : undefined;
  if (names?.has('Agent')) names.add('Task'); // what newer clients call it
  refuseSlips(
    options,
    all(parts).map(({ name }) => name),
  );
  const isOffered = ({ name }: Tool): boolean =>
    (names?.has(name) ?? true) && !options.disallowedTools?.includes(name);
  const tools = all(parts).filter(isOffered);
  const later = opens([]);
  const isLater = isOffered(later) && tools.every(({ name }) => name !== later.name);
  return { tools, ...(isLater ? { skillTool: later } : {}) };
}

/**
 * `--disallowedTools Raed` would guard nothing. Names that are merely unknown pass: hosts name tools
 * of other versions, and servers bring theirs later.
 */
function refuseSlips({ tools, allowedTools, disallowedTools }: Options, known: readonly string[]) {
  const named = [
    ...(Array.isArray(tools) ? (tools as readonly string[]) : []),
    ...(allowedTools ?? []),
    ...(disallowedTools ?? []),
  ];
  for (const rule of named) {
    const name = rule.replace(/\([\s\S]*$/, '').trim();
    const meant = name.startsWith('mcp__') ? undefined : nearMiss(name, [...known, 'Agent']);
    if (meant === undefined) continue;
    throw new UsageError(`there is no tool "${name}": did you mean "${meant}"?`);
  }
}

const gatesFrom = (settings: Settings): Partial<Gates> =>
  defined({
    autocompact: settings.autoCompactEnabled,
    reactiveCompact: settings.reactiveCompactEnabled,
    cachedMicrocompact: settings.cachedMicrocompact,
    contextCollapse: settings.contextCollapse,
    emitToolUseSummaries: settings.emitToolUseSummaries,
  });

const limitsFrom = (environment: Environment) =>
  defined({
    retryBaseMs: numberFrom(environment, 'ESCAPEMENT_RETRY_BASE_MS'),
    retriesMax: numberFrom(environment, 'ESCAPEMENT_MAX_RETRIES'),
  });

const windowFrom = (options: Options, settings: Settings, environment: Environment) =>
  defined({
    autoCompactWindow:
      options.autoCompactWindow ??
      settings.autoCompactWindow ??
      (numberFrom(environment, 'ESCAPEMENT_AUTOCOMPACT_WINDOW') || undefined),
    historySnip: options.historySnip ?? settings.historySnip,
  });
