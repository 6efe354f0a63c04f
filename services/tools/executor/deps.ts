/** What the tool executor needs from the engine, and what it tells it beside the chart's events. */

import type { RunHooks } from '../../hooks/types.ts';
import type { MessageLog } from '../../message-log.ts';
import type {
  CanUseTool,
  Judge,
  PermissionDenial,
  ToolPermissionContext,
} from '../../permissions/types.ts';
import type { Tool, ToolContext, ToolInput } from '../tool.ts';

/** A call as the write-ahead ledger keeps it. */
export interface LedgerCall {
  readonly id: string;
  readonly name: string;
  /** The input that runs, edits included. */
  readonly input: ToolInput;
  /**
   * SHA-256 of the stable JSON of the input, hex: recognises the call without keeping its input.
   */
  readonly inputHash: string;
}

/**
 * Knows which calls with side effects were begun and which came to an end, also after a crash.
 * *Contract:* `started` resolves when the entry is on disk. When it rejects, the call is not run.
 */
export interface Ledger {
  started(call: LedgerCall): Promise<void>;
  finished(call: LedgerCall & { readonly isError: boolean }): Promise<void>;
}

/** A tool that takes the final answer in a wanted shape: a call of it is a try. */
export interface StructuredOutput {
  readonly toolName: string;
  /** A call fitted the schema. The last one counts. */
  onValue(value: ToolInput): void;
}

export interface ExecutorDeps {
  /** Read for each call: servers come and go. Names are matched exactly. */
  tools(): readonly Tool[];
  /** Rules and mode. A throw counts as a denial. */
  readonly judge: Judge;
  /** Absent: nobody can be asked, so what asks is denied. */
  readonly canUseTool?: CanUseTool;
  /** What a person could allow once and for all; given to `canUseTool`. */
  readonly suggest?: (tool: Tool, input: ToolInput) => readonly unknown[];
  /** Rules or a mode that came with a person's answer. Called before the call runs. */
  readonly onPermissionUpdates?: (updates: readonly unknown[]) => void;
  readonly runHooks: RunHooks;
  readonly log: MessageLog;
  uuid(): string;
  /** Milliseconds since 1970. */
  now(): number;
  /** *Contract:* the context has what is given here. */
  makeContext(
    toolUseId: string,
    signal: AbortSignal,
    given: Pick<ToolContext, 'progress' | 'whilePersonIsAsked'>,
  ): ToolContext;
  permissionContext(): ToolPermissionContext;
  cwd(): string;
  /** Calls that run beside each other. */
  readonly concurrencyMax?: number;
  readonly ledger?: Ledger;
  onDenied(denial: PermissionDenial): void;
  /** A call may run, and why nobody stands in its way. */
  readonly onPermitted?: (name: string, because: string) => void;
  /** A person said no and wants the whole query to stop. Called after the call was answered. */
  onInterrupt(): void;
  onWarning(text: string): void;
  /** For calls that take long, every `progressEveryMs`. */
  readonly onProgress?: (
    toolUseId: string,
    name: string,
    elapsedSeconds: number,
    gist: string,
  ) => void;
  readonly progressEveryMs?: number;
  /** What a tool gets to say what it has, once it was told to stop. Default: 3 s. */
  readonly stoppingMs?: number;
  /**
   * A hook or a person has edited the input of a call: history must show what runs. The message
   * log is immutable, so whoever projects it (the request, the transcript, the host's view) keeps
   * these edits beside it. *Contract:* called before the edited call runs, hence before its result,
   * and again when the input is edited again. `amended` makes the message that counts from now on.
   */
  amendToolUse(uuid: string, input: ToolInput): void;
  /** Off: nothing starts before the whole answer of the model is there. */
  readonly streaming: boolean;
  readonly structuredOutput?: StructuredOutput;
}
