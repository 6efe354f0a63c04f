/**
 * What an engine keeps from turn to turn. The nine pieces of state of the original description
 * stand first; after them what a real process adds, and what belongs to the turn that runs.
 */
import { randomUUID } from 'node:crypto';
import type { InspectionEvent } from 'xstate';
import type { Cursor } from '../machines/state.ts';
import type { Restored } from '../services/journal/restore.ts';
import { foundIn } from '../services/mcp/tool-search.ts';
import type { LogMessage } from '../services/messages.ts';
import type { UsageMeter } from '../services/model/usage.ts';
import type { PermissionDenial } from '../services/permissions/types.ts';
import { laterSkillTool } from '../services/skills/found-skills.ts';
import { todosOf } from '../services/tools/todos.ts';
import type { Tool, ToolState } from '../services/tools/tool.ts';
import { checkConfig } from './check-config.ts';
import { allCommands } from './commands.ts';
import { type QueryConfig, type QueryEngineConfig, snapshotQueryConfig } from './config.ts';
import { refuseConfigLeftOut } from './left-out.ts';
import { type OfferedServers, offeredServers } from './offered-servers.ts';
import { openSession } from './open-session.ts';
import { unfolded } from './originals.ts';
import type { QueryScope } from './query-scope.ts';
import { beginHistory } from './reading.ts';
import type { Session } from './session.ts';
import { type SessionServices, sessionServices } from './session-services.ts';
import { Subagents } from './subagents.ts';
import { systemToWire } from './to-wire.ts';
import type { Turn } from './turn.ts';
import { UsageError } from './usage-error.ts';
import { VERSION } from './version.ts';
import type { SDKMessage } from './wire.ts';

/** *Contract:* written by the steps of a turn and by the verbs of the engine, by nobody else. */
export class EngineState {
  readonly config: QueryEngineConfig;
  /** `mutableMessages`: a place in the log of the session, where nothing is ever changed. */
  history: Cursor;
  /** A new one for each turn. */
  abortController = new AbortController();
  /** Of the session, oldest first. */
  readonly permissionDenials: PermissionDenial[] = [];
  readonly totalUsage: UsageMeter;
  hasHandledOrphanedPermission = false;
  readonly readFileState: ToolState;
  /** Of the turn that runs, or of the last one. */
  readonly discoveredSkillNames: Set<string>;
  /** Read once; again after a summary, which does not keep them. */
  readonly loadedNestedMemoryPaths: Set<string>;

  // ── beside the seed ──

  /** What the services of all turns share. */
  readonly session: Session;
  readonly servers: OfferedServers;
  readonly agents: Subagents;
  /** Warnings that came while no turn could show them. */
  readonly untold: string[];
  /** Said once: what the journal had to do to go on. */
  hasOpenedJournal = false;
  /** What a dead process has left, until the first turn takes it up. */
  left: Restored | undefined;
  /** The last turn has left its open calls to the host. */
  isDeferred: boolean;
  /** It is given up, or being given up: its file may belong to another process by now. */
  isClosed = false;
  /** An observer of everything that the chart does. */
  inspect: ((event: InspectionEvent) => void) | undefined;
  #services: SessionServices | undefined;

  // ── of the turn that runs ──

  turn: Turn | undefined;
  /** The way to the host, from the first thing on that runs for the turn. */
  scope: QueryScope | undefined;
  turnTools: readonly Tool[] = [];
  /** Set while somebody waits for its end. */
  onTurnEnd = () => {};
  /** Listens while a turn runs. */
  readonly onHostAbort = () => {
    const reason: unknown = this.config.abortController?.signal.reason;
    if (typeof reason === 'string') this.turn?.errors.push(`Interrupted: ${reason}`);
    this.interrupt();
  };

  constructor(config: QueryEngineConfig) {
    refuseConfigLeftOut(config);
    checkConfig(config);
    const { resumed, sessionId = randomUUID() } = config;
    this.config = config;
    this.untold = [...(config.startWarnings ?? [])];
    this.session = openSession(config, sessionId, VERSION, {
      tools: () => this.#tools(),
      commands: () => allCommands(config.commands, this.servers.commands()),
    });
    this.totalUsage = this.session.usage;
    this.readFileState = this.session.toolState;
    this.discoveredSkillNames = this.session.discoveredSkillNames;
    this.loadedNestedMemoryPaths = this.session.loadedNestedMemoryPaths;
    this.agents = new Subagents(this.session, () => this.scope);
    todosOf(this.readFileState).onChange = (todos) =>
      config.setAppState((previous) => ({ ...previous, todos }));
    this.session.watch.onBroken = (text) => this.tell(text);
    this.left = resumed?.isRewound ? undefined : resumed?.restored;
    this.isDeferred = this.left?.isDeferred ?? false;
    const initial = resumed?.restored.messages ?? config.initialMessages ?? [];
    this.history = beginHistory(this.session);
    this.servers = offeredServers(
      config.mcpClients,
      (text) => this.tell(text),
      config.handleElicitation,
      foundIn(initial),
    );
  }

  /** What stands, oldest first. */
  get messages(): readonly LogMessage[] {
    return unfolded(this.session, this.session.log.at(this.history.head));
  }

  /** Made with the first query: they look at what the host has set until then. */
  get services(): SessionServices {
    this.#services ??= sessionServices(this.session, () => this.scope);
    return this.#services;
  }

  /** Taken anew for each query, and frozen. */
  queryConfig(): QueryConfig {
    return snapshotQueryConfig(this.session.id, this.config.gates);
  }

  /** @throws UsageError when it is closed: what was done now would be written nowhere. */
  mustBeOpen(): void {
    if (!this.isClosed) return;
    throw new UsageError(
      `session ${this.session.id} is closed: go on with it in a new engine (resume)`,
    );
  }

  /** Stops the turn that runs; its result says `aborted_*`. Without a turn nothing happens. */
  interrupt(): void {
    if (this.turn) this.abortController.abort();
  }

  /** At once while a turn shows what happens, else with the next turn. */
  tell(text: string): void {
    if (this.scope) this.scope.warn(text);
    else this.untold.push(text);
  }

  /** What `tell` would say, for a turn that has no way to the host yet. */
  warning(content: string): SDKMessage {
    const word = { subtype: 'informational', level: 'warning', content } as const;
    return systemToWire(word, this.session.uuid(), this.session.id);
  }

  #tools(): readonly Tool[] {
    return [
      ...this.config.tools,
      ...this.servers.tools(),
      ...laterSkillTool(this.config),
      ...this.turnTools,
    ];
  }
}
