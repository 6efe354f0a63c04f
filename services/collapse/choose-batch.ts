/** When collapses are prepared, and when how many of them are put in place. Pure. */
import type { WindowNumbers } from '../preprocess/windows.ts';

/** Of what a prompt may use. Summaries are prepared early: when they are needed they are there. */
const STAGED_ABOVE = 0.6;
/** Below this there is room enough for the originals. */
const COMMITTED_ABOVE = 0.75;
/** So far at least a commit leads, so that the next one is not near. */
const COMMITTED_UNTIL = 0.65;
/**
 * What comes behind the first change has to be written to the prompt cache again, whether one
 * collapse is put in place or five: a commit frees at least this part of it. Why so much: ADR 50.
 */
const WORTH_SHARE = 2 / 3;

export const isTimeToStage = (tokens: number, { effective }: WindowNumbers): boolean =>
  tokens > STAGED_ABOVE * effective;

export interface Ready {
  /** Tokens that each staged collapse frees, the oldest first. */
  readonly freed: readonly number[];
  /** Tokens of the prompt before the first of them: they stay in the cache. Asked for when needed. */
  readonly prefix: number;
}

/**
 * How many of the staged collapses are committed now, oldest first: as few as bring the prompt down
 * to where it may grow again, and are worth their cache miss. What does not suffice for that is put
 * off, until the only other way would be a summary of everything: then it must at least make that
 * unnecessary.
 * @param tokens of the prompt.
 */
export function chooseBatch(
  tokens: number,
  ready: Ready,
  { effective, autocompact }: WindowNumbers,
): number {
  if (tokens <= COMMITTED_ABOVE * effective) return 0;
  const { freed, prefix } = ready;
  let left = tokens;
  for (const [at, one] of freed.entries()) {
    left -= one;
    const isWorthIt = tokens - left >= WORTH_SHARE * (left - prefix);
    if (isWorthIt && left <= COMMITTED_UNTIL * effective) return at + 1;
  }
  const isLastChance = tokens > autocompact && left <= COMMITTED_ABOVE * effective;
  return isLastChance ? freed.length : 0;
}
