/**
 * From a prompt to its result: the thirteen steps of a turn in their order, and around them the
 * frame by which every turn ends with exactly one result.
 */
import type { LogMessage } from '../services/messages.ts';
import { answerWithoutQuery } from './answer-without-query.ts';
import type { Prompt, SubmitOptions } from './config.ts';
import type { EngineState } from './engine-state.ts';
import { enterQuery } from './enter-query.ts';
import { initMessage, loadSkills } from './init-message.ts';
import { leavable } from './leavable.ts';
import { type TakenUp, takeUpLeft } from './left-behind.ts';
import { handleOrphanedPermission } from './orphaned-permission.ts';
import { type ProcessedInput, processUserInput } from './process-user-input.ts';
import { concludeTurn } from './result.ts';
import { buildSessionPrompt } from './session-prompt.ts';
import { makeReady, retractHalfSaid } from './session-start.ts';
import { structuredOutputTool } from './structured-output.ts';
import { Turn } from './turn.ts';
import type { TurnPermission } from './turn-scope.ts';
import type { SDKMessage } from './wire.ts';

/**
 * One turn. Leaving the generator stops everything that runs for it, also while a message is awaited.
 * @param prompt `undefined`: the turn that a dead process has left is ended.
 * @throws with the first message when a turn runs, and when the session is closed.
 */
export function submit(
  engine: EngineState,
  prompt: Prompt | undefined,
  options: SubmitOptions,
): AsyncGenerator<SDKMessage, void, unknown> {
  let mine: Turn | undefined;
  const begin = () => {
    engine.mustBeOpen();
    if (engine.turn) throw new Error('a turn is running: use enqueue() for prompts beside it');
    mine = beginTurn(engine);
    return mine;
  };
  return leavable(framed(engine, begin, prompt, options), () => {
    // One that was never begun leaves the turn alone that runs.
    if (mine && engine.turn === mine) engine.interrupt();
  });
}

/** The turn, with its one result on every ending. */
async function* framed(
  engine: EngineState,
  begin: () => Turn,
  prompt: Prompt | undefined,
  options: SubmitOptions,
): AsyncGenerator<SDKMessage, void, unknown> {
  const turn = begin();
  try {
    yield* seen(engine, steps(engine, turn, prompt, options));
  } catch (error) {
    const message = await concludeTurn(engine, turn, { kind: 'setupFailed', error });
    engine.session.watch.tell({ type: 'message.said', message });
    yield message;
  } finally {
    if (!turn.hasResult) await endLeft(engine, turn);
    endTurn(engine);
  }
}

/** What the host hears, those who look on hear with it; deltas are for the host alone. */
async function* seen(
  { session: { watch } }: EngineState,
  messages: AsyncGenerator<SDKMessage, void, unknown>,
): AsyncGenerator<SDKMessage, void, unknown> {
  for await (const message of messages) {
    if (watch.isWatched && message.type !== 'stream_event') {
      watch.tell({ type: 'message.said', message });
    }
    yield message;
  }
}

/** The host has left before the query began: its prompt has a result all the same. */
async function endLeft(engine: EngineState, turn: Turn): Promise<void> {
  engine.interrupt();
  await concludeTurn(engine, turn, { kind: 'answered', text: '', reason: 'aborted_streaming' });
}

const nothingLeft: TakenUp = { messages: [], turnsSpent: 0 };

/** The way of one turn. What a step needs of another it is given; what stays is in the engine. */
async function* steps(
  engine: EngineState,
  turn: Turn,
  prompt: Prompt | undefined,
  options: SubmitOptions,
): AsyncGenerator<SDKMessage, void, unknown> {
  if (prompt !== undefined) turn.promptUuids.push(options.uuid ?? engine.session.uuid());
  const permission = wrapCanUseTool(engine, turn);
  const model = resolveModel(engine);
  const notices = await makeReady(engine, turn);
  await buildSystemPrompt(engine, model);
  registerStructuredOutput(engine);
  const start = { turn, model, permission };
  const settled = yield* handleOrphanedPermission(engine, start);
  const input = await processUserInput(engine, turn, prompt, options);
  // Only a prompt that is asked takes along what a dead process has left.
  const left = input.shouldQuery ? await takeUpLeft(engine, turn) : nothingLeft;
  await persistUserMessages(engine, input, left.messages);
  const skills = loadSkills(engine);
  if (!settled) yield initMessage(engine, model, skills);
  yield* catchUp(engine, notices, input);
  const answer = yield* answerWithoutQuery(engine, start, input, settled);
  const outcome = answer ?? (yield* enterQuery(engine, start, input, left.turnsSpent));
  yield await concludeTurn(engine, turn, outcome);
}

