/**
 * The session: what outlives a turn, and the thirteen steps from a prompt to its result. A plain
 * class; the machine is the query.
 */
import { randomUUID } from 'node:crypto';
import type { InspectionEvent } from 'xstate';
import { limitsOf } from '../machines/limits.ts';
import type { TerminalReason } from '../machines/reasons.ts';
import type { Cursor, QueryInput, QueryResult } from '../machines/state.ts';
import { emptyHistory } from '../services/message-log.ts';
import type { LogMessage } from '../services/messages.ts';
import type {
  CanUseTool,
  PermissionDenial,
  PermissionMode,
} from '../services/permissions/types.ts';
import type { Tool } from '../services/tools/tool.ts';
import {
  type Prompt,
  type QueryEngineConfig,
  type SubmitOptions,
  snapshotQueryConfig,
} from './config.ts';
import { productionDeps, type QueryDeps } from './deps.ts';
import { OutputQueue } from './output-queue.ts';
import { acceptPrompt, type ProcessedInput } from './process-user-input.ts';
import { queryLimits } from './query-limits.ts';
import { QueryScope } from './query-scope.ts';
import { resultMessage, type TurnOutcome } from './result.ts';
import { runQuery } from './run-query.ts';
import { openSession, type Session, SessionToolState } from './session.ts';
import { type SessionServices, sessionServices } from './session-services.ts';
import { structuredOutputTool } from './structured-output.ts';
import { systemContext, systemPrompt, userContext } from './system-prompt.ts';
import { systemToWire } from './to-wire.ts';
import { Turn } from './turn.ts';
import { VERSION } from './version.ts';
import type { SDKMessage } from './wire.ts';

/** These are told to StopFailure hooks. */
const failureReasons: readonly TerminalReason[] = [
  'api_error',
  'model_error',
  'prompt_too_long',
  'image_error',
  'max_output_tokens',
  'refusal',
];
const FAILURE_HOOKS_MS = 60_000;

export class QueryEngine {
  readonly sessionId: string;
  readonly #config: QueryEngineConfig;
  readonly #session: Session;
  #history: Cursor;
  #abortController: AbortController;
  readonly #permissionDenials: PermissionDenial[] = [];
  #hasHandledOrphanedPermission = false;
  readonly #discoveredSkillNames = new Set<string>();
  readonly #loadedNestedMemoryPaths = new Set<string>();
  #turn: Turn | undefined;
  #scope: QueryScope | undefined;
  #services: SessionServices | undefined;
  #turnTools: readonly Tool[] = [];
  #isStarted = false;
  #closing: Promise<void> | undefined;
  /** Passes everything that the chart does to an observer (an inspector). */
  inspect: ((event: InspectionEvent) => void) | undefined;

  constructor(config: QueryEngineConfig) {
    this.#config = config;
    this.sessionId = config.sessionId ?? randomUUID();
    this.#abortController = config.abortController ?? new AbortController();
    this.#session = openSession(config, this.sessionId, VERSION, () => this.#tools());
    const { log } = this.#session;
    const initial = config.initialMessages ?? [];
    this.#history = initial.length > 0 ? log.append(emptyHistory, initial) : emptyHistory;
  }

  /** The seed's `mutableMessages`: what stands, oldest first. */
  get messages(): readonly LogMessage[] {
    return this.#session.log.at(this.#history.head);
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
    if (this.#turn) throw new Error('a turn is running: use enqueue() for prompts beside it');
    const turn = this.#beginTurn(options);
    try {
      yield* this.#steps(prompt, options, turn);
    } catch (error) {
      yield this.#result(turn, { kind: 'setupFailed', error });
    } finally {
      this.#endTurn();
    }
  }

  async *#steps(
    prompt: Prompt,
    options: SubmitOptions,
    turn: Turn,
  ): AsyncGenerator<SDKMessage, void, unknown> {
    const canUseTool = this.#wrapCanUseTool();
    const model = this.#resolveModel();
    await this.#buildSystemPrompt(model);
    this.#registerStructuredOutput(turn);
    await this.#handleOrphanedPermission();
    const input = await this.#processUserInput(prompt, options, turn);
    await this.#persistUserMessages(input);
    await this.#loadSkills();
    yield this.#initMessage(model);
    yield* input.replies;
    if (!input.shouldQuery) {
      yield this.#result(turn, { kind: 'answered', text: input.text, reason: input.reason });
      return;
    }
    const result = yield* this.#query(input, turn, model, canUseTool);
    yield this.#result(turn, { kind: 'queried', result });
  }

