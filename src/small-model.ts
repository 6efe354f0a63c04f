/** Who works in the background: summaries of old rounds, lines about what tools have done. */
import { modelFacts, smallModelFor } from '../services/model/model-table.ts';
import type { QueryEngineConfig } from './config.ts';
import type { Session } from './session.ts';

/**
 * The one that was named, else the newest Haiku on Anthropic's own servers. Anywhere else (a server
 * of one's own, a client of the host's) nobody knows what a Haiku is called: there it is the main
 * model.
 */
export const smallModelOf = (
  { smallModel, model }: Pick<QueryEngineConfig, 'smallModel' | 'model'>,
  main: string,
): string => smallModel ?? (model.client ? main : smallModelFor(main, model.baseURL));

/**
 * Whether the session can spare a call of the small model: the whole price of it, at its worst (the
 * answer as long as it may be), is a small part of what nobody else has put aside.
 * @param size tokens.
 */
export function mayPay(
  { config, spending }: Pick<Session, 'config' | 'spending'>,
  main: string,
  { prompt, answer }: { readonly prompt: number; readonly answer: number },
): boolean {
  const { price } = modelFacts(smallModelOf(config, main));
  if (!price) return spending.mayPayBeside(undefined);
  const worst = (prompt * price.inputUsdPerMtok + answer * price.outputUsdPerMtok) / 1e6;
  return spending.mayPayBeside(worst);
}
