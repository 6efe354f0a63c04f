/**
 * What the host hears: one object for each thing that happens, a JSON line each on the wire. The
 * shapes are those that existing hosts read, plus `tombstone` and four kinds of `system` message.
 */
import type { ContinueReason, TerminalReason } from '../machines/reasons.ts';
import type { ContentBlock } from '../services/messages.ts';
import type { Usage } from '../services/model/types.ts';
import type { ModelUsage } from '../services/model/usage.ts';
import type { PermissionDenial } from '../services/permissions/types.ts';

/** Every message has these. */
interface Envelope {
  readonly uuid: string;
  readonly session_id: string;
}

/** One finished block of the model. */
export interface SDKAssistantMessage extends Envelope {
  readonly type: 'assistant';
  readonly parent_tool_use_id: string | null;
  readonly message: {
    readonly id: string;
    readonly type: 'message';
    readonly role: 'assistant';
    readonly model: string;
    readonly content: readonly ContentBlock[];
    readonly stop_reason: string | null;
    readonly stop_sequence: null;
    readonly usage: Usage;
  };
  /** Messages that were shown and then taken back, in whose place this one stands. */
  readonly supersedes?: readonly string[];
  /** Only on the last word of a query that failed. Never sent to the model. */
  readonly error?: string;
}

/** A tool result as it comes, a nudge, or a replayed prompt. */
export interface SDKUserMessage extends Envelope {
  readonly type: 'user';
  readonly parent_tool_use_id: string | null;
  readonly message: { readonly role: 'user'; readonly content: string | readonly ContentBlock[] };
  /** Not said by a person. */
  readonly isSynthetic?: boolean;
  readonly isReplay?: boolean;
  readonly tool_use_result?: unknown;
  readonly timestamp?: string;
}

/** A raw event of the API's stream, when the host asked for partial messages. */
export interface SDKPartialAssistantMessage extends Envelope {
  readonly type: 'stream_event';
  readonly event: unknown;
  readonly parent_tool_use_id: string | null;
  /** The uuid of the assistant message that the block will become. */
  readonly message_uuid?: string;
}

/** A message, or the deltas of one, is taken back. */
export interface SDKTombstone extends Envelope {
  readonly type: 'tombstone';
  readonly message: { readonly uuid: string };
}

type System<S extends string, T> = Envelope & {
  readonly type: 'system';
  readonly subtype: S;
  /** Of an agent's query: the call that it works for. */
  readonly parent_tool_use_id?: string;
} & T;

interface HookFields {
  readonly hook_id: string;
  readonly hook_event: string;
  /** `PreToolUse:Bash`. */
  readonly hook_name: string;
}
interface HookStreams {
  readonly stdout: string;
  readonly stderr: string;
  readonly output: string;
}

