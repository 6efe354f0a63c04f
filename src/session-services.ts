/**
 * Services that live as long as a session: they remember (what is known to be legal, what was
 * decided about a result), so one set serves all turns.
 */
import { createCallModel } from '../services/model/call-model.ts';
import { createClient } from '../services/model/client.ts';
import { modelFacts } from '../services/model/model-table.ts';
import type { CallModel } from '../services/model/types.ts';
import type { Judge } from '../services/permissions/types.ts';
import { createLegalize } from '../services/preprocess/legalize.ts';
import { pass, type Stage, type StageWord } from '../services/preprocess/stage.ts';
import type { QueryDeps } from './deps.ts';
import type { QueryScope } from './query-scope.ts';
import type { Session } from './session.ts';
import type { SystemWord } from './to-wire.ts';

export interface SessionServices {
  readonly callModel: CallModel;
  readonly judge: Judge;
  readonly toolResultBudget: Stage;
  readonly snip: Stage;
  readonly microcompact: Stage;
  readonly autocompact: Stage;
  readonly legalize: Stage;
  readonly drainCollapses: QueryDeps['drainCollapses'];
  readonly stripMedia: QueryDeps['stripMedia'];
  readonly reactiveCompact: QueryDeps['reactiveCompact'];
  readonly attachments: QueryDeps['attachments'];
  readonly stopHooks: QueryDeps['stopHooks'];
}

/** @param current the query that runs: the way to the host. */
export function sessionServices(
  session: Session,
  current: () => QueryScope | undefined,
): SessionServices {
  const { log, tokens, config, uuid, now } = session;
  const { model } = config;
  const tell = (word: StageWord) => {
    const heard = systemWordOf(word);
    if (heard) current()?.system(heard);
  };
  const client = createClient(model);
  return {
    callModel: createCallModel({
      client,
      uuid,
      now: () => now().getTime(),
      ...(model.idleMs === undefined ? {} : { limits: { idleMs: model.idleMs } }),
    }),
    judge: async () => ({ behavior: 'allow', because: 'TEMPORARY' }),
    toolResultBudget: pass,
    snip: pass,
    microcompact: pass,
    autocompact: pass,
    legalize: createLegalize({
      log,
      counter: tokens,
      tell,
      pricesOf: (name) => {
        const { price } = modelFacts(name);
        return (
          (price && {
            cacheReadUsdPerToken: price.cacheReadUsdPerMtok / 1e6,
            cacheWriteUsdPerToken: price.cacheWriteUsdPerMtok / 1e6,
          }) ??
          undefined
        );
      },
    }),
    drainCollapses: async () => ({ type: 'collapse.empty' }),
    stripMedia: async () => ({ type: 'media.absent' }),
    reactiveCompact: async () => ({ type: 'compact.failed', usd: 0 }),
    attachments: async () => ({ type: 'attachments.ready', messages: [] }),
    stopHooks: async () => ({ type: 'hooks.passed' }),
  };
}

/** What a stage says, in the host's words; `undefined` where the host need not know. */
function systemWordOf(word: StageWord): SystemWord | undefined {
  switch (word.type) {
    case 'status':
      return { subtype: 'status', status: word.status };
    case 'compactBoundary':
      return {
        subtype: 'compact_boundary',
        compact_metadata: {
          trigger: word.trigger,
          pre_tokens: word.preTokens,
          post_tokens: word.postTokens,
        },
      };
    case 'compactFailed':
      return {
        subtype: 'informational',
        level: 'warning',
        content: `The conversation could not be summarised: ${word.reason}`,
      };
    case 'compactSkipped':
      return { subtype: 'informational', level: 'info', content: `Not summarised: ${word.reason}` };
    case 'contextEdit':
      return {
        subtype: 'context_edit',
        stage: word.stage,
        tokens_freed: word.tokensFreed,
        ids: word.ids,
      };
    case 'historyRepaired':
      return { subtype: 'history_repaired', repairs: word.repairs };
    case 'warning':
      return { subtype: 'informational', level: 'warning', content: word.text };
  }
}
