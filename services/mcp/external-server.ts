/**
 * A server that is not in our process, for as long as a session: connected in the background,
 * offered while it lives, started again when it has died and is needed.
 */

import { Deadline } from '../deadline.ts';
import { orAborted } from '../or-aborted.ts';
import type { Tool, ToolContext, ToolInput } from '../tools/tool.ts';
import { type Connection, type ConnectionOptions, openConnection } from './connection.ts';
import { Elicitation, type HandleElicitation } from './elicitation.ts';
import { type CallServer, externalTools, type ListedTool } from './external-tool.ts';
import { type Failure, failureOf } from './failure.ts';
import { type PromptCommand, promptCommands } from './prompts.ts';
import type { ResourceAccess } from './resources.ts';

/** Programs that are fetched before they run (npx, uvx, docker) need minutes the first time. */
const ATTEMPT_MS_MAX = 300_000;
/** A server that dies at each call is not started for ever. A call that is answered forgives. */
const RESTARTS_IN_A_ROW_MAX = 5;
/** After a call that has changed the list: the next request shall have the new one. */
const RELIST_WAIT_MS = 1_000;
/** Between lists that change while they are asked for; doubled each time, up to the second number. */
const RELIST_PAUSE_MS = [50, 5_000] as const;

export interface ExternalServerOptions
  extends Omit<
    ConnectionOptions,
    'connectMs' | 'signal' | 'onListChanged' | 'onGone' | 'onDebug' | 'elicitation'
  > {
  /** The first turn waits so long for the server, and a call for its restart. Default: 30 s. */
  readonly waitMs?: number;
  /** For each call. Default: 120 s. */
  readonly toolMs?: number;
  readonly onDebug?: (text: string) => void;
}

const WAIT_MS = 30_000;
const TOOL_MS = 120_000;

type State =
  | { readonly at: 'idle' }
  | { readonly at: 'connecting'; readonly opened: Promise<void> }
  | { readonly at: 'connected'; readonly connection: Connection }
  /** It has gone. Its tools stay offered: a call starts it again. */
  | { readonly at: 'lost'; readonly why: string }
  | { readonly at: 'failed'; readonly why: string; readonly needsAuthorization: boolean }
  | { readonly at: 'closed' };

export type ExternalServerStatus = 'connected' | 'failed' | 'pending' | 'needs-auth';

function statusOf(state: State): ExternalServerStatus {
  switch (state.at) {
    case 'idle':
    case 'connecting':
      return 'pending';
    case 'connected':
      return 'connected';
    case 'failed':
      return state.needsAuthorization ? 'needs-auth' : 'failed';
    case 'lost':
    case 'closed':
      return 'failed';
  }
}

interface Lists {
  readonly listedTools: readonly ListedTool[];
  readonly listedPrompts: readonly Readonly<Record<string, unknown>>[];
}

/** Begins to connect when `connect` is called. *Contract:* nothing here throws but a tool's call. */
export function externalServer(options: ExternalServerOptions): ExternalServer {
  return new ExternalServer(options);
}

export class ExternalServer {
  readonly #options: ExternalServerOptions;
  readonly #ending = new AbortController();
  readonly #elicitation: Elicitation;
  #state: State = { at: 'idle' };
  #ready: Promise<void> | undefined;
  #tools: readonly Tool[] = [];
  #commands: readonly PromptCommand[] = [];
  #restarts = 0;
  /** The session has gone on without it: when it comes, somebody should know. */
  #isLate = false;
  #relisting: Promise<void> | undefined;
  #mustRelist = false;
  #relistsInRow = 0;
  #tell: ((text: string) => void) | undefined;
  #untold: string[] = [];
  /** Connections that are given up and may still have something alive. */
  readonly #dropped = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;

  constructor(options: ExternalServerOptions) {
    this.#options = options;
    this.#elicitation = new Elicitation(options.name);
  }

  get name(): string {
    return this.#options.name;
  }

