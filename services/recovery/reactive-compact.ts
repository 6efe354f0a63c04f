/** The rung of the ladder that makes a stuck request shorter by a summary. */
import type { QueryEvent } from '../../machines/events.ts';
import type { QueryState } from '../../machines/state.ts';
import type { Tell } from '../preprocess/stage.ts';
import type { Compact } from './compact.ts';

export type CompactAnswer = Extract<QueryEvent, { type: 'compact.done' | 'compact.failed' }>;
export interface ReactiveCompactDeps {
  readonly compact: Compact;
  readonly tell: Tell;
}

/**
 * Compacts the agreed history; an attempt that stays is put on top by the chart itself. Not begun
 * after an abort.
 */
export const createReactiveCompact =
  ({ compact, tell }: ReactiveCompactDeps) =>
  async (state: QueryState, signal: AbortSignal): Promise<CompactAnswer> => {
    if (signal.aborted) return { type: 'compact.failed', usd: 0 };
    const outcome = await compact({ state, trigger: 'auto', signal });
    switch (outcome.kind) {
      case 'done':
        return { type: 'compact.done', history: outcome.history, usd: outcome.usd };
      case 'nothing':
        tell({ type: 'compactSkipped', reason: outcome.reason });
        return { type: 'compact.failed', usd: 0 };
      case 'failed':
        return { type: 'compact.failed', usd: outcome.usd };
    }
  };
