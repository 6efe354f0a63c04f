/** When collapses are prepared, and when how many of them are put in place. Pure. */
import type { WindowNumbers } from '../preprocess/windows.ts';

/** Of what a prompt may use. Summaries are prepared early: when they are needed they are there. */
const STAGED_ABOVE = 0.6;
/** Below this there is room enough for the originals. */
const COMMITTED_ABOVE = 0.75;
/** Every commit costs the prompt cache of all that comes after it: one of them makes so much room. */
const COMMITTED_UNTIL = 0.65;

export const isTimeToStage = (tokens: number, { effective }: WindowNumbers): boolean =>
  tokens > STAGED_ABOVE * effective;

/**
 * How many of the staged collapses are committed now, oldest first. A batch is worth its cache miss
 * when it brings the prompt down to where it may grow again; a smaller one is put off, until the
 * only other way would be a summary of everything: then it must at least make that unnecessary.
 * @param tokens of the prompt.
 * @param freed by each staged collapse, the oldest first.
 */
export function chooseBatch(
  tokens: number,
  freed: readonly number[],
  { effective, autocompact }: WindowNumbers,
): number {
  if (tokens <= COMMITTED_ABOVE * effective) return 0;
  let left = tokens;
  for (const [at, one] of freed.entries()) {
    left -= one;
    if (left <= COMMITTED_UNTIL * effective) return at + 1;
  }
  const isLastChance = tokens > autocompact && left <= COMMITTED_ABOVE * effective;
  return isLastChance ? freed.length : 0;
}
