/**
 * The only map from the option names of the official Agent SDK to the engine's configuration. The
 * CLI's flags and the library's `query()` both come through here.
 */
import type { HookEvent } from '../services/hooks/types.ts';
import type { ModelClient, ThinkingConfig } from '../services/model/types.ts';
import type { CanUseTool, PermissionMode } from '../services/permissions/types.ts';
import type {
  AgentDefinition,
  HookCallbackMatcher,
  MCPServerConnection,
  SDKStatus,
} from './config.ts';
import type { QueryEngine } from './query-engine.ts';

export type SettingSource = 'user' | 'project' | 'local';

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
  /** Servers by configuration: `--mcp-config`, option `mcpServers`. */
  readonly mcpServers?: Readonly<Record<string, unknown>>;
  readonly model?: string;
  readonly outputFormat?: {
    readonly type: 'json_schema';
    readonly schema: Readonly<Record<string, unknown>>;
  };
  readonly permissionMode?: PermissionMode;
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
  readonly verbose?: boolean;

  // ── ours ──
  /** Anything with `messages.create`: Bedrock, Vertex, a gateway, a fake. */
  readonly client?: ModelClient;
  readonly fetch?: typeof fetch;
  readonly defaultHeaders?: Readonly<Record<string, string>>;
  readonly maxDurationMs?: number;
  readonly tokenBudget?: number;
  readonly maxOutputTokens?: number;
  readonly bare?: boolean;
  readonly onStatus?: (status: SDKStatus) => void;
}

/** A mistake of the caller: an unknown model, unreadable settings, no key. Exit code 2 in the CLI. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * Reads settings and environment as far as the options say, checks everything, and makes an engine.
 * Writes nothing and asks no network.
 * @param environment `process.env` of the host; the names that are read stand in `docs/environment.md`.
 * @throws UsageError with cause and remedy in one line.
 */
export declare function engineFromOptions(
  options: Options,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<QueryEngine>;
