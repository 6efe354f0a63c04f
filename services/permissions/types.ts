/** Who may do what: the vocabulary of the permission service. */
import type { Tool, ToolInput } from '../tools/tool.ts';

export type PermissionMode = 'default' | 'acceptEdits' | 'plan' | 'dontAsk' | 'bypassPermissions';
export type RuleSource = 'managed' | 'user' | 'project' | 'local' | 'flag' | 'session';
/** Rules in Claude Code's syntax: `Bash(npm test:*)`, `Edit(src/**)`, `mcp__server`. */
export interface RuleSet {
  readonly source: RuleSource;
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly ask: readonly string[];
}
export interface ToolPermissionContext {
  readonly mode: PermissionMode;
  readonly rules: readonly RuleSet[];
  readonly additionalDirectories: readonly string[];
  /** bypassPermissions may be switched on only where the host allowed it at the start. */
  readonly isBypassAvailable: boolean;
}

export type PermissionDecision =
  | { readonly behavior: 'allow'; readonly updatedInput?: ToolInput; readonly because: string }
  | {
      readonly behavior: 'deny';
      /** Goes to the model, word for word. */
      readonly message: string;
      /** The whole query is to stop, after this call has been answered. */
      readonly interrupt?: boolean;
      readonly because: string;
      /** Only for want of an answer (mode dontAsk): a hook that allows lifts it. */
      readonly isUnasked?: boolean;
    }
  | {
      readonly behavior: 'ask';
      readonly because: string;
      /** An ask rule says so: a hook that allows does not lift it. */
      readonly isFirm?: boolean;
    };

/** Rules and mode alone, without asking anybody. Pure but for looking at real paths. */
export type Judge = (
  tool: Tool,
  input: ToolInput,
  context: ToolPermissionContext,
  cwd: string,
) => Promise<PermissionDecision>;

/**
 * Asks whoever decides in this run mode: a person, the host, nobody. *Contract:* answers `allow`
 * or `deny`; obeys the signal; a throw counts as a denial.
 */
export type CanUseTool = (
  toolName: string,
  input: ToolInput,
  options: {
    readonly signal: AbortSignal;
    readonly toolUseID: string;
    readonly decisionReason?: string;
    readonly suggestions?: readonly unknown[];
  },
) => Promise<
  | { behavior: 'allow'; updatedInput?: ToolInput; updatedPermissions?: readonly unknown[] }
  | { behavior: 'deny'; message: string; interrupt?: boolean }
>;

export interface PermissionDenial {
  readonly tool_name: string;
  readonly tool_use_id: string;
  readonly tool_input: ToolInput;
}
