/**
 * What an engine is given. The first half has the names of the original description of the engine;
 * the second half is what a host may want to replace beside it.
 */
import type { QueryLimits } from '../machines/limits.ts';
import type { TerminalReason } from '../machines/reasons.ts';
import type { Cursor, QueryState } from '../machines/state.ts';
import type { AgentDefinition } from '../services/agents/agent-definition.ts';
import type { HookCallbackMatcher } from '../services/hooks/callbacks.ts';
import type { HookEvent } from '../services/hooks/types.ts';
import type { Restored } from '../services/journal/restore.ts';
import type { JournalStore, JournalWriter } from '../services/journal/store.ts';
import type { HandleElicitation } from '../services/mcp/elicitation.ts';
import type { ResourceAccess } from '../services/mcp/resources.ts';
import type { ContentBlock, LogMessage } from '../services/messages.ts';
import type { ModelClient, ThinkingConfig } from '../services/model/types.ts';
import type { CanUseTool, ToolPermissionContext } from '../services/permissions/types.ts';
import type { PermissionUpdate } from '../services/permissions/updates.ts';
import type { Compact } from '../services/recovery/compact.ts';
import type { SandboxPolicy } from '../services/sandbox/sandbox.ts';
import type { Skill } from '../services/skills/load-skills.ts';
import type { Todo } from '../services/tools/todos.ts';
import type { Tool, ToolInput, ToolState } from '../services/tools/tool.ts';
import type { QueryDeps } from './deps.ts';
import type { Refreshed } from './settings-refresh.ts';
import type { SDKMessage } from './wire.ts';

/** Belongs to the host: read by `getAppState` at each use, written by `setAppState`. */
export interface AppState {
  readonly toolPermissionContext: ToolPermissionContext;
  /** The plan of the model, as TodoWrite has left it: for a host to show. */
  readonly todos: readonly Todo[];
}

/** A server of tools, connected or not. Its tools are part of what the model is offered. */
export interface MCPServerConnection {
  readonly name: string;
  readonly status: 'connected' | 'failed' | 'pending' | 'needs-auth' | 'disabled';
  readonly error?: string | undefined;
  readonly tools: readonly Tool[];
  /** Its prompts, as slash commands. */
  readonly commands?: readonly Command[];
  /** Present while it offers resources. */
  readonly resources?: ResourceAccess | undefined;
  /**
   * Begins to connect. *Contract:* never rejects; resolves when it is known what the server offers,
   * or when it was waited for long enough. Idempotent. The engine calls it when it is made, and
   * waits for it in each turn. Absent: it is connected, or will never be.
   */
  connect?(): Promise<void>;
  /** Tries again, whatever has happened before. *Contract:* never rejects. */
  reconnect?(): Promise<void>;
  /** Hears what people should know of it, from now on and what was not heard yet. */
  listen?(tell: (text: string) => void): void;
  /** Who answers what the server asks the person. The engine says so before it connects. */
  answerBy?(handle: HandleElicitation): void;
  close(): Promise<void>;
}

/** What a command that works on the conversation itself is given. */
export interface CommandContext {
  /** As a query would begin now. */
  readonly state: QueryState;
  readonly compact: Compact;
  /** Aborted by an interrupt. */
  readonly signal: AbortSignal;
}
export interface CommandOutcome {
  /** What stands from here on. */
  readonly history: Cursor;
  /** The result of the turn. */
  readonly text: string;
  readonly reason: TerminalReason;
  /** What went wrong, when the reason is an error. */
  readonly error?: string;
}
/** What people are shown of a command. */
interface CommandFace {
  readonly name: string;
  readonly description: string;
  /** What may be said behind its name: `<issue> [branch]`. */
  readonly argumentHint?: string;
}
/** Works on the conversation, and may ask the model. Speaks to the host while it works. */
export interface SessionCommand extends CommandFace {
  readonly type: 'session';
  /** *Contract:* never throws; on an abort history is what it was. */
  readonly run: (argument: string, context: CommandContext) => Promise<CommandOutcome>;
}

/** A slash command. `local` ones answer without the model, `prompt` ones become a prompt. */
export type Command =
  | SessionCommand
  | (CommandFace & {
      readonly type: 'local';
      /** *Contract:* obeys the signal; one that does not is not waited for. `COMMAND_MS` at most. */
      readonly run: (argument: string, signal: AbortSignal) => Promise<string>;
    })
  | (CommandFace & {
      readonly type: 'prompt';
      /** *Contract:* the same. */
      readonly expand: (argument: string, signal: AbortSignal) => Promise<string>;
    });

