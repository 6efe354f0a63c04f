/** One call for hosts: the shape of the official SDK's `query()`, without a process in between. */
import { randomUUID } from 'node:crypto';
import type { PermissionMode } from '../services/permissions/types.ts';
import type { Prompt, QueryEngineConfig, SubmitOptions } from './config.ts';
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
  /** Ends the turn that runs with a result that says so. */
  interrupt(): Promise<void>;
  setModel(model?: string): Promise<void>;
  setPermissionMode(mode: PermissionMode): Promise<void>;
}

/**
 * Asks, and yields everything that happens. One prompt, or many: each is a turn of one session.
 * Leaving the generator stops everything that was started for it.
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
  const engine = engineFromOptions(request.options ?? {}, request.environment ?? process.env);
  engine.catch(() => {}); // thrown where the messages are read
  const finishFirst = request.options?.finishInterrupted === true;
  const messages = turns(engine, request.prompt, finishFirst);
  return Object.assign(messages, {
    interrupt: async () => (await engine).interrupt(),
    setModel: async (model?: string) => (await engine).setModel(model),
    setPermissionMode: async (mode: PermissionMode) => (await engine).setPermissionMode(mode),
  });
}

async function* turns(
  making: Promise<QueryEngine>,
  prompt: string | AsyncIterable<SDKUserPrompt>,
  finishFirst: boolean,
): AsyncGenerator<SDKMessage, void, unknown> {
  const engine = await making;
  try {
    if (finishFirst) yield* engine.finishInterrupted();
    for await (const one of promptsOf(prompt)) {
      yield* engine.submitMessage(one.message.content, { uuid: one.uuid ?? randomUUID() });
    }
  } finally {
    await engine.close();
  }
}

async function* promptsOf(
  prompt: string | AsyncIterable<SDKUserPrompt>,
): AsyncGenerator<SDKUserPrompt, void, unknown> {
  if (typeof prompt !== 'string') return yield* prompt;
  yield { type: 'user', message: { role: 'user', content: prompt } };
}

/**
 * One question to an engine of its own, with everything given. The original design's `ask()`: it
 * brings along what the engine itself does not know, how a store follows a snip.
 */
export async function* ask(
  config: QueryEngineConfig,
  prompt: Prompt,
  options: SubmitOptions = {},
): AsyncGenerator<SDKMessage, void, unknown> {
  const engine = new QueryEngine({ snipReplay: replaySnip, ...config });
  try {
    yield* engine.submitMessage(prompt, options);
  } finally {
    await engine.close();
  }
}
