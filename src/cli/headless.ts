/**
 * The executable as other programs drive it: JSON lines in, JSON lines out, one session, one turn
 * after the other. `control.ts` says what those programs really send.
 */
import { randomUUID } from 'node:crypto';
import { isRecord } from '../../services/is-record.ts';
import type { Options } from '../options.ts';
import { permissionModeNamed, permissionModes } from '../permission-modes.ts';
import { byPriority } from '../prompt-queue.ts';
import type { QueryEngine } from '../query-engine.ts';
import { UsageError } from '../usage-error.ts';
import type { SDKMessage } from '../wire.ts';
import { callHookOver, canUseToolOver } from './bindings.ts';
import { type CliContext, closeEngine, exitCodes } from './context.ts';
import { type ControlBody, ControlChannel, type Fields } from './control.ts';
import { startHeartbeat } from './heartbeat.ts';
import { elicitOver, HostServers } from './host-servers.ts';
import { configures, type InitializeRequest, readInitialize } from './initialize.ts';
import { initializeAnswer, slashCommandsOf } from './initialize-answer.ts';
import { type HostPrompt, joinPrompts, promptOf } from './prompts.ts';
import { watchSignals } from './signals.ts';
import { readLines } from './stdin-lines.ts';

export interface HeadlessParts {
  readonly options: Options;
  /** The host answers permission questions over the control channel. */
  readonly asksHost: boolean;
  readonly mcpServers: Readonly<Record<string, unknown>>;
}

/** Serves one host until it has said all and heard all. @returns the exit code. */
export async function runHeadless(parts: HeadlessParts, context: CliContext): Promise<number> {
  const session = new HeadlessSession(parts, context);
  const watch = watchSignals(() => session.abort());
  context.out.gone.addEventListener('abort', () => session.abort());
  const stopHeartbeat = startHeartbeat(context.out);
  try {
    const code = await session.run();
    return watch.exitCode ?? code;
  } finally {
    stopHeartbeat();
    await session.close();
    await context.out.flush();
  }
}

class HeadlessSession {
  readonly #parts: HeadlessParts;
  readonly #context: CliContext;
  readonly #channel: ControlChannel;
  readonly #servers: HostServers;
  /** Prompts that no turn has taken yet, by priority and age. */
  #queue: HostPrompt[] = [];
  /** Prompts that only go along with the next one. */
  #notes: HostPrompt[] = [];
  #engine: Promise<QueryEngine> | undefined;
  #running: QueryEngine | undefined;
  #isInputOver = false;
  #isAborted = false;
  /** The host said stop after a prompt was taken and before its turn could begin. */
  #stopsNext = false;
  #isStarting = false;
  /** There is an interrupted turn, and it was tried too often. */
  #hasGivenUp = false;
  #hasHeardHost = false;
  /** Its `initialize` was heard, and was the beginning. */
  #hasInitialized = false;
  /** The list of commands that the host has; `undefined`: it has not asked for one. */
  #toldCommands: string | undefined;
  #lastState: 'idle' | 'running' | 'requires_action' = 'idle';
  #lastResult: Extract<SDKMessage, { type: 'result' }> | undefined;
  #wake: () => void = () => {};

