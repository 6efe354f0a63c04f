/** Before the first prompt of a process, and after a turn that was deferred: no call stays open. */
import { openCalls } from '../services/journal/open-calls.ts';
import type { EngineState } from './engine-state.ts';
import { heardWhile } from './heard-while.ts';
import { initMessage, loadSkills } from './init-message.ts';
import { type SettledCalls, settleCalls } from './settle-calls.ts';
import { beginScope, type TurnStart } from './turn-scope.ts';
import type { SDKMessage } from './wire.ts';

/**
 * 6. Calls that an earlier turn has left open are closed, without a model call: those that were
 * deferred, and those of a dead process. The answer to a question of that process counts once.
 * @returns `undefined` when there was none: then nothing was said yet.
 */
export async function* handleOrphanedPermission(
  engine: EngineState,
  start: TurnStart,
): AsyncGenerator<SDKMessage, SettledCalls | undefined, unknown> {
  const { log } = engine.session;
  const calls = openCalls(log.at(engine.history.head));
  const { isDeferred } = engine;
  engine.isDeferred = false;
  if (calls.length === 0) return undefined;
  yield initMessage(engine, start.model, loadSkills(engine));
  const interrupt = () => engine.interrupt();
  const scope = beginScope(engine, start);
  scope.interrupt = interrupt;
  const isAnswered = engine.hasHandledOrphanedPermission;
  engine.hasHandledOrphanedPermission = true;
  const settling = settleCalls({
    ...{ calls, scope, isDeferred },
    config: engine.queryConfig(),
    services: engine.services,
    signal: engine.abortController.signal,
    orphanedPermission: isAnswered ? undefined : engine.config.orphanedPermission,
  });
  const keep = ({ messages, deferred }: SettledCalls) => {
    engine.history = log.append(engine.history, messages);
    if (deferred[0]) start.turn.deferred = deferred[0];
  };
  return yield* heardWhile(settling, scope, interrupt, keep);
}
