/**
 * The session: what outlives a turn, and the thirteen steps from a prompt to its result. A plain
 * class; the machine is the query.
 */
import { randomUUID } from 'node:crypto';
import type { InspectionEvent } from 'xstate';
import { begin, type Cursor, type QueryInput, type QueryResult } from '../machines/state.ts';
import { builtInAgents, mergedAgents } from '../services/agents/agent-definition.ts';
import type { RewindFilesResult } from '../services/journal/checkpoints.ts';
import { openCalls } from '../services/journal/open-calls.ts';
import type { Restored } from '../services/journal/restore.ts';
import { foundIn } from '../services/mcp/tool-search.ts';
import { emptyHistory } from '../services/message-log.ts';
import type { LogMessage } from '../services/messages.ts';
import type {
  CanUseTool,
  PermissionDenial,
  PermissionMode,
} from '../services/permissions/types.ts';
import { foundSkillsOf, laterSkillTool } from '../services/skills/found-skills.ts';
import { fileStateOf } from '../services/tools/files/file-state.ts';
import type { Tool } from '../services/tools/tool.ts';
import { closeSession } from './close-session.ts';
import {
  type Command,
  type CommandOutcome,
  type Prompt,
  type QueryEngineConfig,
  type SubmitOptions,
  snapshotQueryConfig,
} from './config.ts';
import { type ContextUsage, contextUsageOf, newestHead } from './context-usage.ts';
import { productionDeps, type QueryDeps } from './deps.ts';
import type { EngineObserver } from './engine-events.ts';
import { tellFailure } from './failure-hooks.ts';
import { heardWhile } from './heard-while.ts';
import { initMessage } from './init-message.ts';
import { journalNotices } from './journal-notices.ts';
import { type OfferedServers, offeredServers, type ServerReport } from './offered-servers.ts';
import { originalsOf, unfolded } from './originals.ts';
import { OutputQueue, progressKey } from './output-queue.ts';
import { acceptPrompt, type ProcessedInput } from './process-user-input.ts';
import { admitLeft } from './prompt-hooks.ts';
import type { Priority } from './prompt-queue.ts';
import type { QueryHold } from './query-hold.ts';
import { queryInput } from './query-input.ts';
import { QueryScope } from './query-scope.ts';
import { cancelPrompt, enqueuePrompt, takePrompts } from './queued-prompts.ts';
import { resultMessage, type TurnOutcome } from './result.ts';
import { messagesUpTo, type RewindOptions, rewoundFiles } from './rewind.ts';
import { runQuery } from './run-query.ts';
import { sandboxWarnings } from './sandbox-policy.ts';
import { openSession, type Session } from './session.ts';
import { withOwnCommands } from './session-commands.ts';
import { buildSessionPrompt } from './session-prompt.ts';
import { type SessionServices, sessionServices } from './session-services.ts';
import { beginSession, retractHalfSaid } from './session-start.ts';
import { type SettledCalls, settleCalls } from './settle-calls.ts';
import { watching } from './snip-replay.ts';
import { structuredOutputTool } from './structured-output.ts';
import { Subagents } from './subagents.ts';
import { systemToWire } from './to-wire.ts';
import { Turn } from './turn.ts';
import { UsageError } from './usage-error.ts';
import { VERSION } from './version.ts';
import type { SDKMessage } from './wire.ts';

/** A turn that kills its process each time must not do so for ever. */
const FINISH_TRIES_MAX = 3;
/** For a turn whose session is closed: an interrupt ends it at once, if its host reads on. */
const LAST_WORD_MS = 1_000;

/** A turn that a dead process has left without a result. */
export interface InterruptedTurn {
  /** Its prompts. The result of the turn that ends it names them. */
  readonly promptUuids: readonly string[];
  /** How often it was tried to be ended. */
  readonly tries: number;
  readonly mayFinish: boolean;
}

