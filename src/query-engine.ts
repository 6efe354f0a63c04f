/**
 * The session, as its host holds it: prompts go in, messages come out, and a few verbs beside them.
 * A plain class; the machine is the query. What it keeps is `engine-state.ts`, and the thirteen
 * steps from a prompt to its result are `submit.ts`.
 */
import type { InspectionEvent } from 'xstate';
import type { RewindFilesResult } from '../services/journal/checkpoints.ts';
import type { LogMessage } from '../services/messages.ts';
import type { PermissionDenial, PermissionMode } from '../services/permissions/types.ts';
import { bareUuid } from '../services/preprocess/revise.ts';
import { checkValue, modelName, permissionMode } from './check-options.ts';
import { closeSession } from './close-session.ts';
import type { Command, Prompt, QueryEngineConfig, SubmitOptions } from './config.ts';
import { type ContextUsage, contextUsageOf, newestHead } from './context-usage.ts';
import type { EngineObserver } from './engine-events.ts';
import { EngineState } from './engine-state.ts';
import { givenUp, type InterruptedTurn, interruptedTurn } from './left-behind.ts';
import type { ServerReport } from './offered-servers.ts';
import { asSaid, originalsOf } from './originals.ts';
import type { Priority } from './prompt-queue.ts';
import type { QueryHold } from './query-hold.ts';
import { cancelPrompt, enqueuePrompt, type QueuedPrompt, takePrompts } from './queued-prompts.ts';
import { type RewindOptions, rewindEngine } from './rewind.ts';
import { buildSystemPrompt, resolveModel, submit } from './submit.ts';
import { UsageError } from './usage-error.ts';
import type { SDKMessage } from './wire.ts';

export class QueryEngine {
  readonly sessionId: string;
  readonly #state: EngineState;
  #closing: Promise<void> | undefined;

  constructor(config: QueryEngineConfig) {
    this.#state = new EngineState(config);
    this.sessionId = this.#state.session.id;
  }

  // ── turns ──