export type SDKSystemMessage =
  | System<
      'init',
      {
        readonly cwd: string;
        readonly model: string;
        readonly tools: readonly string[];
        readonly mcp_servers: readonly {
          readonly name: string;
          readonly status: string;
          readonly error?: string;
        }[];
        readonly permissionMode: string;
        readonly slash_commands: readonly string[];
        readonly agents: readonly string[];
        readonly skills: readonly string[];
        readonly apiKeySource: string;
        readonly output_style: string;
        readonly escapement_version: string;
        readonly claude_code_version: string;
      }
    >
  /** Why there is another iteration. */
  | System<'transition', { readonly reason: ContinueReason; readonly iteration: number }>
  | System<
      'api_retry',
      {
        readonly attempt: number;
        readonly max_retries: number;
        readonly retry_delay_ms: number;
        readonly error_status: number | null;
        readonly error: string;
      }
    >
  | System<
      'model_fallback',
      {
        readonly trigger: 'overloaded';
        readonly original_model: string;
        readonly fallback_model: string;
        readonly level: 'warning';
        readonly content: string;
      }
    >
  | System<
      'compact_boundary',
      {
        readonly compact_metadata: {
          readonly trigger: 'auto' | 'manual';
          readonly pre_tokens: number;
          readonly post_tokens: number;
        };
      }
    >
  /** A stage changed what the model sees of the past. */
  | System<
      'context_edit',
      {
        readonly stage: string;
        readonly tokens_freed: number;
        readonly ids: readonly string[];
        /** Of a collapse: `expandCollapse(id)` gives back what each stands for. */
        readonly collapse_ids?: readonly string[];
        /** What has to be written to the prompt cache again. */
        readonly cache_tokens_lost?: number;
      }
    >
  | System<'history_repaired', { readonly repairs: readonly string[] }>
  | System<'status', { readonly status: 'requesting' | 'compacting' | null }>
  | System<'session_state_changed', { readonly state: 'idle' | 'running' | 'requires_action' }>
  | System<
      'informational',
      { readonly level: 'info' | 'warning' | 'error'; readonly content: string }
    >
  | System<
      'permission_denied',
      { readonly tool_name: string; readonly tool_use_id: string; readonly message: string }
    >
  | System<'hook_started', HookFields>
  | System<'hook_progress', HookFields & HookStreams>
  | System<
      'hook_response',
      HookFields &
        HookStreams & {
          readonly exit_code?: number;
          readonly outcome: 'success' | 'error' | 'cancelled';
        }
    >
  /** An agent begins to work on a task. The task has the id of the call that gave it away. */
  | System<
      'task_started',
      {
        readonly task_id: string;
        readonly tool_use_id: string;
        readonly description: string;
        readonly task_type: 'local_agent';
      }
    >
  | System<
      'task_notification',
      {
        readonly task_id: string;
        readonly tool_use_id: string;
        readonly status: 'completed' | 'failed' | 'stopped';
        /** Always empty: the answer is the call's result, or comes with a later message. */
        readonly output_file: string;
        readonly summary: string;
      }
    >
  | System<
      'attachment',
      { readonly attachment: { readonly type: string; readonly [field: string]: unknown } }
    >
  /** The model was nudged on because the host gave a budget of output, or is not any more. */
  | System<
      'token_budget',
      {
        readonly action: 'continue' | 'stop';
        readonly continuation_count: number;
        /** Of the budget that is used, 0 to 100 and above. */
        readonly percentage: number;
        /** It ended because the model had nothing more to say. */
        readonly is_diminishing?: boolean;
      }
    >;

export interface SDKToolProgressMessage extends Envelope {
  readonly type: 'tool_progress';
  readonly tool_use_id: string;
  readonly tool_name: string;
  readonly parent_tool_use_id: string | null;
  readonly elapsed_time_seconds: number;
  readonly gist?: string;
}

/** What a round of tools has done, in a line for people. Comes when it is there, or not at all. */
export interface SDKToolUseSummaryMessage extends Envelope {
  readonly type: 'tool_use_summary';
  readonly summary: string;
  readonly preceding_tool_use_ids: readonly string[];
}

/** `turn_setup_failed` belongs to the engine: there was no query yet. */
export type ResultReason = TerminalReason | 'turn_setup_failed';

/** The last word on a prompt. Exactly one names each prompt, on every ending. */
export interface SDKResultMessage extends Envelope {
  readonly type: 'result';
  readonly subtype:
    | 'success'
    | 'error_during_execution'
    | 'error_max_turns'
    | 'error_max_budget_usd'
    | 'error_max_structured_output_retries';
  readonly is_error: boolean;
  readonly terminal_reason: ResultReason;
  /** Text that was kept after the turn's last tool result, joined over resumes. */
  readonly result: string;
  readonly errors: readonly string[];
  readonly stop_reason: string | null;
  readonly api_error_status?: number | null;
  readonly num_turns: number;
  readonly duration_ms: number;
  readonly duration_api_ms: number;
  /** Of the whole session, also what processes before this one have spent. */
  readonly total_cost_usd: number | null;
  /** Of this process alone: what `maxBudgetUsd` bounds, and what a bill of this run shows. */
  readonly run_cost_usd: number | null;
  readonly usage: Usage;
  readonly modelUsage: Readonly<Record<string, ModelUsage>>;
  readonly permission_denials: readonly PermissionDenial[];
  readonly user_message_uuids: readonly string[];
  readonly structured_output?: unknown;
  readonly deferred_tool_use?: {
    readonly id: string;
    readonly name: string;
    readonly input: unknown;
  };
  readonly stop_hook_overridden?: true;
}

export type SDKMessage =
  | SDKAssistantMessage
  | SDKUserMessage
  | SDKPartialAssistantMessage
  | SDKTombstone
  | SDKSystemMessage
  | SDKToolProgressMessage
  | SDKToolUseSummaryMessage
  | SDKResultMessage;
