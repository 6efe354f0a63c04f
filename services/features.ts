/**
 * Mechanisms that a bundle may leave out. Each constant is true unless the bundler defines
 * `ESCAPEMENT_<NAME>` as `false` (our own build: `ESCAPEMENT_WITHOUT=<NAME>,<NAME>`). A bundler only
 * sees through a constant where it is used: write `if (CONTEXT_COLLAPSE && gate)`, or
 * `HISTORY_SNIP ? createSnip(…) : pass`, never a variable that was made of it somewhere else.
 * What a user may switch off is a gate of the configuration (`src/config.ts`), not a feature.
 */
declare const ESCAPEMENT_HISTORY_SNIP: boolean | undefined;
declare const ESCAPEMENT_CACHED_MICROCOMPACT: boolean | undefined;
declare const ESCAPEMENT_CONTEXT_COLLAPSE: boolean | undefined;
declare const ESCAPEMENT_REACTIVE_COMPACT: boolean | undefined;

/** Old turns are dropped on request, or above a number of messages. */
export const HISTORY_SNIP: boolean =
  typeof ESCAPEMENT_HISTORY_SNIP === 'undefined' || ESCAPEMENT_HISTORY_SNIP;
/** Old tool results are cleared by the API itself. */
export const CACHED_MICROCOMPACT: boolean =
  typeof ESCAPEMENT_CACHED_MICROCOMPACT === 'undefined' || ESCAPEMENT_CACHED_MICROCOMPACT;
/** Old rounds are read as their summaries. */
export const CONTEXT_COLLAPSE: boolean =
  typeof ESCAPEMENT_CONTEXT_COLLAPSE === 'undefined' || ESCAPEMENT_CONTEXT_COLLAPSE;
/** A prompt that was refused as too long is summarised and sent again. */
export const REACTIVE_COMPACT: boolean =
  typeof ESCAPEMENT_REACTIVE_COMPACT === 'undefined' || ESCAPEMENT_REACTIVE_COMPACT;
export { TOKEN_BUDGET } from '../machines/features.ts';