  constructor(parts: HeadlessParts, context: CliContext) {
    this.#parts = parts;
    this.#context = context;
    this.#channel = new ControlChannel({
      write: (message) => context.out.write(message),
      warn: context.warn,
      handlers: {
        initialize: (body) => this.#onInitialize(body),
        interrupt: (body) => this.#onInterrupt(body),
        set_permission_mode: (body) => this.#onSetPermissionMode(body),
        set_model: (body) => this.#onSetModel(body),
        stop_task: async (body) => ({
          stopped: (await this.#engineReady(undefined)).stopTask(String(body.task_id)),
        }),
        cancel_async_message: (body) => this.#onCancelMessage(body),
        rewind_files: (body) => this.#onRewindFiles(body),
        get_context_usage: async () => ({
          ...(await (await this.#engineReady(undefined)).contextUsage()),
        }),
        mcp_status: async () => ({ mcpServers: (await this.#engine)?.mcpServers ?? [] }),
        mcp_reconnect: (body) => this.#onReconnect(body),
        mcp_message: (body) => this.#servers.onMessage(body),
      },
    });
    this.#servers = new HostServers(this.#channel, context.warn);
  }

  /** Until stdin has ended and every prompt has its result, or the host or a signal says stop. */
  async run(): Promise<number> {
    const reading = this.#readInput();
    // Reading may wait for ever (a signal ends the turns, not the input), so it is not awaited.
    reading.catch((error: unknown) => this.#endInput(`stdin failed: ${String(error)}`));
    if (this.#parts.options.finishInterrupted) await this.#finishInterrupted();
    for (let next = await this.#nextPrompt(); next; next = await this.#nextPrompt()) {
      await this.#runTurn(next);
    }
    // `initialize` may have failed although no prompt came after it.
    await this.#engine;
    if (this.#context.out.gone.aborted) return exitCodes.failed;
    if (this.#lastResult) return this.#lastResult.is_error ? exitCodes.failed : exitCodes.good;
    if (this.#hasGivenUp) return exitCodes.failed;
    if (this.#hasHeardHost || this.#isAborted) return exitCodes.good;
    throw new UsageError(
      'no prompt: stdin ended without a line {"type":"user","message":{"role":"user","content":"…"}}',
    );
  }

  /** Stops what runs. Prompts that wait get their (aborted) result, too. Idempotent. */
  abort(): void {
    this.#isAborted = true;
    this.#running?.interrupt();
    this.#wake();
  }

  async close(): Promise<void> {
    this.#channel.close('the session has ended');
    const engine = await this.#engine?.catch(() => undefined);
    if (engine) await closeEngine(engine, this.#context);
  }

  // ── what comes in ──

  async #readInput(): Promise<void> {
    for await (const line of readLines(this.#context.stdin)) {
      if (line.kind === 'tooLong') {
        this.#context.warn(
          `a line of ${line.bytes} bytes on stdin was refused: send at most 64 MB in a line`,
        );
        continue;
      }
      this.#hear(line.text);
    }
    this.#endInput('the host has closed its end');
  }

  #endInput(cause: string): void {
    this.#isInputOver = true;
    this.#channel.close(cause);
    this.#wake();
  }

  #hear(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch (error) {
      const cause = (error as Error).message;
      this.#context.warn(`a line on stdin is no JSON and was ignored: ${cause}`);
      return;
    }
    if (!isRecord(message)) {
      this.#context.warn('a line on stdin is no JSON object and was ignored');
      return;
    }
    if (this.#channel.hear(message)) {
      this.#hasHeardHost = true;
      return;
    }
    if (message.type !== 'user') {
      this.#context.debug(`ignored on stdin: type ${String(message.type)}`);
      return;
    }
    this.#accept(promptOf(message));
  }

  /** Beside a turn that runs a prompt can be folded in; else it waits for its own. */
  #accept(prompt: HostPrompt): void {
    if (!prompt.shouldQuery) this.#notes.push(prompt);
    else if (this.#running && !this.#isAborted && !prompt.fault)
      this.#running.enqueue(prompt.prompt, prompt);
    else this.#queue = byPriority([...this.#queue, prompt]);
    this.#wake();
  }

  async #nextPrompt(): Promise<HostPrompt | undefined> {
    while (this.#queue.length === 0 && !this.#isInputOver && !this.#isAborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#queue.shift();
  }

  // ── turns ──

  async #runTurn(next: HostPrompt): Promise<void> {
    this.#isStarting = true;
    const engine = await this.#engineReady(undefined);
    const notes = (next.fault ? [] : this.#notes.splice(0)).map(({ prompt }) => prompt);
    const { uuid, isMeta, fault } = next;
    const prompt = joinPrompts([...notes, next.prompt]);
    const turn = engine.submitMessage(prompt, { uuid, isMeta, ...(fault ? { fault } : {}) });
    this.#running = engine;
    const first = turn.next();
    // Only a turn that has begun can be stopped; this one must not get as far as a request.
    if (this.#isAborted || this.#stopsNext) engine.interrupt();
    this.#isStarting = false;
    this.#stopsNext = false;
    try {
      for (let step = await first; !step.done; step = await turn.next()) {
        await this.#show(step.value);
        if (this.#context.out.gone.aborted) await turn.return();
      }
    } finally {
      this.#running = undefined;
      this.#takeBack(engine);
    }
  }

  /** The turn that a crash has interrupted, with a result of its own. */
  async #finishInterrupted(): Promise<void> {
    const engine = await this.#engineReady(undefined);
    this.#running = engine;
    this.#hasGivenUp = engine.interrupted?.mayFinish === false;
    try {
      for await (const message of engine.finishInterrupted()) {
        await this.#show(message);
        if (this.#context.out.gone.aborted) break;
      }
    } finally {
      this.#running = undefined;
      this.#takeBack(engine);
    }
  }

  /** Prompts that came beside the turn and that it has not taken: they are what they were. */
  #takeBack(engine: QueryEngine): void {
    const left = engine.takeQueued().map((prompt) => ({ ...prompt, shouldQuery: true }));
    this.#queue = byPriority([...this.#queue, ...left]);
  }

  async #show(message: SDKMessage): Promise<void> {
    await this.#context.out.write(message);
    if (message.type === 'system') {
      if (message.subtype === 'session_state_changed') this.#lastState = message.state;
      if (message.subtype === 'init') await this.#showCommands(message.session_id);
    }
    if (message.type !== 'result') return;
    this.#lastResult = message;
    if (this.#lastState === 'idle') return;
    // Once it has heard that a person is asked, the SDK keeps its end open after a result until it
    // hears that nothing goes on. `sdk_host_only`: it does not pass this line on.
    this.#lastState = 'idle';
    await this.#context.out.write({
      type: 'system',
      subtype: 'session_state_changed',
      state: 'idle',
      uuid: randomUUID(),
      session_id: message.session_id,
      sdk_host_only: true,
    });
  }

  /** Servers bring theirs when they are connected, which may be after the host was told a list. */
  async #showCommands(session_id: string): Promise<void> {
    if (this.#toldCommands === undefined) return;
    const commands = slashCommandsOf((await this.#engine)?.commands ?? []);
    const now = JSON.stringify(commands);
    if (now === this.#toldCommands) return;
    this.#toldCommands = now;
    const uuid = randomUUID();
    await this.#context.out.write({
      ...{ type: 'system', subtype: 'commands_changed', commands, uuid, session_id },
    });
  }

  // ── the engine ──

  /** Made once: by `initialize`, or by the first prompt of a host that does not initialize. */
  #engineReady(request: InitializeRequest | undefined): Promise<QueryEngine> {
    return this.#engine ?? this.#begin(this.#makeEngine(request));
  }

  #begin(making: Promise<QueryEngine>): Promise<QueryEngine> {
    this.#engine = making;
    // A failure must end a session that waits for its first prompt.
    making.catch(() => this.#endInput('the session could not begin'));
    return making;
  }

  async #makeEngine(request: InitializeRequest | undefined): Promise<QueryEngine> {
    const { options, asksHost, mcpServers } = this.#parts;
    const { engineFromOptions } = await import('../options.ts');
    const callMs = Number(this.#context.environment.MCP_TOOL_TIMEOUT) || undefined;
    const mcpClients = await this.#servers.connect(request?.servers ?? new Map(), callMs);
    const configured = { ...mcpServers, ...request?.mcpServers };
    const engine = await engineFromOptions(
      {
        ...options,
        ...request?.options,
        ...(asksHost && { canUseTool: canUseToolOver(this.#channel) }),
        ...(request && { onElicitation: elicitOver(this.#channel) }),
        stderr: this.#context.debug,
        ...(mcpClients.length > 0 && { mcpClients }),
        ...(Object.keys(configured).length > 0 && { mcpServers: configured }),
      },
      this.#context.environment,
    );
    this.#context.onEngine?.(engine);
    return engine;
  }

  // ── what the host asks for ──

  async #onInitialize(body: ControlBody): Promise<Fields> {
    const isFirst = this.#engine === undefined;
    if (!isFirst && !this.#hasInitialized && configures(body)) {
      throw new UsageError(
        'initialize came too late: the session has begun without it. Send it first, before any ' +
          'prompt and any other request',
      );
    }
    const request = this.#readInitialize(body);
    for (const warning of request.warnings) this.#context.warn(warning);
    const { commands } = await this.#engineReady(request);
    this.#toldCommands = JSON.stringify(slashCommandsOf(commands));
    const answer = await initializeAnswer(
      commands,
      request.options.agents ?? {},
      this.#context.environment,
      request.confirmations,
    );
    // A second one is answered, but hooks and prompts are those of the first.
    const repeated = 'hooks_applied' in request.confirmations ? { hooks_applied: false } : {};
    return isFirst ? answer : { ...answer, ...repeated };
  }

  /** One that cannot be obeyed is the end: its host may have sent a prompt behind it already. */
  #readInitialize(body: ControlBody): InitializeRequest {
    try {
      const request = readInitialize(body, callHookOver(this.#channel));
      this.#hasInitialized ||= this.#engine === undefined;
      return request;
    } catch (error) {
      if (!this.#engine) this.#begin(Promise.reject(error)).catch(() => {});
      throw error;
    }
  }

  /** The receipt names prompts that still run afterwards, unless they were to be dropped, too. */
  #onInterrupt(body: ControlBody): Fields {
    if (this.#running) {
      this.#takeBack(this.#running);
      this.#running.interrupt();
    } else if (this.#isStarting) {
      this.#stopsNext = true;
    }
    const waiting = this.#queue.map(({ uuid }) => uuid);
    if (body.cancel_queued !== true) return { still_queued: waiting };
    this.#queue = [];
    for (const uuid of waiting) this.#running?.cancel(uuid);
    return { still_queued: [], cancelled: waiting };
  }

  async #onSetPermissionMode(body: ControlBody): Promise<Fields> {
    const mode = permissionModeNamed(body.mode);
    if (!mode) throw new UsageError(`unknown permission mode: ${permissionModes.join(', ')} exist`);
    if (mode === 'bypassPermissions' && !this.#parts.options.allowDangerouslySkipPermissions) {
      throw new UsageError(
        'bypassPermissions was not allowed at the start: add --allow-dangerously-skip-permissions',
      );
    }
    (await this.#engineReady(undefined)).setPermissionMode(mode);
    return { mode };
  }

  /** Between turns: a tool that runs may be writing what is put back. */
  async #onRewindFiles(body: ControlBody): Promise<Fields> {
    const message = body.user_message_id;
    if (typeof message !== 'string') throw new UsageError('rewind_files: name the user_message_id');
    const engine = await this.#engineReady(undefined);
    const options = { conversation: false, files: true, dryRun: body.dry_run === true };
    return { ...(await engine.rewind(message, options)) };
  }

  /** Connects a server of tools anew. */
  async #onReconnect(body: ControlBody): Promise<Fields> {
    const name = String(body.serverName);
    const engine = await this.#engineReady(undefined);
    if (!(await engine.reconnectMcpServer(name))) {
      throw new UsageError(`mcp_reconnect: there is no server ${JSON.stringify(name)} to connect`);
    }
    return {};
  }

  async #onSetModel(body: ControlBody): Promise<Fields> {
    const name = body.model ?? 'default';
    if (typeof name !== 'string') throw new UsageError('set_model: name a model, or "default"');
    const { modelAccess, modelNamed } = await import('../model-access.ts');
    const access = modelAccess(this.#parts.options, this.#context.environment);
    const model = name === 'default' ? undefined : modelNamed(name, access);
    (await this.#engineReady(undefined)).setModel(model);
    return {};
  }

  /** Only a prompt that no turn has taken can be taken back. */
  #onCancelMessage(body: ControlBody): Fields {
    const wanted = String(body.message_uuid);
    if (this.#running?.cancel(wanted)) return { cancelled: true };
    const kept = this.#queue.filter(({ uuid }) => uuid !== wanted);
    const cancelled = kept.length < this.#queue.length;
    this.#queue = kept;
    return { cancelled };
  }
}
