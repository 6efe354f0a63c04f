/** From a turn into the loop and out of it: what the query is given, and what is kept of its end. */
import type { QueryResult } from '../machines/state.ts';
import { productionDeps, type QueryDeps } from './deps.ts';
import type { EngineState } from './engine-state.ts';
import { tellFailure } from './failure-hooks.ts';
import type { ProcessedInput } from './process-user-input.ts';
import { queryInput } from './query-input.ts';
import { concludeTurn, type TurnOutcome } from './result.ts';
import { runQuery } from './run-query.ts';
import { watching } from './snip-replay.ts';
import { beginScope, type TurnStart } from './turn-scope.ts';
import type { SDKMessage } from './wire.ts';

/**
 * 12. The loop: messages come as they happen, and the history that stands is kept, also when the host leaves.
 * @param turnsSpent of the turn that is ended, in the process before.
 */
export async function* enterQuery(
  engine: EngineState,
  start: TurnStart,
  { tokenBudget }: ProcessedInput,
  turnsSpent: number,
): AsyncGenerator<SDKMessage, TurnOutcome, unknown> {
  const { session, history, abortController } = engine;
  const { signal } = abortController;
  const config = engine.queryConfig();
  const scope = beginScope(engine, start);
  const production = productionDeps(scope, config, engine.services);
  const deps: QueryDeps = { ...production, ...engine.config.deps };
  session.taskBudgetRemaining = undefined;
  session.log.pin(history.head);
  let ended: QueryResult | undefined;
  const running = runQuery({
    input: queryInput(session, { history, model: start.model, turnsSpent, tokenBudget }),
    ...{ config, deps, scope, signal },
    ...(engine.inspect ? { inspect: engine.inspect } : {}),
    onEnd: (result) => {
      ended = result;
    },
  });
  let isHeard = false;
  try {
    const result = yield* watching(running, (message) => replay(engine, message));
    isHeard = true;
    engine.history = result.history;
    await tellFailure(result, session.runHooks, signal);
    return { kind: 'queried', result };
  } finally {
    if (!isHeard && ended) {
      // The host has left: nobody hears the result, but history and transcript have it.
      engine.history = ended.history;
      await concludeTurn(engine, start.turn, { kind: 'queried', result: ended });
    }
  }
}

/** What the query drops from the past goes from the store of the engine at once. */
function replay(engine: EngineState, message: SDKMessage): void {
  const { snipReplay } = engine.config;
  if (!snipReplay || !isBoundary(message)) return; // a delta must not cost the whole past
  const replayed = snipReplay(message, engine.messages);
  if (!replayed?.executed) return;
  engine.history = engine.session.log.rewrite(replayed.messages, engine.history.tokens);
}

/** The past was cut here: that of the conversation, and not of an agent's own. */
const isBoundary = (said: SDKMessage): boolean =>
  said.type === 'system' &&
  !said.parent_tool_use_id &&
  (said.subtype === 'compact_boundary' ||
    (said.subtype === 'context_edit' && said.stage === 'snip'));
