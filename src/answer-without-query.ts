/** Turns that end before the model is asked: by a command, by a hook, by calls left to the host. */
import { begin } from '../machines/state.ts';
import { orAborted } from '../services/or-aborted.ts';
import type { CommandOutcome } from './config.ts';
import type { EngineState } from './engine-state.ts';
import { heardWhile } from './heard-while.ts';
import type { ProcessedInput } from './process-user-input.ts';
import { queryInput } from './query-input.ts';
import type { TurnOutcome } from './result.ts';
import type { SettledCalls } from './settle-calls.ts';
import { beginScope, type TurnStart } from './turn-scope.ts';
import type { SDKMessage } from './wire.ts';

/** After a stop, so long for the last words of a command: what it has used belongs to the turn. */
const LAST_WORDS_MS = 1_500;

/** 11. What was asked needs no model. @returns `undefined`: it does, and is to be asked. */
export async function* answerWithoutQuery(
  engine: EngineState,
  start: TurnStart,
  input: ProcessedInput,
  settled: SettledCalls | undefined,
): AsyncGenerator<SDKMessage, TurnOutcome | undefined, unknown> {
  if (input.work) return yield* work(engine, start, input.work);
  if (!input.shouldQuery) return { kind: 'answered', text: input.text, reason: input.reason };
  if (settled && settled.deferred.length > 0) {
    return { kind: 'answered', text: '', reason: 'tool_deferred' };
  }
  return undefined;
}

/** A command works on the conversation, and speaks while it does. */
async function* work(
  engine: EngineState,
  start: TurnStart,
  run: NonNullable<ProcessedInput['work']>,
): AsyncGenerator<SDKMessage, TurnOutcome, unknown> {
  const { session, history } = engine;
  const { model } = start;
  const scope = beginScope(engine, start);
  const { signal } = engine.abortController;
  const working = stoppable(
    run({
      state: begin(queryInput(session, { history, model, turnsSpent: 0, tokenBudget: undefined })),
      compact: engine.services.compact,
      signal,
    }),
    signal,
    { history, text: '', reason: 'aborted_streaming' },
  );
  const keep = (done: CommandOutcome) => {
    // What a person has done to the past says nothing about how fast the window fills.
    if (done.history.head !== engine.history.head) {
      session.autoCompactTracking = undefined;
      session.lastRequest = undefined;
    }
    engine.history = done.history;
  };
  const done = yield* heardWhile(working, scope, () => engine.interrupt(), keep);
  const { text, reason, error } = done;
  if (error !== undefined) start.turn.errors.push(error);
  return { kind: 'answered', text, reason };
}

/** What the work comes to. After a stop it has its time to end; then nothing has come of it. */
async function stoppable(
  working: Promise<CommandOutcome>,
  signal: AbortSignal,
  nothing: CommandOutcome,
): Promise<CommandOutcome> {
  working.catch(() => {}); // thrown below, while it is waited for
  await orAborted(working, signal);
  if (!signal.aborted) return working;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<CommandOutcome>((resolve) => {
    timer = setTimeout(() => resolve(nothing), LAST_WORDS_MS);
  });
  return Promise.race([working, late]).finally(() => clearTimeout(timer));
}