  get status(): ExternalServerStatus {
    return statusOf(this.#state);
  }

  get error(): string | undefined {
    return 'why' in this.#state ? this.#state.why : undefined;
  }

  /** What it offers now. */
  get tools(): readonly Tool[] {
    return this.#tools;
  }

  /** Its prompts. */
  get commands(): readonly PromptCommand[] {
    return this.#commands;
  }

  /** Present while it offers resources. */
  get resources(): ResourceAccess | undefined {
    const { at } = this.#state;
    if (at !== 'connected' || !this.#state.connection.offers.resources) return undefined;
    return {
      list: async (signal) => (await this.#live(signal)).listResources(signal),
      read: async (uri, signal) => (await this.#live(signal)).readResource(uri, signal),
    };
  }

  /**
   * Resolves when it is known what the server offers, or when it was waited for long enough: then
   * the attempt goes on in the background. Idempotent.
   */
  connect(): Promise<void> {
    this.#ready ??= this.#connect();
    return this.#ready;
  }

  /** Tries again, whatever has happened before. */
  async reconnect(): Promise<void> {
    if (this.#state.at === 'connected')
      await this.#drop(this.#state.connection, 'it is connected anew');
    this.#restarts = 0;
    await this.#opened(this.#waitMs);
  }

  /** Hears what people should know: what was left out, what has failed. At once what came before. */
  listen(tell: (text: string) => void): void {
    this.#tell = tell;
    for (const text of this.#untold.splice(0)) tell(text);
  }

  /** Who answers what it asks the person. Before `connect`. */
  answerBy(handle: HandleElicitation): void {
    this.#elicitation.answerBy(handle);
  }

  /** Nothing of it is alive afterwards. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const state = this.#state;
    this.#state = { at: 'closed' };
    this.#tools = [];
    this.#commands = [];
    this.#ending.abort();
    if (state.at === 'connected') await state.connection.close();
    if (state.at === 'connecting') await state.opened;
    await Promise.all(this.#dropped);
  }

  get #waitMs(): number {
    return this.#options.waitMs ?? WAIT_MS;
  }

  #warn(text: string): void {
    this.#say(`MCP server ${this.name} ${text}`);
  }

  #say(text: string): void {
    if (this.#tell) this.#tell(text);
    else this.#untold.push(text);
  }

  // ── connecting ──

  async #connect(): Promise<void> {
    const opened = this.#opened(Math.max(this.#waitMs, ATTEMPT_MS_MAX));
    if (await isSettledWithin(opened, this.#waitMs)) return;
    this.#isLate = true;
    this.#warn(
      `is not ready after ${this.#waitMs / 1000} s (MCP_TIMEOUT): the session goes on without it, its tools come when it is`,
    );
  }

  /** One attempt at a time. Never rejects: how it went is the state. */
  #opened(connectMs: number): Promise<void> {
    const state = this.#state;
    if (state.at === 'connecting') return state.opened;
    if (state.at === 'connected' || state.at === 'closed') return Promise.resolve();
    const opened = this.#open(connectMs);
    // Set before the first await of `#open` can settle.
    this.#state = { at: 'connecting', opened };
    return opened;
  }

  async #open(connectMs: number): Promise<void> {
    const { signal } = this.#ending;
    let connection: Connection | undefined;
    try {
      const opening = await openConnection({
        ...this.#options,
        ...{ connectMs, signal, elicitation: this.#elicitation },
        onDebug: (text) => this.#options.onDebug?.(`${this.name}: ${text}`),
        onListChanged: () => connection && this.#relist(connection),
        onGone: (how) => connection && this.#gone(connection, how),
      });
      connection = opening;
      const lists = await this.#lists(opening);
      // It was closed while the lists came: then nobody else closes this connection.
      if (this.#state.at === 'closed') return await opening.close();
      this.#state = { at: 'connected', connection: opening };
      this.#take(lists);
    } catch (error) {
      await connection?.close();
      if (this.#state.at === 'closed') return;
      const { kind, why } = failureOf(error, signal, this.name);
      const words = kind === 'timeout' ? `it did not answer within ${connectMs / 1000} s` : why;
      this.#state = { at: 'failed', why: words, needsAuthorization: kind === 'unauthorized' };
      this.#warn(`cannot be used: ${words}`);
      return;
    }
    if (this.#isLate) this.#warn(`is ready now: ${this.#tools.length} tools`);
    this.#isLate = false;
  }

  async #lists(connection: Connection): Promise<Lists> {
    const { tools, prompts } = connection.offers;
    const [listedTools, listedPrompts] = await Promise.all([
      tools ? connection.listTools() : [],
      prompts
        ? connection.listPrompts().catch((error: unknown) => {
            // Prompts are a convenience: without them the tools are still of use.
            this.#warn(`does not tell its prompts: ${wordsOf(error)}`);
            return [];
          })
        : [],
    ]);
    return { listedTools, listedPrompts };
  }

  #take({ listedTools, listedPrompts }: Lists): void {
    const { name, toolMs = TOOL_MS } = this.#options;
    const made = externalTools(name, listedTools, this.#call, toolMs);
    for (const warning of made.warnings) this.#say(warning);
    this.#tools = made.tools;
    this.#commands = promptCommands(name, listedPrompts, async (prompt, input) =>
      (await this.#live(this.#ending.signal)).getPrompt(prompt, input),
    );
  }

  /** The server says that a list has changed. Several such words while we ask count once. */
  #relist(connection: Connection): void {
    if (this.#relisting) {
      this.#mustRelist = true;
      return;
    }
    this.#relisting = this.#lists(connection)
      .then((lists) => {
        if (this.#isCurrent(connection)) this.#take(lists);
      })
      .catch((error: unknown) => {
        // The old list stays: most of it is probably still true.
        if (this.#isCurrent(connection))
          this.#warn(`does not tell its new list: ${wordsOf(error)}`);
      })
      .finally(() => {
        this.#relisting = undefined;
        const again = this.#mustRelist && this.#isCurrent(connection);
        this.#mustRelist = false;
        if (again) this.#relistLater(connection);
        else this.#relistsInRow = 0;
      });
  }

  /** A server that says so at each list would be asked for ever, and do nothing else. */
  #relistLater(connection: Connection): void {
    const [first, most] = RELIST_PAUSE_MS;
    const pauseMs = this.#relistsInRow === 0 ? 0 : first * 2 ** (this.#relistsInRow - 1);
    this.#relistsInRow += 1;
    const timer = setTimeout(
      () => this.#isCurrent(connection) && this.#relist(connection),
      Math.min(pauseMs, most),
    );
    timer.unref();
  }

  #isCurrent(connection: Connection): boolean {
    return this.#state.at === 'connected' && this.#state.connection === connection;
  }

  // ── calls ──

  readonly #call: CallServer = async (tool, input, { signal, context }) => {
    const first = await this.#try(tool, input, context, signal);
    const outcome = 'mayRepeat' in first ? await this.#try(tool, input, context, signal) : first;
    if ('failure' in outcome) throw new Error(this.#sentence(outcome.failure));
    return outcome.result;
  };

  /** `mayRepeat`: the server has certainly not run it. */
  async #try(
    tool: string,
    input: ToolInput,
    context: ToolContext,
    signal: AbortSignal,
  ): Promise<{ result: unknown } | { failure: Failure; mayRepeat?: true }> {
    const connection = await this.#live(signal);
    const deadline = new Deadline(this.#options.toolMs ?? TOOL_MS);
    try {
      const result = await this.#elicitation.during(this.#timed(context, deadline), () =>
        connection.callTool(tool, input, {
          signal: AbortSignal.any([signal, deadline.signal]),
          idempotencyKey: context.idempotencyKey,
          onProgress: (gist) => context.progress(gist),
        }),
      );
      this.#restarts = 0;
      if (this.#relisting) await isSettledWithin(this.#relisting, RELIST_WAIT_MS);
      return { result };
    } catch (error) {
      const failure = failureOf(error, signal, this.name);
      return this.#judge(failure, connection);
    } finally {
      deadline.dispose();
    }
  }

  /** The call's own clock stands still with the others. */
  #timed(context: ToolContext, deadline: Deadline): ToolContext {
    return {
      ...context,
      async whilePersonIsAsked(ask) {
        const goOn = deadline.pause();
        try {
          return await (context.whilePersonIsAsked?.(ask) ?? ask());
        } finally {
          goOn();
        }
      },
    };
  }

  #judge(failure: Failure, connection: Connection): { failure: Failure; mayRepeat?: true } {
    switch (failure.kind) {
      case 'unsent':
      case 'sessionLost':
        void this.#drop(connection, failure.why);
        return { failure, mayRepeat: true };
      case 'closed':
      case 'unreachable':
        void this.#drop(connection, failure.why);
        return { failure };
      case 'timeout':
      case 'cancelled':
        void this.#dropIfSilent(connection);
        return { failure };
      case 'unauthorized':
      case 'refused':
        return { failure };
    }
  }

  /** What the model reads: what happened, whether it may have had an effect, what can be done. */
  #sentence({ kind, why }: Failure): string {
    const who = `MCP server ${this.name}`;
    const unknown = 'Whether the call has had an effect is not known: check before you repeat it.';
    switch (kind) {
      case 'cancelled':
        return 'The call was cancelled.';
      case 'timeout':
        return `${who} gave no answer within ${(this.#options.toolMs ?? TOOL_MS) / 1000} s. ${unknown}`;
      case 'closed': {
        const how = this.#state.at === 'lost' ? ` (${this.#state.why})` : '';
        return `${who} ended during the call${how}. ${unknown} The next call starts it again.`;
      }
      case 'unreachable':
        return `${who} could not be reached: ${why}. ${unknown}`;
      case 'unsent':
      case 'sessionLost':
        return `${who} could not be reached: ${why}. Nothing was run.`;
      case 'unauthorized':
        return `${who} refused the call: ${why}`;
      case 'refused':
        return why;
    }
  }

  /** The connection, after one restart when it was lost. @throws in words for the model. */
  async #live(signal: AbortSignal): Promise<Connection> {
    const before = this.#state;
    if (before.at === 'connected') return before.connection;
    if (before.at === 'lost' || before.at === 'failed') {
      if (this.#restarts >= RESTARTS_IN_A_ROW_MAX && this.#options.config.type === 'stdio') {
        throw new Error(
          `MCP server ${this.name} has ended ${this.#restarts} times in a row and is not started again.`,
        );
      }
      this.#restarts += 1;
    }
    await orAborted(this.#opened(this.#waitMs), signal);
    if (signal.aborted) throw new Error('The call was cancelled. Nothing was run.');
    const after = this.#state;
    if (after.at === 'connected') return after.connection;
    throw new Error(
      `MCP server ${this.name} is not running: ${'why' in after ? after.why : 'the session has ended'}. Nothing was run.`,
    );
  }

  #gone(connection: Connection, how: string): void {
    if (!this.#isCurrent(connection)) return;
    void this.#drop(connection, how);
    this.#warn(`has ended (${how}): it is started again when one of its tools is called`);
  }

  async #drop(connection: Connection, why: string): Promise<void> {
    if (this.#isCurrent(connection)) this.#state = { at: 'lost', why };
    const closing = connection.close().catch(() => {});
    this.#dropped.add(closing);
    await closing;
    this.#dropped.delete(closing);
  }

  /** A server that hangs in one call hangs in the next: then that one gets a new server. */
  async #dropIfSilent(connection: Connection): Promise<void> {
    if (!this.#isCurrent(connection)) return;
    const isSilent = await connection.ping().then(
      () => false,
      // Any answer is an answer, also that it knows no ping.
      (error: unknown) => failureOf(error, neverAborted).kind === 'timeout',
    );
    if (!isSilent || !this.#isCurrent(connection)) return;
    this.#warn('does not answer any more: it is started again when one of its tools is called');
    await this.#drop(connection, 'it did not answer any more');
  }
}

const neverAborted = new AbortController().signal;
const wordsOf = (error: unknown) => failureOf(error, neverAborted).why;

/** @returns whether it has settled in time. The timer is taken back. */
async function isSettledWithin(work: Promise<void>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  const isSettled = await Promise.race([work.then(() => true as const), late]);
  clearTimeout(timer);
  return isSettled;
}
