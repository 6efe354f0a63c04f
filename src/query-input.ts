/** What a query begins with. */
import { limitsOf } from '../machines/limits.ts';
import type { Cursor, QueryInput } from '../machines/state.ts';
import { defaultGates } from './config.ts';
import { queryLimits } from './query-limits.ts';
import type { Session } from './session.ts';

export function queryInput(
  session: Session,
  start: {
    readonly history: Cursor;
    readonly model: string;
    /** Of the turn that is ended, in the process before. */
    readonly turnsSpent: number;
    /** Output tokens that the words of the prompt grant. */
    readonly tokenBudget: number | undefined;
  },
): QueryInput {
  const { config, autoCompactTracking } = session;
  const { fallbackModel, jsonSchema } = config;
  const { history, model, turnsSpent, tokenBudget } = start;
  return {
    queryId: session.uuid(),
    history,
    model,
    querySource: 'main',
    startedAtMs: session.now().getTime(),
    // What earlier processes have spent was theirs: the budget is for this run.
    spentUsd: session.spending.usd,
    turnCount: 1 + turnsSpent,
    wantsSchema: jsonSchema !== undefined,
    emitToolUseSummaries: { ...defaultGates, ...config.gates }.emitToolUseSummaries,
    limits: limitsOf(queryLimits(config, model, tokenBudget)),
    ...(autoCompactTracking ? { autoCompactTracking } : {}),
    ...(fallbackModel === undefined || fallbackModel === model ? {} : { fallbackModel }),
  };
}
