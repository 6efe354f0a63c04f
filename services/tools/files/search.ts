import type { Outcome } from './outcome.ts';
import { type Environment, ripgrepsIn } from './ripgrep.ts';
import { searchOwn } from './search-own.ts';
import { searchWithRipgrep } from './search-ripgrep.ts';
import type { SearchQuery, SearchResult } from './search-types.ts';

/** Searches with the first ripgrep that can be started, else with our own engine. */
export const search = async (
  query: SearchQuery,
  env: Environment,
  signal: AbortSignal,
): Promise<Outcome<SearchResult>> => {
  for (const program of await ripgrepsIn(env)) {
    const result = await searchWithRipgrep(query, program, env, signal);
    if (result) return result;
  }
  return searchOwn(query, signal);
};