export type { AgentDefinition };

/** The answer to a question that a process asked before it died. */
export interface OrphanedPermission {
  readonly toolUseId: string;
  readonly decision:
    | { readonly behavior: 'allow'; readonly updatedInput?: ToolInput }
    | { readonly behavior: 'deny'; readonly message: string };
}

/** A session that is gone on with, as `src/resume.ts` opens it. */
export interface ResumedSession {
  readonly restored: Restored;
  /** Held since before it was read. Absent for a fork, which has a file of its own. */
  readonly writer?: JournalWriter;
  /** Goes on under another id; the old session stays as it is. */
  readonly forkedFrom?: string;
  /** Long results of the old session, which the new one may still read. */
  readonly resultFolders: readonly string[];
  /** Goes on after an earlier message: what came after it is another branch. */
  readonly isRewound: boolean;
}

/** A call that was begun by a process that is dead: nobody knows what it has done. */
export interface UnknownCall {
  readonly toolUseId: string;
  readonly name: string;
  readonly input: ToolInput;
}
/**
 * What becomes of such a call. `ask`: the one who answers permission questions says whether it is
 * run again. A function decides by itself; when its signal aborts it is not waited for any more.
 */
export type OnUnknownOutcome =
  | 'tell_model'
  | 'run_again'
  | 'ask'
  | ((
      call: UnknownCall,
      options: { readonly signal: AbortSignal },
    ) => Promise<'tell_model' | 'run_again'>);

/** What the host may show in a status line. */
export type SDKStatus = 'compacting' | 'requesting' | null;

/** Run-time gates; they are read once for each query. Defaults stand in `defaultGates`. */
export interface Gates {
  /** Calls start while the answer still streams. Off: after it. */
  readonly streamingToolExecution: boolean;
  readonly toolResultBudget: boolean;
  readonly microcompact: boolean;
  /** The API clears old results itself, where it can: a mode of `microcompact`. */
  readonly cachedMicrocompact: boolean;
  readonly contextCollapse: boolean;
  readonly autocompact: boolean;
  readonly reactiveCompact: boolean;
  readonly emitToolUseSummaries: boolean;
  readonly fastModeEnabled: boolean;
  readonly stripSignatures: boolean;
}
export const defaultGates: Gates = {
  streamingToolExecution: true,
  toolResultBudget: true,
  microcompact: true,
  cachedMicrocompact: false,
  contextCollapse: false,
  autocompact: true,
  reactiveCompact: true,
  emitToolUseSummaries: false,
  fastModeEnabled: false,
  stripSignatures: true,
};

/** Taken once when a query begins, and frozen: nothing in it changes under a running query. */
export interface QueryConfig {
  readonly sessionId: string;
  readonly gates: Gates;
}
export const snapshotQueryConfig = (sessionId: string, gates: Partial<Gates> = {}): QueryConfig =>
  Object.freeze({ sessionId, gates: Object.freeze({ ...defaultGates, ...gates }) });

export type { HookCallbackMatcher };

/** The `hooks` of one settings file, as it was read. */
export interface HookSettings {
  readonly source: 'managed' | 'user' | 'project' | 'local' | 'flag' | 'plugin';
  readonly file: string;
  readonly hooks: unknown;
  /** On top of the environment of every hook. */
  readonly env?: Readonly<Record<string, string>>;
}

/** How to reach a model. Nothing here is read from the environment by the services. */
export interface ModelAccess {
  readonly client?: ModelClient;
  readonly apiKey?: string;
  readonly authToken?: string;
  readonly baseURL?: string;
  readonly fetch?: typeof fetch;
  readonly defaultHeaders?: Readonly<Record<string, string>>;
  /** No bytes for so long: stalled. 0: never. */
  readonly idleMs?: number;
  /** Until the headers of an answer, for each try. Default: 120 s. */
  readonly headersMs?: number;
  /** Nothing but pings for so long: stalled. Default: 300 s. */
  readonly quietMs?: number;
}

