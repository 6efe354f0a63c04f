/** Lines about rounds of tools, as far as a session has a say in it: who writes and who pays. */
import {
  createRoundDescriber,
  type RoundDescriber,
} from '../services/describer/round-describer.ts';
import type { QueryDeps } from './deps.ts';
import type { QueryScope } from './query-scope.ts';
import type { SessionServices } from './session-services.ts';
import { smallModel } from './small-model.ts';

/** One for each query. */
export function roundDescriber(scope: QueryScope, services: SessionServices): RoundDescriber {
  const { session } = scope;
  return createRoundDescriber({
    log: session.log,
    smallModel: smallModel(session, services.callModel),
    sizeOf: (text) => session.tokens.estimateText(text),
    tell: services.tell,
  });
}

/** What is read with a round waits a moment for the line about the round before. */
export const afterDescription =
  (describer: RoundDescriber, attachments: QueryDeps['attachments']): QueryDeps['attachments'] =>
  async (state, signal) => {
    const [ready] = await Promise.all([attachments(state, signal), describer.settle(state)]);
    return ready;
  };