  // ── the thirteen steps ──

  /** 1. What this turn starts with. The working folder is a value of the configuration. */
  #beginTurn(options: SubmitOptions): Turn {
    if (this.#abortController.signal.aborted) this.#abortController = new AbortController();
    this.#discoveredSkillNames.clear();
    const turn = new Turn(this.#session.usage.snapshot());
    turn.promptUuids.push(options.uuid ?? randomUUID());
    this.#turn = turn;
    return turn;
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
  async #buildSystemPrompt(model: string): Promise<void> {
    const session = this.#session;
    if (session.systemPrompt.length > 0) return;
    const { cwd, env, customSystemPrompt, appendSystemPrompt, getAppState, memory } = this.#config;
    const custom = customSystemPrompt;
    session.systemPrompt = systemPrompt({
      custom,
      append: appendSystemPrompt,
      context: custom === undefined ? await systemContext(cwd, env) : undefined,
    });
    session.userContext = userContext({
      cwd,
      additionalDirectories: getAppState().toolPermissionContext.additionalDirectories,
      platform: process.platform,
      date: session.now().toISOString().slice(0, 10),
      model,
      memory: memory ?? [],
    });
  }

  /** 5. A wanted shape becomes a tool of this turn. */
  #registerStructuredOutput(turn: Turn): void {
    const { jsonSchema } = this.#config;
    this.#turnTools = jsonSchema ? [structuredOutputTool(jsonSchema, turn)] : [];
  }

  /** 6. The answer to a question of a dead process: once. */
  async #handleOrphanedPermission(): Promise<void> {
    if (this.#hasHandledOrphanedPermission || !this.#config.orphanedPermission) return;
    this.#hasHandledOrphanedPermission = true;
  }

