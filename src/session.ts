/** What lives as long as a session, and is shared by its turns and their services. */
import type { QueryState } from '../machines/state.ts';
import type { RunHooks } from '../services/hooks/types.ts';
import type { Transcript } from '../services/journal/transcript.ts';
import type { MessageLog } from '../services/message-log.ts';
import type { LogMessage } from '../services/messages.ts';
import type { Usage } from '../services/model/types.ts';
import type { UsageMeter } from '../services/model/usage.ts';
import type { TokenCounter } from '../services/preprocess/token-count.ts';
import type { Tool, ToolState } from '../services/tools/tool.ts';
import type { QueryEngineConfig } from './config.ts';

export interface Session {
  readonly id: string;
  readonly config: QueryEngineConfig;
  readonly log: MessageLog;
  readonly usage: UsageMeter;
  readonly tokens: TokenCounter;
  readonly transcript: Transcript;
  readonly runHooks: RunHooks;
  readonly toolState: ToolState;
  /** Built in, of the host, of servers, and of this turn: what the model is offered now. */
  readonly tools: () => readonly Tool[];
  /** Where shells stand now. Begins as `config.cwd`. */
  cwd: string;
  /** Folder for results that are too long, and for the files of this session. */
  readonly folder: string;
  /** Blocks of the system prompt; built once. */
  systemPrompt: readonly string[];
  userContext: string;
  /** Set by the host: counts from the next request on, until the chart falls back. */
  chosenModel: string | undefined;
  /** Prompts that came while a turn ran. */
  readonly queue: LogMessage[];
  /** What hooks around tools want the model to read with the results. */
  readonly contexts: LogMessage[];
  /** Where the last request of the loop ended: the next one keeps a cache breakpoint there. */
  lastRequest: { readonly chain: string; readonly count: number } | undefined;
}

/** Adds what a call has used. @returns its price, 0 when the model's price is not known. */
export const bill = (session: Session, model: string, usage: Usage): number =>
  session.usage.add(model, usage) ?? 0;

/** A session-wide store for tools; `dispose` runs what each value asked for. */
export class SessionToolState implements ToolState {
  readonly #values = new Map<string, object>();
  readonly #disposals: (() => Promise<void>)[] = [];

  get<T extends object>(key: string, make: () => T, dispose?: (value: T) => Promise<void>): T {
    const known = this.#values.get(key);
    if (known) return known as T;
    const value = make();
    this.#values.set(key, value);
    if (dispose) this.#disposals.push(() => dispose(value));
    return value;
  }

  /** Once, at the end of the session. A disposal that fails does not keep the others from running. */
  async dispose(): Promise<void> {
    const disposals = this.#disposals.splice(0);
    await Promise.allSettled(disposals.map((run) => run()));
  }
}

/** Whether a state's model is still the one that the turn began with. */
export const hasFallenBack = (state: QueryState, primary: string): boolean =>
  state.model !== primary;
