/** What a stage of preprocess is, and the words in which stages and rungs speak to the host. */
import type { QueryEvent } from '../../machines/events.ts';
import type { QueryState } from '../../machines/state.ts';

export type StageDone = Extract<QueryEvent, { type: 'stage.done' }>;

/**
 * One stage. *Contract:* never throws, never changes what it was given, decides the same again for
 * the same history, and returns the very cursor when there is nothing to do.
 */
export type Stage = (state: QueryState, signal: AbortSignal) => Promise<StageDone>;

/** Words to the host, beside the chart's own: what was done to the past, and a summary's course. */
export type StageWord =
  | { readonly type: 'status'; readonly status: 'compacting' | null }
  | {
      readonly type: 'compactBoundary';
      readonly trigger: 'auto' | 'manual';
      readonly preTokens: number;
      readonly postTokens: number;
      /** Oldest messages that did not fit into the summary request: no summary knows of them. */
      readonly messagesDropped: number;
    }
  | { readonly type: 'compactFailed'; readonly reason: string }
  /** Above the threshold, but there is nothing that a summary could stand for. */
  | { readonly type: 'compactSkipped'; readonly reason: string }
  | {
      readonly type: 'contextEdit';
      readonly stage: string;
      readonly tokensFreed: number;
      /** Ids of tool uses or uuids of messages. */
      readonly ids: readonly string[];
      /** Names of the summaries that stand for them, where some do. */
      readonly collapseIds?: readonly string[];
      /** What comes after the first change, and has to be written to the prompt cache again. */
      readonly cacheTokensLost?: number;
    }
  | { readonly type: 'historyRepaired'; readonly repairs: readonly string[] }
  | { readonly type: 'warning'; readonly text: string };

/** *Contract:* only takes the word up; never throws, never waits. */
export type Tell = (word: StageWord) => void;

/** A stage that has nothing to do: also what stands in for one that is switched off. */
export const pass: Stage = async (state) => ({
  type: 'stage.done',
  history: state.history,
  usd: 0,
});
