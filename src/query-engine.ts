import type { PermissionMode } from '../services/permissions/types.ts';
import type { Prompt, QueryEngineConfig, SubmitOptions } from './config.ts';
import type { SDKMessage } from './wire.ts';

export declare class QueryEngine {
  constructor(config: QueryEngineConfig);
  readonly sessionId: string;
  /** One turn. Breaking out of the generator stops everything. Ends with exactly one `result`. */
  submitMessage(prompt: Prompt, options?: SubmitOptions): AsyncGenerator<SDKMessage, void, unknown>;
  /**
   * A prompt while a turn runs: folded in at the next chance, else it waits for `takeQueued()`.
   */
  enqueue(prompt: Prompt, options?: SubmitOptions): void;
  /** Prompts that no turn has taken: the caller submits them as the next turn. */
  takeQueued(): readonly { readonly prompt: Prompt; readonly uuid: string }[];
  /** Stops the turn that runs. Nothing happens when none does. */
  interrupt(): void;
  setModel(model: string | undefined): void;
  setPermissionMode(mode: PermissionMode): void;
  /** Ends the session: shells, MCP servers, files. Idempotent. */
  close(): Promise<void>;
}