  /**
   * One turn. Leaving the generator stops everything that runs for it, also while a message is
   * awaited. Ends with exactly one `result`, on every ending.
   * @throws with the first message when a turn runs, or the session is closed.
   */
  submitMessage(
    prompt: Prompt,
    options: SubmitOptions = {},
  ): AsyncGenerator<SDKMessage, void, unknown> {
    return submit(this.#state, prompt, options);
  }

  /** The turn that a dead process has left, if there is one and it may still be ended. */
  get interrupted(): InterruptedTurn | undefined {
    return interruptedTurn(this.#state);
  }

  /**
   * Brings the interrupted turn to its end without a new prompt, within what is left of its turns.
   * Nothing when there is none. When it was tried three times it takes a person to go on: then one
   * warning that says so, and no result.
   */
  finishInterrupted(): AsyncGenerator<SDKMessage, void, unknown> {
    const { interrupted } = this;
    if (interrupted?.mayFinish) return submit(this.#state, undefined, {});
    return only(interrupted ? [this.#state.warning(givenUp(interrupted))] : []);
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

  // ── the host's say while a turn runs ──

  /** Stops the turn that runs; its result says `aborted_*`. Without a turn nothing happens. */
  interrupt(): void {
    this.#state.interrupt();
  }

  /**
   * A prompt beside the turn that runs: folded in at its next chance, else left for the next.
   * @throws UsageError when the session is closed.
   */
  enqueue(prompt: Prompt, options: SubmitOptions & { readonly priority?: Priority } = {}): void {
    this.#state.mustBeOpen();
    if (enqueuePrompt(this.#state.session, prompt, options)) {
      if (options.priority === 'now') this.interrupt();
      return;
    }
    this.#state.tell(
      `The prompt ${options.uuid} is in the session already and is not asked again.`,
    );
  }

  /**
   * Takes back a prompt that no turn has taken. @returns whether it was still waiting.
   * @throws UsageError when the session is closed: whoever goes on with it would ask it all the same.
   */
  cancel(uuid: string): boolean {
    this.#state.mustBeOpen();
    return cancelPrompt(this.#state.session, uuid);
  }

  /** Prompts that no turn has taken, oldest first: the caller submits them as the next turn. */
  takeQueued(): readonly QueuedPrompt[] {
    return takePrompts(this.#state.session);
  }

  /**
   * Acts at the next request. `undefined`: the default again.
   * @throws UsageError for what can be no model's name.
   */
  setModel(model: string | undefined): void {
    checkValue(modelName, model, 'setModel');
    this.#state.session.chosenModel = model;
  }

  /**
   * @throws UsageError for a mode that there is not; and nobody opens the bypass that was not made
   * available at the start.
   */
  setPermissionMode(mode: PermissionMode): void {
    checkValue(permissionMode, mode, 'setPermissionMode');
    const { config } = this.#state;
    const { isBypassAvailable } = config.getAppState().toolPermissionContext;
    if (mode === 'bypassPermissions' && !isBypassAvailable) {
      throw new UsageError(
        'bypassPermissions was not made available at the start: allowDangerouslySkipPermissions, ' +
          'or --allow-dangerously-skip-permissions',
      );
    }
    config.setAppState((previous) => ({
      ...previous,
      toolPermissionContext: { ...previous.toolPermissionContext, mode },
    }));
  }

  /** Ends a task that an agent works on. @returns whether it was running. */
  stopTask(taskId: string): boolean {
    return this.#state.agents.stop(taskId);
  }

  // ── the conversation ──

  /**
   * The seed's `mutableMessages`: what stands, oldest first. Under the names that were told, with
   * what the model reads of each by now.
   */
  get messages(): readonly LogMessage[] {
    return asSaid(this.#state.messages);
  }

  /**
   * The messages that the model reads a summary of, word for word. Reading them changes nothing.
   * @param id as `context_edit` names it in `collapse_ids`.
   * @returns `undefined` when there is none of this name, or its messages are not at hand: behind a
   * compaction a process that has resumed the session does not have them, nor one that has cut its
   * past twice since.
   */
  expandCollapse(id: string): readonly LogMessage[] | undefined {
    return originalsOf(this.#state.session, id);
  }

  /** How full the window is, and with what. Asks nobody; estimates where the API said nothing yet. */
  async contextUsage(): Promise<ContextUsage> {
    const { session } = this.#state;
    const model = resolveModel(this.#state);
    await buildSystemPrompt(this.#state, model);
    const { turn, history } = this.#state;
    return contextUsageOf(session, turn ? newestHead(session, history.head) : history.head, model);
  }

  /**
   * All turns before this message are dropped, without a summary: by the turn that runs at its next
   * iteration, else by the next turn. Calls stay with their results; the last request stays.
   * @throws UsageError when the session is closed.
   */
  snip(beforeUuid: string): void {
    this.#state.mustBeOpen();
    const { session } = this.#state;
    const before = bareUuid(beforeUuid);
    session.snipRequest = before;
    session.transcript.note('snip-request', { before });
  }

  /**
   * Back to a message: it stays, what came after it is another branch. The next prompt goes on from
   * there. Between turns only.
   * @throws when a turn runs, the message is not in this session, or the session is closed.
   */
  async rewind(messageUuid: string, options: RewindOptions = {}): Promise<RewindFilesResult> {
    this.#state.mustBeOpen();
    return rewindEngine(this.#state, messageUuid, options);
  }

  // ── what there is ──

  /** Slash commands, as they are now: the host's, those of servers, the engine's own. */
  get commands(): readonly Command[] {
    return this.#state.session.commands();
  }

  /** Servers of tools, as they are now. */
  get mcpServers(): readonly ServerReport[] {
    return this.#state.servers.report();
  }

  /**
   * Connects a server anew. @returns whether there is one of this name that can be.
   * @throws UsageError when the session is closed: nobody would end the server.
   */
  async reconnectMcpServer(name: string): Promise<boolean> {
    this.#state.mustBeOpen();
    return this.#state.servers.reconnect(name);
  }

  /** Skills that the turn that runs, or the last one, has found in parts of the project. */
  get discoveredSkills(): readonly string[] {
    return [...this.#state.discoveredSkillNames];
  }

  /** Denied calls of the session, oldest first. */
  get permissionDenials(): readonly PermissionDenial[] {
    return this.#state.permissionDenials;
  }

  // ── those who look on ──

  /** Passes everything that the chart does to an observer (an inspector). */
  get inspect(): ((event: InspectionEvent) => void) | undefined {
    return this.#state.inspect;
  }
  set inspect(observer: ((event: InspectionEvent) => void) | undefined) {
    this.#state.inspect = observer;
  }

  /**
   * Lets somebody look on: an inspector, a tracer, a meter. From the next event on.
   * @returns ends it.
   * @experimental
   */
  observe(observer: EngineObserver): () => void {
    return this.#state.session.watch.observe(observer);
  }

  /**
   * Lets somebody hold its queries (breakpoints), from the next query on. `undefined`: nobody.
   * @experimental
   */
  set hold(hold: QueryHold | undefined) {
    this.#state.session.watch.hold = hold;
  }

  /**
   * Ends the session: the turn that runs, shells, servers, files. Idempotent. A host that goes on
   * reading the turn has its result in the file, too; one that does not is waited for a second.
   * From then on nothing can be said to it: another process may hold its file.
   */
  close(): Promise<void> {
    this.#closing ??= closeSession(this.#state);
    return this.#closing;
  }
}

async function* only(messages: readonly SDKMessage[]): AsyncGenerator<SDKMessage, void, unknown> {
  yield* messages;
}
