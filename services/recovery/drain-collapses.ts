/** The rung that commits staged collapses. */
import type { QueryEvent } from '../../machines/events.ts';

export type DrainAnswer = Extract<QueryEvent, { type: 'collapse.drained' | 'collapse.empty' }>;

/** Nothing is ever staged: the gate of context collapse is closed. */
export const drainNothing = async (): Promise<DrainAnswer> => ({ type: 'collapse.empty' });