export class QueryEngine {
  readonly sessionId: string;
  readonly #config: QueryEngineConfig;
  readonly #session: Session;
  readonly #servers: OfferedServers;
  /** Warnings that came while no turn could show them. */
  readonly #untold: string[];
  #history: Cursor;
  #abortController: AbortController;
  readonly #permissionDenials: PermissionDenial[] = [];
  #hasHandledOrphanedPermission = false;
  readonly #discoveredSkillNames: Set<string>;
  /** Read once; again after a summary, which does not keep them. */
  readonly #loadedNestedMemoryPaths: Set<string>;
  #turn: Turn | undefined;
  #scope: QueryScope | undefined;
  #services: SessionServices | undefined;
  #turnTools: readonly Tool[] = [];
  readonly #agents: Subagents;
  /** Said once: what the journal had to do to go on. */
  #hasOpenedJournal = false;
  /** What a dead process has left, until the first turn takes it up. */
  #left: Restored | undefined;
  /** The last turn has left its open calls to the host. */
  #isDeferred: boolean;
  #closing: Promise<void> | undefined;
  /** Set while somebody waits for the turn. */
  #onTurnEnd = () => {};
  readonly #onHostAbort = () => {
    const reason: unknown = this.#config.abortController?.signal.reason;
    if (typeof reason === 'string') this.#turn?.errors.push(`Interrupted: ${reason}`);
    this.interrupt();
  };
  /** Passes everything that the chart does to an observer (an inspector). */
  inspect: ((event: InspectionEvent) => void) | undefined;

  constructor(config: QueryEngineConfig) {
    this.#config = config;
    this.#untold = [...(config.startWarnings ?? [])];
    this.sessionId = config.sessionId ?? randomUUID();
    this.#abortController = new AbortController();
    this.#session = openSession(config, this.sessionId, VERSION, () => this.#tools());
    this.#discoveredSkillNames = this.#session.discoveredSkillNames;
    this.#loadedNestedMemoryPaths = this.#session.loadedNestedMemoryPaths;
    this.#agents = new Subagents(this.#session, () => this.#scope);
    this.#session.watch.onBroken = (text) => this.#tell(text);
    const { log } = this.#session;
    this.#left = config.resumed?.isRewound ? undefined : config.resumed?.restored;
    this.#isDeferred = this.#left?.isDeferred ?? false;
    const initial = config.resumed?.restored.messages ?? config.initialMessages ?? [];
    this.#history = initial.length > 0 ? log.append(emptyHistory, initial) : emptyHistory;
    this.#servers = offeredServers(
      config.mcpClients,
      (text) => this.#tell(text),
      config.handleElicitation,
      foundIn(initial),
    );
  }

  /** The seed's `mutableMessages`: what stands, oldest first. */
  get messages(): readonly LogMessage[] {
    return unfolded(this.#session, this.#session.log.at(this.#history.head));
  }

  /**
   * The messages that the model reads a summary of, word for word. Reading them changes nothing.
   * @param id as `context_edit` names it in `collapse_ids`.
   * @returns `undefined` when there is none of this name, or a compaction has taken its messages.
   */
  expandCollapse(id: string): readonly LogMessage[] | undefined {
    return originalsOf(this.#session, id);
  }

  /** Servers of tools, as they are now. */
  get mcpServers(): readonly ServerReport[] {
    return this.#servers.report();
  }

  /** Connects a server anew. @returns whether there is one of this name that can be. */
  reconnectMcpServer(name: string): Promise<boolean> {
    return this.#servers.reconnect(name);
  }

  /** Skills that the turn that runs, or the last one, has found in parts of the project. */
  get discoveredSkills(): readonly string[] {
    return [...this.#discoveredSkillNames];
  }

  /** Denied calls of the session, oldest first. */
  get permissionDenials(): readonly PermissionDenial[] {
    return this.#permissionDenials;
  }

  /**
   * One turn. Breaking out of the generator stops everything that runs for it. Ends with exactly
   * one `result`, on every ending.
   */
  async *submitMessage(
    prompt: Prompt,
    options: SubmitOptions = {},
  ): AsyncGenerator<SDKMessage, void, unknown> {
    yield* this.#runTurn(prompt, options);
  }

  /** The turn that a dead process has left, if there is one and it may still be ended. */
  get interrupted(): InterruptedTurn | undefined {
    const left = this.#left;
    if (!left?.isInterrupted) return undefined;
    const { openPrompts: promptUuids, finishTries: tries } = left;
    return { promptUuids, tries, mayFinish: tries < FINISH_TRIES_MAX };
  }

  /**
   * Brings the interrupted turn to its end without a new prompt, within what is left of its turns.
   * Nothing when there is none, or when it was tried three times: then it takes a person to go on.
   */
  async *finishInterrupted(): AsyncGenerator<SDKMessage, void, unknown> {
    if (this.interrupted?.mayFinish) yield* this.#runTurn(undefined, {});
  }

  async *#runTurn(
    prompt: Prompt | undefined,
    options: SubmitOptions,
  ): AsyncGenerator<SDKMessage, void, unknown> {
    if (this.#turn) throw new Error('a turn is running: use enqueue() for prompts beside it');
    const turn = this.#beginTurn(options, prompt !== undefined);
    try {
      yield* this.#seen(this.#steps(prompt, options, turn));
    } catch (error) {
      const result = await this.#result(turn, { kind: 'setupFailed', error });
      this.#session.watch.tell({ type: 'message.said', message: result });
      yield result;
    } finally {
      if (!turn.hasResult) await this.#endLeft(turn);
      this.#endTurn();
    }
  }

  /** The host has left before the query began: its prompt has a result all the same. */
  async #endLeft(turn: Turn): Promise<void> {
    this.interrupt();
    await this.#result(turn, { kind: 'answered', text: '', reason: 'aborted_streaming' });
  }

  /** What the host hears, those who look on hear with it; deltas are for the host alone. */
  async *#seen(
    messages: AsyncGenerator<SDKMessage, void, unknown>,
  ): AsyncGenerator<SDKMessage, void, unknown> {
    const { watch } = this.#session;
    for await (const message of messages) {
      if (watch.isWatched && message.type !== 'stream_event') {
        watch.tell({ type: 'message.said', message });
      }
      yield message;
    }
  }

  /**
   * Lets somebody look on: an inspector, a tracer, a meter. From the next event on.
   * @returns ends it.
   * @experimental
   */
  observe(observer: EngineObserver): () => void {
    return this.#session.watch.observe(observer);
  }

  /**
   * Lets somebody hold its queries (breakpoints), from the next query on. `undefined`: nobody.
   * @experimental
   */
  set hold(hold: QueryHold | undefined) {
    this.#session.watch.hold = hold;
  }

  async *#steps(
    prompt: Prompt | undefined,
    options: SubmitOptions,
    turn: Turn,
  ): AsyncGenerator<SDKMessage, void, unknown> {
    const canUseTool = this.#wrapCanUseTool();
    const model = this.#resolveModel();
    const notices = await this.#openJournal();
    await this.#lookAtSettings();
    const left = this.#takeUpWhatIsLeft(turn);
    await this.#servers.ready(this.#abortController.signal);
    await this.#buildSystemPrompt(model);
    this.#registerStructuredOutput();
    const settled = yield* this.#handleOrphanedPermission(turn, model, canUseTool);
    const input = await this.#processUserInput(prompt, options, turn);
    await this.#persistUserMessages(input, await this.#admitLeft(turn, left));
    const skills = this.#loadSkills();
    if (!settled) yield this.#initMessage(model, skills);
    yield* notices;
    yield* retractHalfSaid(this.#session);
    yield* this.#untold.splice(0).map((text) => this.#warning(text));
    yield* this.#agents.takeUnheard();
    yield* input.replies;
    if (input.work) {
      yield* this.#work(input.work, turn, model, canUseTool);
      return;
    }
    const answer = this.#answerWithoutQuery(input, settled);
    if (answer) {
      yield await this.#result(turn, answer);
      return;
    }
    const result = yield* this.#query(input, turn, model, canUseTool, left?.turnsSpent ?? 0);
    yield await this.#result(turn, { kind: 'queried', result });
  }

  // ── the thirteen steps ──

  /** 1. What this turn starts with. The working folder is a value of the configuration. */
  #beginTurn(options: SubmitOptions, hasPrompt: boolean): Turn {
    // A controller for each turn: the host's ends whichever runs, and is never used up by ours.
    this.#abortController = new AbortController();
    const host = this.#config.abortController?.signal;
    if (host?.aborted) this.#abortController.abort();
    host?.addEventListener('abort', this.#onHostAbort); // for this turn: a host may have many engines
    this.#discoveredSkillNames.clear();
    const turn = new Turn(this.#session.usage.snapshot());
    if (hasPrompt) turn.promptUuids.push(options.uuid ?? randomUUID());
    this.#turn = turn;
    this.#session.onDiskFailure = (error) => this.#failTurn(turn, error);
    return turn;
  }

  /** A disk that is full ends the turn, not the history: what waits is written when it can be. */
  #failTurn(turn: Turn, error: Error): void {
    const text = `The session cannot be written down: ${error.message}. Free some space and go on.`;
    turn.errors.push(text);
    this.#scope?.warn(text);
    this.interrupt();
  }

  /** Before the first line is written. @returns what the host should know of the file. */
  async #openJournal(): Promise<readonly SDKMessage[]> {
    if (this.#hasOpenedJournal) return [];
    const cutBytes = await this.#session.transcript.open();
    this.#hasOpenedJournal = true;
    const notices = journalNotices(cutBytes, this.#config.resumed?.restored);
    return notices.map((text) => this.#warning(text));
  }

  #warning(content: string): SDKMessage {
    const word = { subtype: 'informational', level: 'warning', content } as const;
    return systemToWire(word, this.#session.uuid(), this.sessionId);
  }

  /** At once while a turn shows what happens, else with the next turn. */
  #tell(text: string): void {
    if (this.#scope) this.#scope.warn(text);
    else this.#untold.push(text);
  }

  /** Prompts of a dead process get their result from the first turn after it. */
  #takeUpWhatIsLeft(turn: Turn): Restored | undefined {
    const left = this.#left;
    this.#left = undefined;
    if (!left) return undefined;
    turn.promptUuids.push(...left.openPrompts);
    if (left.isInterrupted) this.#session.transcript.note('turn-resumed', {});
    return left;
  }

  /** Its queue: hooks look at these prompts, too. The result names them, also those it stops. */
  async #admitLeft(turn: Turn, left: Restored | undefined): Promise<readonly LogMessage[]> {
    const queued = left?.queued ?? [];
    const { signal } = this.#abortController;
    const warn = (text: string) => this.#untold.push(text);
    const admitted = await admitLeft(this.#session, queued, signal, warn);
    if (!signal.aborted) turn.promptUuids.push(...queued.map(({ uuid }) => uuid));
    return admitted;
  }

  /** 2. Denials are kept for the result. (The executor reports them; so nothing is asked twice.) */
  #wrapCanUseTool(): CanUseTool | undefined {
    return this.#config.canUseTool;
  }

  /** 3. The model that the host chose last. Thinking is decided with the request. */
  #resolveModel(): string {
    const { userSpecifiedModel } = this.#config;
    return this.#session.chosenModel ?? userSpecifiedModel ?? this.#session.defaultModel;
  }

  /** 4. Once for a session: a prompt that changes would cost the cache. */
  #buildSystemPrompt(model: string): Promise<void> {
    return buildSessionPrompt(this.#session, model);
  }

  /** 5. A wanted shape becomes a tool of this turn. */
  #registerStructuredOutput(): void {
    const { jsonSchema } = this.#config;
    this.#turnTools = jsonSchema ? [structuredOutputTool(jsonSchema)] : [];
  }

  /**
   * 6. Calls that an earlier turn has left open are closed, without a model call: those that were
   * deferred, and those of a dead process. The answer to a question of that process counts once.
   * @returns `undefined` when there was none: then nothing was said yet.
   */
  async *#handleOrphanedPermission(
    turn: Turn,
    model: string,
    canUseTool: CanUseTool | undefined,
  ): AsyncGenerator<SDKMessage, SettledCalls | undefined, unknown> {
    const session = this.#session;
    const calls = openCalls(session.log.at(this.#history.head));
    const isDeferred = this.#isDeferred;
    this.#isDeferred = false;
    if (calls.length === 0) return undefined;
    yield this.#initMessage(model);
    const scope = this.#beginScope(turn, model, canUseTool);
    scope.interrupt = () => this.interrupt();
    const config = snapshotQueryConfig(this.sessionId, this.#config.gates);
    const services = this.#servicesNow();
    const isAnswered = this.#hasHandledOrphanedPermission;
    this.#hasHandledOrphanedPermission = true;
    const settling = settleCalls({
      ...{ calls, scope, config, services, isDeferred },
      signal: this.#abortController.signal,
      orphanedPermission: isAnswered ? undefined : this.#config.orphanedPermission,
    });
    const keep = ({ messages, deferred }: SettledCalls) => {
      this.#history = session.log.append(this.#history, messages);
      if (deferred[0]) turn.deferred = deferred[0];
    };
    return yield* heardWhile(settling, scope, () => this.interrupt(), keep);
  }

  /** 7. Slash commands, hooks of the prompt, budget in the prompt. */
  async #processUserInput(
    prompt: Prompt | undefined,
    options: SubmitOptions,
    turn: Turn,
  ): Promise<ProcessedInput> {
    const { signal } = this.#abortController;
    this.#untold.push(...(await beginSession(this.#session, signal)));
    if (prompt === undefined) return noPrompt;
    if (options.fault !== undefined) throw new Error(options.fault);
    const input = await acceptPrompt({
      prompt,
      uuid: turn.promptUuids[0] ?? randomUUID(),
      isMeta: options.isMeta ?? false,
      session: this.#session,
      commands: this.#commands(),
      judge: this.#servicesNow().judge,
      signal,
    });
    if (input.isRepeated) turn.promptUuids.shift(); // exactly one result names it
    return input;
  }

  /** Files may have changed since the last turn; the fence is looked at before the first. */
  async #lookAtSettings(): Promise<void> {
    const { refreshSettings, sandbox, setAppState } = this.#config;
    if (!this.#session.start.hasBegun && sandbox)
      this.#untold.push(...(await sandboxWarnings(sandbox)));
    if (!refreshSettings) return;
    const { warnings, change } = await refreshSettings();
    this.#untold.push(...warnings);
    setAppState((previous) => ({
      ...previous,
      toolPermissionContext: change(previous.toolPermissionContext),
    }));
  }

  /** 8. On disk before the first request: `--resume` finds it after a kill. Bare does not wait. */
  async #persistUserMessages(input: ProcessedInput, left: readonly LogMessage[]): Promise<void> {
    const { log, transcript, notices, watch } = this.#session;
    const told = input.shouldQuery ? notices.splice(0) : [];
    const messages = [...left, ...told, ...input.messages];
    this.#history = log.append(this.#history, messages);
    for (const message of messages) {
      transcript.record(message);
      watch.tell({ type: 'prompt.taken', message });
    }
    if (messages.length === 0) return;
    const written = transcript.commit();
    if (this.#config.bare) void written.catch(() => {});
    else await written;
  }

  /** 9. Skills and plugins were read with the options; those of parts are found by the work. */
  #loadSkills(): readonly string[] {
    const known = this.#config.skills ?? [];
    const found = foundSkillsOf(this.#session.toolState);
    return [...known, ...found].map(({ name }) => name);
  }

  /** 10. What the host may show about this turn. */
  #initMessage(model: string, skills = this.#loadSkills()): SDKMessage {
    return initMessage(this.#session, this.#config, {
      model,
      skills,
      servers: this.mcpServers,
      commands: this.#commands().map(({ name }) => name),
      agents: mergedAgents(builtInAgents, this.#config.agents).map(({ name }) => name),
    });
  }

  /** Instead of the loop: a command works on the conversation, and speaks while it does. */
  async *#work(
    work: NonNullable<ProcessedInput['work']>,
    turn: Turn,
    model: string,
    canUseTool: CanUseTool | undefined,
  ): AsyncGenerator<SDKMessage, void, unknown> {
    const scope = this.#beginScope(turn, model, canUseTool);
    const working = work({
      state: begin(this.#queryInput(noPrompt, model, 0)),
      compact: this.#servicesNow().compact,
      signal: this.#abortController.signal,
    });
    const keep = ({ history }: CommandOutcome) => {
      // What a person has done to the past says nothing about how fast the window fills.
      if (history.head !== this.#history.head) {
        this.#session.autoCompactTracking = undefined;
        this.#session.lastRequest = undefined;
      }
      this.#history = history;
    };
    const done = yield* heardWhile(working, scope, () => this.interrupt(), keep);
    const { text, reason, error } = done;
    if (error !== undefined) turn.errors.push(error);
    yield await this.#result(turn, { kind: 'answered', text, reason });
  }

  /** 11. A local command, a refused prompt, a call that is left to the host again. */
  #answerWithoutQuery(
    input: ProcessedInput,
    settled: SettledCalls | undefined,
  ): TurnOutcome | undefined {
    if (!input.shouldQuery) return { kind: 'answered', text: input.text, reason: input.reason };
    if (settled && settled.deferred.length > 0) {
      return { kind: 'answered', text: '', reason: 'tool_deferred' };
    }
    return undefined;
  }

  /** 12. The loop: messages come as they happen, and the history that stands is kept. */
  async *#query(
    input: ProcessedInput,
    turn: Turn,
    model: string,
    canUseTool: CanUseTool | undefined,
    turnsSpent: number,
  ): AsyncGenerator<SDKMessage, QueryResult, unknown> {
    const session = this.#session;
    const config = snapshotQueryConfig(this.sessionId, this.#config.gates);
    const scope = this.#beginScope(turn, model, canUseTool);
    const production = productionDeps(scope, config, this.#servicesNow());
    const deps: QueryDeps = { ...production, ...this.#config.deps };
    session.taskBudgetRemaining = undefined;
    let ended: QueryResult | undefined;
    const running = runQuery({
      input: this.#queryInput(input, model, turnsSpent),
      config,
      deps,
      scope,
      signal: this.#abortController.signal,
      ...(this.inspect ? { inspect: this.inspect } : {}),
      onEnd: (result) => {
        ended = result;
      },
    });
    let isHeard = false;
    try {
      const result = yield* watching(running, (message) => this.#replay(message));
      isHeard = true;
      this.#history = result.history;
      await tellFailure(result, session.runHooks, this.#abortController.signal);
      return result;
    } finally {
      if (!isHeard && ended) await this.#endUnheard(turn, ended);
    }
  }

  /** The host has left: nobody hears the result, but history and transcript have it. */
  async #endUnheard(turn: Turn, result: QueryResult): Promise<void> {
    this.#history = result.history;
    await this.#result(turn, { kind: 'queried', result });
  }

  /** What the query drops from the past goes from the store of the engine at once. */
  #replay(message: SDKMessage): void {
    const { log } = this.#session;
    const replayed = this.#config.snipReplay?.(message, this.messages);
    if (!replayed?.executed) return;
    this.#history = log.rewrite(replayed.messages, this.#history.tokens);
  }

  /** The way to the host, for one query or for the calls that are closed before it. */
  #beginScope(turn: Turn, model: string, canUseTool: CanUseTool | undefined): QueryScope {
    const session = this.#session;
    const scope = new QueryScope({
      session,
      turn,
      queue: new OutputQueue<SDKMessage>(progressKey),
      uuid: session.uuid,
      now: session.now,
      includePartialMessages: this.#config.includePartialMessages ?? false,
      onDenied: (denial) => {
        turn.denials.push(denial);
        this.#permissionDenials.push(denial);
      },
      ...(canUseTool ? { canUseTool } : {}),
    });
    scope.agents = this.#agents.runnerFor(scope, 0);
    this.#scope = scope;
    session.primaryModel = model;
    session.tellHost = (message) => scope.system(message);
    return scope;
  }

  #queryInput({ tokenBudget }: ProcessedInput, model: string, turnsSpent: number): QueryInput {
    return queryInput(this.#session, { history: this.#history, model, turnsSpent, tokenBudget });
  }

  /** 13. The last word. Also of a turn that failed before it began. */
  async #result(turn: Turn, outcome: TurnOutcome): Promise<SDKMessage> {
    if (outcome.kind === 'queried') {
      this.#isDeferred = outcome.result.reason === 'tool_deferred';
      this.#session.autoCompactTracking = outcome.result.autoCompactTracking;
    }
    if (turn.deferred) this.#isDeferred = true;
    const message = resultMessage(turn, outcome, this.#session);
    turn.hasResult = true;
    const { transcript } = this.#session;
    transcript.note('result', { ...message });
    const written = transcript.commit().catch(() => {}); // a disk that fails was told already
    if (!this.#config.bare) await written;
    return message;
  }

  // ── the host's say while a turn runs ──

  /** A prompt beside the turn that runs: folded in at its next chance, else left for the next. */
  enqueue(prompt: Prompt, options: SubmitOptions & { readonly priority?: Priority } = {}): void {
    const priority = enqueuePrompt(this.#session, prompt, options);
    if (priority === 'now') this.interrupt();
    if (priority === undefined) {
      this.#tell(`The prompt ${options.uuid} is in the session already and is not asked again.`);
    }
  }

  /** Takes back a prompt that no turn has taken. @returns whether it was still waiting. */
  cancel(uuid: string): boolean {
    return cancelPrompt(this.#session, uuid);
  }

  /** Prompts that no turn has taken, oldest first: the caller submits them as the next turn. */
  takeQueued(): readonly ({ readonly prompt: Prompt } & Required<Omit<SubmitOptions, 'fault'>>)[] {
    return takePrompts(this.#session);
  }

  /** Stops the turn that runs; its result says `aborted_*`. Without a turn nothing happens. */
  interrupt(): void {
    if (this.#turn) this.#abortController.abort();
  }

  /**
   * Back to a message: it stays, what came after it is another branch. The next prompt goes on from
   * there. Between turns only.
   * @throws when a turn runs, or the message is not in this session.
   */
  async rewind(messageUuid: string, options: RewindOptions = {}): Promise<RewindFilesResult> {
    if (this.#turn) throw new Error('a turn is running: interrupt it first');
    const { conversation = true, dryRun = false } = options;
    const { transcript, log, toolState } = this.#session;
    await this.#openJournal();
    const messages = await messagesUpTo(this.#session, this.messages, messageUuid);
    if (this.#turn) throw new Error('a turn has begun meanwhile: nothing was rewound');
    const rewound = await rewoundFiles(this.#session, messageUuid, options);
    if (!rewound.canRewind || !conversation || dryRun) return rewound;
    this.#history = log.rewrite(messages, 0);
    this.#left = undefined;
    this.#isDeferred = false;
    transcript.rewind(messages.at(-1)?.uuid ?? null);
    fileStateOf(toolState).forgetShown();
    this.#loadedNestedMemoryPaths.clear();
    for (const path of this.#config.memoryPaths ?? []) this.#loadedNestedMemoryPaths.add(path);
    await transcript.commit();
    return rewound;
  }

  /**
   * Sums up the conversation now: a turn of its own, as if a person had said `/compact`.
   * @param instructions wishes for the summary.
   */
  compact(
    instructions = '',
    options: SubmitOptions = {},
  ): AsyncGenerator<SDKMessage, void, unknown> {
    return this.submitMessage(`/compact ${instructions}`, options);
  }

  /**
   * All turns before this message are dropped, without a summary: by the turn that runs at its next
   * iteration, else by the next turn. Calls stay with their results; the last request stays.
   */
  snip(beforeUuid: string): void {
    this.#session.snipRequest = beforeUuid;
  }

  /** How full the window is, and with what. Asks nobody; estimates where the API said nothing yet. */
  async contextUsage(): Promise<ContextUsage> {
    const session = this.#session;
    const model = this.#resolveModel();
    await this.#buildSystemPrompt(model);
    const { head } = this.#history;
    return contextUsageOf(session, this.#turn ? newestHead(session, head) : head, model);
  }

  /** Ends a task that an agent works on. @returns whether it was running. */
  stopTask(taskId: string): boolean {
    return this.#agents.stop(taskId);
  }

  /** Acts at the next request. `undefined`: the default again. */
  setModel(model: string | undefined): void {
    this.#session.chosenModel = model;
  }

  /** @throws UsageError: nobody opens the bypass that was not made available at the start. */
  setPermissionMode(mode: PermissionMode): void {
    const { isBypassAvailable } = this.#config.getAppState().toolPermissionContext;
    if (mode === 'bypassPermissions' && !isBypassAvailable) {
      throw new UsageError(
        'bypassPermissions was not made available at the start: allowDangerouslySkipPermissions, ' +
          'or --allow-dangerously-skip-permissions',
      );
    }
    this.#config.setAppState((previous) => ({
      ...previous,
      toolPermissionContext: { ...previous.toolPermissionContext, mode },
    }));
  }

  /**
   * Ends the session: the turn that runs, shells, servers, files. Idempotent. A host that goes on
   * reading the turn has its result in the file, too; one that does not is waited for a second.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.interrupt();
    await this.#agents.close();
    await this.#lastWord();
    await closeSession(this.#session, this.#servers);
    this.#session.watch.tell({ type: 'engine.closed' });
  }

  /** Made with the first query: they look at what the host has set until then. */
  #servicesNow(): SessionServices {
    this.#services ??= sessionServices(this.#session, () => this.#scope);
    return this.#services;
  }

  /** The turn that runs is given its time to end: its result belongs into the file. */
  async #lastWord(): Promise<void> {
    if (!this.#turn) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LAST_WORD_MS);
    });
    const ended = new Promise<void>((resolve) => {
      this.#onTurnEnd = resolve;
    });
    await Promise.race([ended, late]);
    clearTimeout(timer);
  }

  #endTurn(): void {
    this.#config.abortController?.signal.removeEventListener('abort', this.#onHostAbort);
    this.#scope = undefined;
    this.#turn = undefined;
    this.#turnTools = [];
    this.#onTurnEnd();
  }

  #tools(): readonly Tool[] {
    return [
      ...this.#config.tools,
      ...this.#servers.tools(),
      ...laterSkillTool(this.#config),
      ...this.#turnTools,
    ];
  }

  #commands(): readonly Command[] {
    return withOwnCommands([...this.#config.commands, ...this.#servers.commands()]);
  }
}

/** A turn that goes on without a prompt. */
const noPrompt: ProcessedInput = {
  messages: [],
  shouldQuery: true,
  text: '',
  reason: 'completed',
  replies: [],
  tokenBudget: undefined,
};
