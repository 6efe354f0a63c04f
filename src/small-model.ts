/** Who works in the background: summaries of old rounds, lines about what tools have done. */
import { smallModelFor } from '../services/model/model-table.ts';
import type { QueryEngineConfig } from './config.ts';

/**
 * The one that was named, else the newest Haiku on Anthropic's own servers. Anywhere else (a server
 * of one's own, a client of the host's) nobody knows what a Haiku is called: there it is the main
 * model.
 */
export const smallModelOf = (
  { smallModel, model }: Pick<QueryEngineConfig, 'smallModel' | 'model'>,
  main: string,
): string => smallModel ?? (model.client ? main : smallModelFor(main, model.baseURL));
