/** What lives as long as a session, and is shared by its turns and their services. */
import type { AutoCompactTracking } from '../machines/state.ts';
import type { Collapses } from '../services/collapse/record.ts';
import type { HookMessage, HookRunner } from '../services/hooks/run-hooks.ts';
import type { JournalStore } from '../services/journal/store.ts';
import type { Transcript } from '../services/journal/transcript.ts';
import type { MessageLog } from '../services/message-log.ts';
import type { LogMessage } from '../services/messages.ts';
import type { Purse } from '../services/model/purse.ts';
import type { Usage } from '../services/model/types.ts';
import type { UsageMeter, UsageSnapshot } from '../services/model/usage.ts';
import type { EditingMode } from '../services/preprocess/cached-microcompact.ts';
import type { TokenCounter } from '../services/preprocess/token-count.ts';
import type { Ledger } from '../services/tools/executor/deps.ts';
import type { Tool, ToolState } from '../services/tools/tool.ts';
import type { Command, QueryEngineConfig } from './config.ts';
import type { PromptQueue } from './prompt-queue.ts';
import type { Watch } from './watch.ts';

/** What the hooks of a session's begin have said, until a prompt takes it along. */
export interface SessionStart {
  hasBegun: boolean;
  readonly contexts: string[];
  /** Messages of which a killed process has shown deltas and no more. */
  readonly halfSaid: string[];
}

export interface Session {
  readonly id: string;
  readonly config: QueryEngineConfig;
  readonly log: MessageLog;
  readonly usage: UsageMeter;
  /** What processes before this one have used: a resumed session goes on counting. */
  readonly usageBefore: UsageSnapshot;
  readonly tokens: TokenCounter;
  readonly store: JournalStore;
  readonly transcript: Transcript;
  /** Absent when nothing is written down. */
  readonly ledger: Ledger | undefined;
  readonly runHooks: HookRunner;
  /** Those who look on; of its agents, too. */
  readonly watch: Watch;
  readonly toolState: ToolState;
  /** Built in, of the host, of servers, and of this turn: what the model is offered now. */
  readonly tools: () => readonly Tool[];
  /** What a slash calls now: there is no other list. */
  readonly commands: () => readonly Command[];
  readonly uuid: () => string;
  readonly now: () => Date;
  readonly defaultModel: string;
  /** For results that are too long, and other files of this session. Made on first use. */
  readonly folder: string;
  /** Versions of files before tools changed them. */
  readonly historyFolder: string;
  /** Summaries of single parts of the conversation: those that stand in it, and prepared ones. */
  readonly collapses: Collapses;
  /** Whether the server clears old results itself. */
  readonly contextEditing: EditingMode;
  /** Prompts that came while a turn ran. */
  readonly queue: PromptQueue;
  /** Where shells stand now. Begins as `config.cwd`. */
  cwd: string;
  /** Blocks of the system prompt; built once. */
  systemPrompt: readonly string[];
  userContext: string;
  /** What the turn that runs began with. */
  primaryModel: string;
  /** Set by the host: counts from the next request on, unless the chart has fallen back. */
  chosenModel: string | undefined;
  /** A name that a person gave it. */
  title: string | undefined;
  /** Carried from turn to turn: a summary that failed three times is not tried in the next. */
  autoCompactTracking: AutoCompactTracking | undefined;
  /** Where the last request of the loop ended: the next one keeps a cache breakpoint there. */
  lastRequest:
    | {
        readonly chain: string;
        readonly count: number;
        readonly head: string;
        /** Where the one before the last rewrite of the past ended. */
        readonly anchorCount: number | undefined;
      }
    | undefined;
  /** The host wants all before this message dropped: at the next iteration. */
  snipRequest: string | undefined;
  /** What is left of the task's tokens, once a summary has taken some of them out of sight. */
  taskBudgetRemaining: number | undefined;
  /** Of all calls so far, its agents' too: none is used for two of them. */
  readonly callIds: Set<string>;
  /** One purse for the session and its agents. */
  readonly spending: Purse;
  /** To be read by the model at the next chance: tasks in the background that have ended. */
  readonly notices: LogMessage[];
  /** Instruction files that the conversation has, by their real paths. */
  readonly loadedNestedMemoryPaths: Set<string>;
  /** Skills that were found in this turn. */
  readonly discoveredSkillNames: Set<string>;
  /** Its begin: hooks are asked once, and what they say is read with the first prompt that is. */
  readonly start: SessionStart;
  /** Tools that were told to stop and have not stopped yet. */
  readonly stopping: Promise<void>[];
  /** What hooks say of themselves; set while somebody listens. */
  tellHost: (message: HookMessage) => void;
  /** The disk takes nothing any more: ends the turn that runs, if one does. */
  onDiskFailure: (error: Error) => void;
}

/** Adds what a call has used. @returns its price, 0 when the model's price is not known. */
export function bill(session: Session, model: string, usage: Usage): number {
  const usd = session.usage.add(model, usage);
  session.spending.usd += usd ?? 0;
  // At once, not with the result: a crash loses at most what the call that ran has cost.
  session.transcript.used(model, usage, usd);
  return usd ?? 0;
}

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

  /** Once, at the session's end. A disposal that fails does not keep the others from running. */
  async dispose(): Promise<void> {
    const disposals = this.#disposals.splice(0);
    await Promise.allSettled(disposals.map((run) => run()));
  }
}
