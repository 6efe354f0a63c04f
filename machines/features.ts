/**
 * What of the chart a bundle may leave out. A bundler that defines the name as `false` drops the
 * code behind it; nobody else needs to know of it. The other features are in
 * `services/features.ts`.
 */
declare const ESCAPEMENT_TOKEN_BUDGET: boolean | undefined;

/** A turn goes on until its token budget is used. Without it every budget counts as none. */
export const TOKEN_BUDGET: boolean =
  typeof ESCAPEMENT_TOKEN_BUDGET === 'undefined' || ESCAPEMENT_TOKEN_BUDGET;
