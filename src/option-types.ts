/**
 * What a host may say: types only. Each comment is a row of `docs/options.md`. What is checked of
 * each: `check-options.ts`; what becomes of it: `options.ts`.
 */
import type { AgentDefinition } from '../services/agents/agent-definition.ts';
import type { HookCallbackMatcher } from '../services/hooks/callbacks.ts';
import type { HookEvent } from '../services/hooks/types.ts';
import type { JournalStore } from '../services/journal/store.ts';
import type { ElicitationAnswer, ElicitationQuestion } from '../services/mcp/elicitation.ts';
import type { ModelClient, ThinkingConfig } from '../services/model/types.ts';
import type { CanUseTool, PermissionMode } from '../services/permissions/types.ts';
import type { Tool } from '../services/tools/tool.ts';
import type {
  MCPServerConnection,
  OnUnknownOutcome,
  OrphanedPermission,
  SDKStatus,
} from './config.ts';
import type { Plugin } from './plugins.ts';
import type { SettingSource } from './settings.ts';

/** Options with the official SDK's names and meanings; what is ours stands at the end. */
export interface Options {
  /** The host's own way to stop: an abort ends the turn that runs. Default: none. */
  readonly abortController?: AbortController;
  /** More folders that count as inside, absolute or relative to `cwd`. Default: none. */
  readonly additionalDirectories?: readonly string[];
  /** Agents that may be given work, by name. Default: `general-purpose` and `explore`. */
  readonly agents?: Readonly<Record<string, Omit<AgentDefinition, 'name'>>>;
  /** Calls that need no question: rules such as `Bash(npm test:*)`. Default: none. */
  readonly allowedTools?: readonly string[];
  /** Calls that are refused; a tool that is named as a whole is not offered. Default: none. */
  readonly disallowedTools?: readonly string[];
  /** Built-in tools that are offered: names, or the preset. Empty: none. Default: all. */
  readonly tools?: readonly string[] | { readonly type: 'preset'; readonly preset: string };
  /** Asked when rules and mode leave a call open. Default: such a call is denied. */
  readonly canUseTool?: CanUseTool;
  /** Goes on with the newest session of the folder. Default: `false`. */
  readonly continue?: boolean;
  /** Working folder of the session. Default: that of the process. */
  readonly cwd?: string;
  /** On top of the environment; `undefined` takes a variable away. Default: nothing. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Takes over when the model is overloaded. Default: none. */
  readonly fallbackModel?: string;
  /** A session that is resumed goes on under another id; the old one stays. Default: `false`. */
  readonly forkSession?: boolean;
  /** Functions of the host at the corners of the loop, by event. Default: none. */
  readonly hooks?: Partial<Record<HookEvent, readonly HookCallbackMatcher[]>>;
  /** Messages tell when hooks begin, speak and end. Default: `false`. */
  readonly includeHookEvents?: boolean;
  /** The pieces of an answer come as they are made (`stream_event`). Default: `false`. */
  readonly includePartialMessages?: boolean;
  /** Dollars for all requests of the session together. Default: no bound. */
  readonly maxBudgetUsd?: number;
  /** Tokens for thinking; 0: none. `thinking` wins. Default: 0. */
  readonly maxThinkingTokens?: number;
  /** Model calls for one prompt; `Infinity`: no bound. Default: 1,000. */
  readonly maxTurns?: number;
  /** Servers of tools that are connected already. Default: none. */
  readonly mcpClients?: readonly MCPServerConnection[];
  /**
   * Servers by name: `{command, args?, env?}`, `{type: 'http', url, headers?}`, or
   * `{type: 'sdk', instance}`. Those of the project's `.mcp.json` come with the setting source
   * `project`; one of the same name here wins. Default: none.
   */
  readonly mcpServers?: Readonly<Record<string, unknown>>;
  /** Only `mcpServers` count, never `.mcp.json`. Default: `false`. */
  readonly strictMcpConfig?: boolean;
  /** A server of tools asks the person something. Default: servers know that nobody answers. */
  readonly onElicitation?: (
    question: ElicitationQuestion,
    options: { readonly signal: AbortSignal },
  ) => Promise<ElicitationAnswer>;
  /** Hears what child processes of servers print on stderr, bounded. Default: nobody does. */
  readonly stderr?: (text: string) => void;
  /**
   * The model, or an alias: `sonnet`, `opus`, `haiku`. Default: the settings', else
   * `ANTHROPIC_MODEL`, else the newest Sonnet.
   */
  readonly model?: string;
  /** The answer has this shape, and is in `structured_output`. Default: words. */
  readonly outputFormat?: {
    readonly type: 'json_schema';
    readonly schema: Readonly<Record<string, unknown>>;
  };
  /** What happens to calls that no rule decides. Default: the settings', else `default`. */
  readonly permissionMode?: PermissionMode;
  /**
   * Folders with commands, agents, skills, hooks and servers of tools. Naming one lets it act.
   * Default: none.
   */
  readonly plugins?: readonly Plugin[];
  /** Makes the mode `bypassPermissions` available. Default: `false`. */
  readonly allowDangerouslySkipPermissions?: boolean;
  /** The session is kept, and can be resumed. Default: `true`. */
  readonly persistSession?: boolean;
  /** Prompts come back as messages when a turn takes them. Default: `false`. */
  readonly replayUserMessages?: boolean;
  /** Goes on with this session. Default: a new one. */
  readonly resume?: string;
  /** Goes on after this message: what came after it is another branch. Default: after the last. */
  readonly resumeSessionAt?: string;
  /** Name of the new session. Default: a random one. */
  readonly sessionId?: string;
  /**
   * Which settings files may act. Of the others only what forbids counts, unless the list is given.
   * Default: `['user']`.
   */
  readonly settingSources?: readonly SettingSource[];
  /** More settings: a path, a JSON text, or the settings themselves. Default: none. */
  readonly settings?: string | Readonly<Record<string, unknown>>;
  /**
   * Instead of ours, as a text or as several, or the preset with something behind it. Default: the
   * preset.
   */
  readonly systemPrompt?:
    | string
    | readonly string[]
    | { readonly type: 'custom'; readonly prompt: string | readonly string[] }
    | { readonly type: 'preset'; readonly preset: string; readonly append?: string };
  /** Behind the system prompt. Default: nothing. */
  readonly appendSystemPrompt?: string;
  /** Tokens that the model is told to get along with. Default: it is told nothing. */
  readonly taskBudget?: { readonly total: number };
  /** How the model thinks. Default: as `maxThinkingTokens` says. */
  readonly thinking?: ThinkingConfig;
  /**
   * Tells, too, what each request holds and why each call may run (`informational`, `info`).
   * Default: `false`.
   */
  readonly verbose?: boolean;

