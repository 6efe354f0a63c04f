/** Hooks: what the host or a settings file lets run at the corners of the loop. */
export const hookEvents = [
  'SessionStart',
  'SessionEnd',
  'UserPromptSubmit',
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'PostToolBatch',
  'PostSampling',
  'Stop',
  'StopFailure',
  'SubagentStop',
  'PreCompact',
  'PostCompact',
  'Notification',
] as const;
export type HookEvent = (typeof hookEvents)[number];

/** What every hook is told; events add their own fields (`tool_name`, `stop_hook_active`, …). */
export interface HookInput {
  readonly hook_event_name: HookEvent;
  readonly session_id: string;
  readonly transcript_path: string;
  readonly cwd: string;
  readonly permission_mode: string;
  readonly [field: string]: unknown;
}

/** What a hook says: Claude Code's JSON protocol, the fields that we read. */
export interface HookOutput {
  readonly continue?: boolean;
  readonly stopReason?: string;
  readonly decision?: 'approve' | 'block';
  readonly reason?: string;
  readonly systemMessage?: string;
  readonly suppressOutput?: boolean;
  readonly async?: boolean;
  readonly asyncTimeout?: number;
  readonly hookSpecificOutput?: { readonly hookEventName?: string } & Readonly<
    Record<string, unknown>
  >;
}

/** All hooks of one event, merged. The merge rules stand in `merge.ts`. */
export interface HookVerdict {
  /** Some hook said `continue: false`. */
  readonly prevented?: { readonly reason: string };
  /** `decision: 'block'` or exit 2: what to say to the model (or why the prompt is refused). */
  readonly blocked: readonly string[];
  readonly additionalContext: readonly string[];
  /** PreToolUse only; deny > defer > ask > allow. */
  readonly permission?: {
    readonly decision: 'allow' | 'deny' | 'ask' | 'defer';
    readonly reason: string;
  };
  /** PreToolUse: the input that runs and that history shows. */
  readonly updatedInput?: Readonly<Record<string, unknown>>;
  /** PostToolUse: takes the place of the tool's output. */
  readonly updatedToolOutput?: unknown;
  /** For the host: a hook failed, was too slow, said something for people. */
  readonly warnings: readonly string[];
}

/** Runs all hooks of an event that match. Never throws. */
export type RunHooks = (
  event: HookEvent,
  fields: Readonly<Record<string, unknown>>,
  options: {
    /** Matched against the matcher of the hook: the tool's name, the source, the trigger. */
    readonly matchQuery?: string;
    readonly toolUseId?: string;
    readonly signal: AbortSignal;
  },
) => Promise<HookVerdict>;
