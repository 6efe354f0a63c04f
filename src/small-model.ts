/** Who works in the background: summaries of old rounds, lines about what tools have done. */
import type { LogMessage } from '../services/messages.ts';
import { createSmallModel, type SmallModel } from '../services/model/ask-small-model.ts';
import { modelFacts, smallModelFor } from '../services/model/model-table.ts';
import type { CallModel } from '../services/model/types.ts';
import type { QueryEngineConfig } from './config.ts';
import { bill, type Session } from './session.ts';

/**
 * The one that was named, else the newest Haiku on Anthropic's own servers. Anywhere else (a server
 * of one's own, a client of the host's) nobody knows what a Haiku is called: there it is the main
 * model.
 */
export const smallModelOf = (
  { smallModel, model }: Pick<QueryEngineConfig, 'smallModel' | 'model'>,
  main: string,
): string => smallModel ?? (model.client ? main : smallModelFor(main, model.baseURL));

/** The small model as a session asks and pays it. */
export const smallModel = (session: Session, callModel: CallModel): SmallModel =>
  createSmallModel({
    callModel,
    nameBeside: (main) => smallModelOf(session.config, main),
    mayPay: (name, { prompt, answer }) => {
      const { price } = modelFacts(name);
      const worst = price
        ? (prompt * price.inputUsdPerMtok + answer * price.outputUsdPerMtok) / 1e6
        : undefined;
      return session.spending.mayPayBeside(worst);
    },
    onUsage: (name, usage) => bill(session, name, usage),
    makeNote: (text) => noteOf(session, session.uuid(), 'nudge', text),
  });

/** Something that nobody has said. */
export const noteOf = (
  { now }: Pick<Session, 'now'>,
  uuid: string,
  origin: 'nudge' | 'summary',
  text: string,
): LogMessage => ({
  uuid,
  timestamp: now().toISOString(),
  role: 'user',
  kind: 'note',
  origin,
  isMeta: true,
  content: [{ type: 'text', text }],
});