  // ── ours ──
  /** Tools of the host, as `defineTool` makes them, beside the built-in ones. Default: none. */
  readonly customTools?: readonly Tool[];
  /** Anything with `messages.create`: Bedrock, Vertex, a gateway, a fake. Default: the API's. */
  readonly client?: ModelClient;
  /** How requests to the API are sent. Default: the process's own `fetch`. */
  readonly fetch?: typeof fetch;
  /** Go with each request to the API. Default: none. */
  readonly defaultHeaders?: Readonly<Record<string, string>>;
  /** Milliseconds for one prompt. Default: the settings', else no bound. */
  readonly maxDurationMs?: number;
  /** Output tokens for which a turn goes on. Default: the settings', else none are wanted. */
  readonly tokenBudget?: number;
  /** `max_tokens` of each request. Default: the settings', else by model, raised where needed. */
  readonly maxOutputTokens?: number;
  /** Window in tokens for compaction, if smaller. Default: the settings', else the model's. */
  readonly autoCompactWindow?: number;
  /**
   * Above so many messages the oldest turns are dropped, without a summary. Default: the settings',
   * else never.
   */
  readonly historySnip?: { readonly maxMessages: number };
  /**
   * Hosts inside of the machine or its network (`localhost`) that WebFetch may reach, too.
   * Default: none.
   */
  readonly webFetchInsideHosts?: readonly string[];
  /** For scripts: no files of instructions, no waiting for the disk. Default: `false`. */
  readonly bare?: boolean;
  /** Hears what a status line may show. Default: nobody does. */
  readonly onStatus?: (status: SDKStatus) => void;
  /** Where sessions are kept. Default: files below `$ESCAPEMENT_HOME`. */
  readonly journal?: JournalStore;
  /** What becomes of a call that ran when its process died. Default: `tell_model`. */
  readonly onUnknownOutcome?: OnUnknownOutcome;
  /** The answer to a question that a process asked before it died. Default: it is denied. */
  readonly orphanedPermission?: OrphanedPermission;
  /** A turn that a crash has interrupted is ended first, with its own result. Default: `false`. */
  readonly finishInterrupted?: boolean;
}
