/** What lives as long as a session, and is shared by its turns and their services. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { AutoCompactTracking } from '../machines/state.ts';
import type { HookMessage, HookRunner } from '../services/hooks/run-hooks.ts';
import {
  noTranscript,
  openTranscript,
  type Transcript,
  transcriptPath,
} from '../services/journal/transcript.ts';
import { MessageLog } from '../services/message-log.ts';
import type { LogMessage } from '../services/messages.ts';
import { defaultModel } from '../services/model/model-table.ts';
import type { Usage } from '../services/model/types.ts';
import { UsageMeter } from '../services/model/usage.ts';
import { createTokenCounter, type TokenCounter } from '../services/preprocess/token-count.ts';
import type { Tool, ToolState } from '../services/tools/tool.ts';
import type { QueryEngineConfig } from './config.ts';
import { sessionHooks } from './session-hooks.ts';

export interface Session {
  readonly id: string;
  readonly config: QueryEngineConfig;
  readonly log: MessageLog;
  readonly usage: UsageMeter;
  readonly tokens: TokenCounter;
  readonly transcript: Transcript;
  readonly runHooks: HookRunner;
  readonly toolState: ToolState;
  /** Built in, of the host, of servers, and of this turn: what the model is offered now. */
  readonly tools: () => readonly Tool[];
  readonly uuid: () => string;
  readonly now: () => Date;
  readonly defaultModel: string;
  /** For results that are too long, and other files of this session. Made on first use. */
  readonly folder: string;
  /** Prompts that came while a turn ran. */
  readonly queue: LogMessage[];
  /** Where shells stand now. Begins as `config.cwd`. */
  cwd: string;
  /** Blocks of the system prompt; built once. */
  systemPrompt: readonly string[];
  userContext: string;
  /** What the turn that runs began with. */
  primaryModel: string;
  /** Set by the host: counts from the next request on, unless the chart has fallen back. */
  chosenModel: string | undefined;
  /** Carried from turn to turn: a summary that failed three times is not tried in the next. */
  autoCompactTracking: AutoCompactTracking | undefined;
  /** Where the last request of the loop ended: the next one keeps a cache breakpoint there. */
  lastRequest: { readonly chain: string; readonly count: number } | undefined;
  /** Tools that were told to stop and have not stopped yet. */
  readonly stopping: Promise<void>[];
  /** What hooks say of themselves; set while somebody listens. */
  tellHost: (message: HookMessage) => void;
}

export function openSession(
  config: QueryEngineConfig,
  id: string,
  version: string,
  tools: () => readonly Tool[],
): Session {
  const { deps, home, cwd, persistSession = true } = config;
  const log = new MessageLog();
  const uuid = deps?.uuid ?? randomUUID;
  const now = deps?.now ?? (() => new Date());
  const path = transcriptPath(home, cwd, id);
  const session: Session = {
    id,
    config,
    log,
    usage: new UsageMeter(),
    tokens: createTokenCounter({
      log,
      fixed: () => ({
        system: session.systemPrompt,
        tools: tools(),
        userContext: session.userContext,
      }),
    }),
    transcript: persistSession
      ? openTranscript({ path, sessionId: id, cwd, version, now })
      : noTranscript(path),
    runHooks: sessionHooks(config, { id, transcriptPath: path, uuid, tools }, (message) =>
      session.tellHost(message),
    ),
    toolState: config.readFileCache,
    tools,
    uuid,
    now,
    defaultModel: defaultModel(),
    folder: join(path.slice(0, -'.jsonl'.length), 'tool-results'),
    queue: [],
    cwd,
    systemPrompt: [],
    userContext: '',
    primaryModel: '',
    chosenModel: undefined,
    autoCompactTracking: undefined,
    lastRequest: undefined,
    stopping: [],
    tellHost: () => {},
  };
  return session;
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

  /** Once, at the session's end. A disposal that fails does not keep the others from running. */
  async dispose(): Promise<void> {
    const disposals = this.#disposals.splice(0);
    await Promise.allSettled(disposals.map((run) => run()));
  }
}