export interface QueryEngineConfig {
  /** Absolute. A value: the process's own working folder never changes. */
  readonly cwd: string;
  readonly tools: readonly Tool[];
  readonly commands: readonly Command[];
  readonly mcpClients: readonly MCPServerConnection[];
  readonly agents: readonly AgentDefinition[];
  /** Asked when rules and mode leave a call open. Without it such a call is denied. */
  readonly canUseTool?: CanUseTool;
  readonly getAppState: () => AppState;
  readonly setAppState: (change: (previous: AppState) => AppState) => void;
  readonly initialMessages?: readonly LogMessage[];
  /** What the tools remember of the session, read files first of all. */
  readonly readFileCache: ToolState;
  readonly customSystemPrompt?: string;
  readonly appendSystemPrompt?: string;
  readonly userSpecifiedModel?: string;
  readonly fallbackModel?: string;
  readonly thinkingConfig?: ThinkingConfig;
  readonly maxTurns?: number;
  readonly maxBudgetUsd?: number;
  readonly taskBudget?: { readonly total: number };
  readonly jsonSchema?: Readonly<Record<string, unknown>>;
  /** Tells the host, too, what each request holds and why each call may run (level `info`). */
  readonly verbose?: boolean;
  readonly replayUserMessages?: boolean;
  /** A server of tools asks the person something. Absent: servers know that nobody answers. */
  readonly handleElicitation?: HandleElicitation;
  readonly includePartialMessages?: boolean;
  readonly setSDKStatus?: (status: SDKStatus) => void;
  readonly abortController?: AbortController;
  readonly orphanedPermission?: OrphanedPermission;
  readonly snipReplay?: (
    boundary: SDKMessage,
    store: readonly LogMessage[],
  ) => { readonly messages: readonly LogMessage[]; readonly executed: boolean } | undefined;

  // ── beside the seed ──
  readonly model: ModelAccess;
  /** For summaries in the background. Default: the newest Haiku, where the server has it. */
  readonly smallModel?: string;
  readonly sessionId?: string;
  readonly resumed?: ResumedSession;
  /** Where sessions are kept. Default: files below `home`. */
  readonly journal?: JournalStore;
  /** Default: `tell_model`. */
  readonly onUnknownOutcome?: OnUnknownOutcome;
  /** `$ESCAPEMENT_HOME`: transcripts, results that were too long. */
  readonly home: string;
  /** Environment of child processes: shells, hooks, MCP servers. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly gates?: Partial<Gates>;
  readonly limits?: Partial<QueryLimits>;
  readonly deps?: Partial<QueryDeps>;
  readonly hookCallbacks?: Partial<Record<HookEvent, readonly HookCallbackMatcher[]>>;
  readonly hookSettings?: readonly HookSettings[];
  readonly includeHookEvents?: boolean;
  /** Output tokens for which a turn goes on; the same as a trailing `+2k` in the prompt. */
  readonly tokenBudget?: number;
  readonly maxDurationMs?: number;
  /** `max_tokens` of every request; then there is no escalation. */
  readonly maxOutputTokens?: number;
  /** Window in tokens for proactive compaction, when it is to be smaller than the model's. */
  readonly autoCompactWindow?: number;
  /** Above so many messages the oldest turns are dropped, without a summary. */
  readonly historySnip?: { readonly maxMessages: number };
  readonly persistSession?: boolean;
  /** Scripted calls: no waiting for the disk, no memory files. */
  readonly bare?: boolean;
  /** Instructions of the user and the project (CLAUDE.md, AGENTS.md), in order. */
  readonly memory?: readonly string[];
  /** Real paths of the files in `memory`: they are not read again when the work comes to them. */
  readonly memoryPaths?: readonly string[];
  /** Instructions of parts of the project are read when the work comes there. Default: no. */
  readonly readsNested?: boolean;
  /** Instructions for kinds of work, of which the model sees one line each. */
  readonly skills?: readonly Skill[];
  /** Offered from the first skill on that is found by the work; with `skills` it is there already. */
  readonly skillTool?: Tool;
  /** What was found odd while the options were read: told with the first turn. */
  readonly startWarnings?: readonly string[];
  /** A look at the settings files before each turn: a change may tighten, never loosen. */
  readonly refreshSettings?: () => Promise<Refreshed>;
  /** Keeps answers whose destination is a settings file. @returns what was not kept, and why. */
  readonly savePermissions?: (updates: readonly PermissionUpdate[]) => Promise<readonly string[]>;
  /** The fence around shell commands. */
  readonly sandbox?: SandboxPolicy;
}

export interface SubmitOptions {
  /** Of the prompt: exactly one result names it. */
  readonly uuid?: string;
  /** Not said by a person. */
  readonly isMeta?: boolean;
  /** Why this cannot be asked: the turn ends with a result that says so, and nobody is asked. */
  readonly fault?: string;
}
export type Prompt = string | readonly ContentBlock[];
