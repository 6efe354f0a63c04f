/** One call for hosts: the shape of the official SDK's `query()`, without a process in between. */
import { HISTORY_SNIP } from '../services/features.ts';
import type { PermissionMode } from '../services/permissions/types.ts';
import { checkPrompt, checkUserPrompt } from './check-options.ts';
import type { Prompt, QueryEngineConfig, SubmitOptions } from './config.ts';
import { leavable } from './leavable.ts';
import { engineFromOptions, type Options } from './options.ts';
import { QueryEngine } from './query-engine.ts';
import { replaySnip } from './snip-replay.ts';
import type { SDKMessage } from './wire.ts';

/** A prompt as a host with several of them sends it. */
export interface SDKUserPrompt {
  readonly type: 'user';
  readonly message: { readonly role: 'user'; readonly content: Prompt };
  readonly uuid?: string;
}

/** The messages, and what can be done while they come. */
export interface Query extends AsyncGenerator<SDKMessage, void, unknown> {
  /** Leaves, as `return` does: for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
  /** Ends the turn that runs with a result that says so. */
  interrupt(): Promise<void>;
  setModel(model?: string): Promise<void>;
  setPermissionMode(mode: PermissionMode): Promise<void>;
}

/**
 * Asks, and yields everything that happens. One prompt, or many: each is a turn of one session.
 * Leaving the generator stops everything that was started for it, also while a message is awaited.
 *
 * @example
 * for await (const message of query({ prompt: 'why does the test fail?' })) {
 *   if (message.type === 'result') console.log(message.terminal_reason, message.result);
 * }
 */
export function query(request: {
  readonly prompt: string | AsyncIterable<SDKUserPrompt>;
  readonly options?: Options;
  /** Default: `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}): Query {
  const { options = {}, environment = process.env } = request;
  let making: Promise<QueryEngine> | undefined;
  // Made when it is first needed: a query that nobody reads opens no session and holds no lock.
  const engine = (): Promise<QueryEngine> => {
    making ??= engineFromOptions(options, environment);
    making.catch(() => {}); // thrown where the messages are read
    return making;
  };
  const left = new AbortController();
  let isRead = false;
  const turnsWhenRead = async function* (): AsyncGenerator<SDKMessage, void, unknown> {
    isRead = true;
    yield* turns(engine, request.prompt, options, left.signal);
  };
  const messages = leavable(turnsWhenRead(), () => {
    left.abort(); // it may wait for the next prompt, for an engine that is being made, for a message
    if (isRead) void making?.then((made) => made.interrupt()).catch(() => {});
    // steered, and never read: nobody else closes it
    else return making?.then((made) => made.close()).catch(() => {});
  });
  return Object.assign(messages, {
    interrupt: async () => (await engine()).interrupt(),
    setModel: async (model?: string) => (await engine()).setModel(model),
    setPermissionMode: async (mode: PermissionMode) => (await engine()).setPermissionMode(mode),
  });
}

async function* turns(
  make: () => Promise<QueryEngine>,
  prompt: string | AsyncIterable<SDKUserPrompt>,
  options: Options,
  left: AbortSignal,
): AsyncGenerator<SDKMessage, void, unknown> {
  checkPrompt(prompt);
  const engine = await make();
  const { abortController, finishInterrupted = false } = options;
  const signal = abortController ? AbortSignal.any([abortController.signal, left]) : left;
  try {
    if (left.aborted) return; // while it was made: nothing is begun any more
    if (finishInterrupted) yield* engine.finishInterrupted();
    for await (const one of promptsOf(prompt, signal)) {
      checkUserPrompt(one);
      const named = one.uuid === undefined ? {} : { uuid: one.uuid };
      yield* engine.submitMessage(one.message.content, named);
    }
  } finally {
    await engine.close();
  }
}

async function* promptsOf(
  prompt: string | AsyncIterable<SDKUserPrompt>,
  signal: AbortSignal,
): AsyncGenerator<SDKUserPrompt, void, unknown> {
  if (typeof prompt === 'string') {
    yield { type: 'user', message: { role: 'user', content: prompt } };
    return;
  }
  const gone = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const prompts = prompt[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await Promise.race([prompts.next(), gone]);
      if (next === undefined || next.done) return;
      yield next.value;
    }
  } finally {
    void letGo(prompts); // not waited for: it may never answer
  }
}

/** The host's own clean-up. What it throws, and what it gives back, is nobody's. */
async function letGo(prompts: AsyncIterator<SDKUserPrompt>): Promise<void> {
  try {
    await prompts.return?.(undefined);
  } catch {}
}

/**
 * One question to an engine of its own, with everything given. The original design's `ask()`: it
 * brings along what the engine itself does not know, how a store follows a snip.
 */
export function ask(
  config: QueryEngineConfig,
  prompt: Prompt,
  options: SubmitOptions = {},
): AsyncGenerator<SDKMessage, void, unknown> {
  let engine: QueryEngine | undefined;
  return leavable(answers(), () => engine?.interrupt());

  async function* answers(): AsyncGenerator<SDKMessage, void, unknown> {
    engine = new QueryEngine({
      ...(HISTORY_SNIP ? { snipReplay: replaySnip } : {}),
      ...config,
    });
    try {
      yield* engine.submitMessage(prompt, options);
    } finally {
      await engine.close();
    }
  }
}
