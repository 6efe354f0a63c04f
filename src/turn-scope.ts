/** The way to the host, for one query or for what the engine itself does before it. */
import type { CanUseTool, PermissionDenial } from '../services/permissions/types.ts';
import type { EngineState } from './engine-state.ts';
import { OutputQueue, progressKey } from './output-queue.ts';
import { QueryScope } from './query-scope.ts';
import type { Turn } from './turn.ts';
import type { SDKMessage } from './wire.ts';

/** What is settled before anything runs for a turn. */
export interface TurnStart {
  readonly turn: Turn;
  readonly model: string;
  readonly permission: TurnPermission;
}

/** Who is asked whether a call may run, and where it is kept that one may not. */
export interface TurnPermission {
  /** Absent: nobody can be asked. */
  readonly canUseTool?: CanUseTool;
  /** Called once for each denied call, whoever has denied it: a person, a rule, the mode, a hook. */
  readonly onDenied: (denial: PermissionDenial) => void;
}

export function beginScope(
  engine: EngineState,
  { turn, model, permission }: TurnStart,
): QueryScope {
  const { session, config } = engine;
  const scope = new QueryScope({
    session,
    turn,
    queue: new OutputQueue<SDKMessage>(progressKey),
    uuid: session.uuid,
    now: session.now,
    includePartialMessages: config.includePartialMessages ?? false,
    ...permission,
  });
  scope.agents = engine.agents.runnerFor(scope, 0);
  engine.scope = scope;
  session.primaryModel = model;
  session.tellHost = (message) => scope.system(message);
  return scope;
}