/** What the host could not hear before, oldest first; then what is said to the prompt itself. */
function* catchUp(
  engine: EngineState,
  notices: readonly SDKMessage[],
  { replies }: ProcessedInput,
): Generator<SDKMessage, void, unknown> {
  yield* notices;
  yield* retractHalfSaid(engine.session);
  yield* engine.untold.splice(0).map((text) => engine.warning(text));
  yield* engine.agents.takeUnheard();
  yield* replies;
}

// ── the thirteen steps: the short ones here, each of the others in a room of its own ──

/** 1. What this turn starts with. The working folder is a value of the configuration. */
function beginTurn(engine: EngineState): Turn {
  // A controller for each turn: the host's ends whichever runs, and is never used up by ours.
  engine.abortController = new AbortController();
  const host = engine.config.abortController?.signal;
  if (host?.aborted) engine.abortController.abort();
  host?.addEventListener('abort', engine.onHostAbort); // for this turn: a host may have many engines
  engine.discoveredSkillNames.clear();
  const turn = new Turn(engine.totalUsage.snapshot());
  engine.turn = turn;
  engine.session.onDiskFailure = (error) => failTurn(engine, turn, error);
  return turn;
}

function endTurn(engine: EngineState): void {
  engine.config.abortController?.signal.removeEventListener('abort', engine.onHostAbort);
  engine.scope = undefined;
  engine.turn = undefined;
  engine.turnTools = [];
  engine.onTurnEnd();
}

/** A disk that is full ends the turn, not the history: what waits is written when it can be. */
function failTurn(engine: EngineState, turn: Turn, error: Error): void {
  const remedy = /\b(ENOSPC|EDQUOT)\b/.test(error.message)
    ? 'Free some space and go on.'
    : 'Look after the disk, then go on in a new process (--resume).';
  const text = `The session cannot be written down: ${error.message}. ${remedy}`;
  turn.hasLostDisk = true;
  turn.errors.push(text);
  engine.scope?.warn(text);
  engine.interrupt();
}

/**
 * 2. Who may be asked, with a memory: each denial is kept for the result of this turn and for the
 * session. Rules and hooks deny, too, without asking; so the executor reports what was denied.
 */
function wrapCanUseTool(
  { config: { canUseTool }, permissionDenials }: EngineState,
  { denials }: Turn,
): TurnPermission {
  return {
    ...(canUseTool ? { canUseTool } : {}),
    onDenied: (denial) => {
      denials.push(denial);
      permissionDenials.push(denial);
    },
  };
}

/** 3. The model that the host chose last. Thinking is decided with the request. */
export function resolveModel({ session, config }: EngineState): string {
  return session.chosenModel ?? config.userSpecifiedModel ?? session.defaultModel;
}

/** 4. Once for a session: a prompt that changes would cost the cache. */
export function buildSystemPrompt({ session }: EngineState, model: string): Promise<void> {
  return buildSessionPrompt(session, model);
}

/** 5. A wanted shape becomes a tool of this turn. */
function registerStructuredOutput(engine: EngineState): void {
  const { jsonSchema } = engine.config;
  engine.turnTools = jsonSchema ? [structuredOutputTool(jsonSchema)] : [];
}

// 6. handleOrphanedPermission · 7. processUserInput

/** 8. On disk before the first request: `--resume` finds it after a kill. Bare does not wait. */
async function persistUserMessages(
  engine: EngineState,
  input: ProcessedInput,
  left: readonly LogMessage[],
): Promise<void> {
  const { log, transcript, notices, watch } = engine.session;
  const told = input.shouldQuery ? notices.splice(0) : [];
  const messages = [...left, ...told, ...input.messages];
  engine.history = log.append(engine.history, messages);
  for (const message of messages) {
    transcript.record(message);
    watch.tell({ type: 'prompt.taken', message });
  }
  if (messages.length === 0) return;
  const written = transcript.commit();
  if (engine.config.bare) void written.catch(() => {});
  else await written;
}

// 9. loadSkills · 10. initMessage · 11. answerWithoutQuery · 12. enterQuery · 13. concludeTurn