  /** 7. Slash commands, hooks of the prompt, budget in the prompt. */
  #processUserInput(prompt: Prompt, options: SubmitOptions, turn: Turn): Promise<ProcessedInput> {
    const isFirst = !this.#isStarted;
    this.#isStarted = true;
    return acceptPrompt({
      prompt,
      uuid: turn.promptUuids[0] ?? randomUUID(),
      isMeta: options.isMeta ?? false,
      isFirst,
      session: this.#session,
      commands: this.#config.commands,
      signal: this.#abortController.signal,
    });
  }

  /** 8. On disk before the first request: `--resume` finds it after a kill. Bare does not wait. */
  async #persistUserMessages(input: ProcessedInput): Promise<void> {
    const { log, transcript } = this.#session;
    this.#history = log.append(this.#history, input.messages);
    for (const message of input.messages) transcript.record(message);
    if (input.messages.length === 0) return;
    const written = transcript.commit();
    if (this.#config.bare) void written.catch(() => {});
    else await written;
  }

  /** 9. Skills come with their issue; nested memory is remembered here so that it is read once. */
  async #loadSkills(): Promise<void> {
    this.#loadedNestedMemoryPaths.clear();
  }

  /** 10. What the host may show about this turn. */
  #initMessage(model: string): SDKMessage {
    const { cwd, getAppState, mcpClients, commands, agents } = this.#config;
    return systemToWire(
      {
        subtype: 'init',
        cwd,
        model,
        tools: this.#tools().map(({ name }) => name),
        mcp_servers: mcpClients.map(({ name, status }) => ({ name, status })),
        permissionMode: getAppState().toolPermissionContext.mode,
        slash_commands: commands.map(({ name }) => name),
        agents: agents.map(({ name }) => name),
        skills: [...this.#discoveredSkillNames],
        apiKeySource: this.#config.model.apiKey ? 'ANTHROPIC_API_KEY' : 'none',
        output_style: 'default',
        escapement_version: VERSION,
        claude_code_version: VERSION,
      },
      this.#session.uuid(),
      this.sessionId,
    );
  }

  /** 12. The loop: messages come as they happen, and the history that stands is kept. */
  async *#query(
    input: ProcessedInput,
    turn: Turn,
    model: string,
    canUseTool: CanUseTool | undefined,
  ): AsyncGenerator<SDKMessage, QueryResult, unknown> {
    const session = this.#session;
    const config = snapshotQueryConfig(this.sessionId, this.#config.gates);
    const scope = new QueryScope({
      session,
      turn,
      queue: new OutputQueue<SDKMessage>(),
      uuid: session.uuid,
      now: session.now,
      includePartialMessages: this.#config.includePartialMessages ?? false,
      onDenied: (denial) => {
        turn.denials.push(denial);
        this.#permissionDenials.push(denial);
      },
      ...(canUseTool ? { canUseTool } : {}),
    });
    this.#scope = scope;
    session.primaryModel = model;
    session.tellHost = (message) => scope.system(message);
    this.#services ??= sessionServices(session, () => this.#scope);
    const production = productionDeps(scope, config, this.#services);
    const deps: QueryDeps = { ...production, ...this.#config.deps };
    const result = yield* runQuery({
      input: this.#queryInput(input, model),
      config,
      deps,
      scope,
      signal: this.#abortController.signal,
      ...(this.inspect ? { inspect: this.inspect } : {}),
    });
    this.#history = result.history;
    await this.#tellFailure(result);
    return result;
  }

  /** A failure of the model or the API has its own event: Stop hooks judge answers. */
  async #tellFailure({ reason, failure }: QueryResult): Promise<void> {
    if (!failureReasons.includes(reason)) return;
    const signal = AbortSignal.timeout(FAILURE_HOOKS_MS);
    await this.#session.runHooks(
      'StopFailure',
      { error: reason, error_details: failure?.detail },
      { matchQuery: reason, signal },
    );
  }

  #queryInput(input: ProcessedInput, model: string): QueryInput {
    const { fallbackModel, jsonSchema } = this.#config;
    const session = this.#session;
    return {
      queryId: session.uuid(),
      history: this.#history,
      model,
      querySource: 'main',
      startedAtMs: session.now().getTime(),
      spentUsd: session.usage.snapshot().costUsd ?? 0,
      wantsSchema: jsonSchema !== undefined,
      limits: limitsOf(queryLimits(this.#config, model, input.tokenBudget)),
      ...(session.autoCompactTracking ? { autoCompactTracking: session.autoCompactTracking } : {}),
      ...(fallbackModel === undefined || fallbackModel === model ? {} : { fallbackModel }),
    };
  }

  /** 13. The last word. Also of a turn that failed before it began. */
  #result(turn: Turn, outcome: TurnOutcome): SDKMessage {
    if (outcome.kind === 'queried') {
      this.#session.autoCompactTracking = outcome.result.autoCompactTracking;
    }
    const message = resultMessage(turn, outcome, this.#session);
    const { transcript } = this.#session;
    transcript.note('result', { ...message });
    return message;
  }

  // ── the host's say while a turn runs ──

  /** A prompt beside the turn that runs: folded in at its next chance, else left for the next. */
  enqueue(prompt: Prompt, options: SubmitOptions = {}): void {
    const session = this.#session;
    session.queue.push({
      uuid: options.uuid ?? session.uuid(),
      role: 'user',
      kind: 'note',
      origin: 'prompt',
      timestamp: session.now().toISOString(),
      content: typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt,
      ...(options.isMeta ? { isMeta: true } : {}),
    });
  }

  /** Prompts that no turn has taken, oldest first: the caller submits them as the next turn. */
  takeQueued(): readonly { readonly prompt: Prompt; readonly uuid: string }[] {
    return this.#session.queue.splice(0).map(({ content, uuid }) => ({ prompt: content, uuid }));
  }

  /** Stops the turn that runs; its result says `aborted_*`. Without a turn nothing happens. */
  interrupt(): void {
    if (this.#turn) this.#abortController.abort();
  }

  /** Acts at the next request. `undefined`: the default again. */
  setModel(model: string | undefined): void {
    this.#session.chosenModel = model;
  }

  setPermissionMode(mode: PermissionMode): void {
    this.#config.setAppState((previous) => ({
      ...previous,
      toolPermissionContext: { ...previous.toolPermissionContext, mode },
    }));
  }

  /** Ends the session: the turn that runs, shells, servers, files. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.interrupt();
    const { toolState, transcript, stopping, runHooks } = this.#session;
    if (this.#isStarted) {
      const signal = AbortSignal.timeout(5_000);
      await runHooks('SessionEnd', { reason: 'other' }, { matchQuery: 'other', signal });
    }
    await Promise.allSettled(stopping);
    await runHooks.dispose();
    if (toolState instanceof SessionToolState) await toolState.dispose();
    await Promise.allSettled(this.#config.mcpClients.map((client) => client.close()));
    await transcript.commit().catch(() => {});
    transcript.close();
  }

  #endTurn(): void {
    this.#scope = undefined;
    this.#turn = undefined;
    this.#turnTools = [];
  }

  #tools(): readonly Tool[] {
    const { tools, mcpClients } = this.#config;
    return [...tools, ...mcpClients.flatMap((client) => client.tools), ...this.#turnTools];
  }
}
