/**
 * Services that live as long as a session: they remember (what is known to be legal, what was
 * decided about a result), so one set serves all turns.
 */
import { defaultLimits, limitsOf } from '../machines/limits.ts';
import { createAttachments } from '../services/attachments/attachments.ts';
import { CACHED_MICROCOMPACT } from '../services/features.ts';
import { createStopHooks } from '../services/hooks/stop-hooks.ts';
import { createCallModel } from '../services/model/call-model.ts';
import { createClient } from '../services/model/client.ts';
import { modelFacts } from '../services/model/model-table.ts';
import { payFrom, waitMsOf } from '../services/model/pay-from.ts';
import type { CallModel } from '../services/model/types.ts';
import { createJudge } from '../services/permissions/judge.ts';
import type { Judge } from '../services/permissions/types.ts';
import type { StageWord, Tell } from '../services/preprocess/stage.ts';
import { attachmentSources } from './attachment-sources.ts';
import { cachedMicrocompact } from './cached-microcompact.ts';
import { type ContextServices, contextServices, type Unanswered } from './context-services.ts';
import type { QueryDeps } from './deps.ts';
import { userHomeOf } from './home-folders.ts';
import { ownFolder } from './own-folder.ts';
import { judgeQueued } from './prompt-hooks.ts';
import type { QueryScope } from './query-scope.ts';
import type { Session } from './session.ts';
import type { SystemWord } from './to-wire.ts';
import type { Turn } from './turn.ts';

export interface SessionServices extends ContextServices {
  readonly callModel: CallModel;
  /** Begins to look for what is to be read with the next round. Costs nothing where nothing is new. */
  readonly prefetch: () => void;
  readonly judge: Judge;
  /** What a stage says, to the host of the query that runs. */
  readonly tell: Tell;
  /** Work beside the query that runs. @see QueryScope.beside */
  readonly beside: QueryScope['beside'];
  readonly attachments: QueryDeps['attachments'];
  readonly stopHooks: QueryDeps['stopHooks'];
}

/** @param current the query that runs: the way to the host. */
export function sessionServices(
  session: Session,
  current: () => QueryScope | undefined,
): SessionServices {
  const { log, config, uuid, now, runHooks } = session;
  const { model } = config;
  const tell = (word: StageWord) => {
    const heard = systemWordOf(word);
    if (heard) current()?.system(heard);
  };
  const clock = () => now().getTime();
  const client = createClient(model);
  const askModel = createCallModel({
    client,
    callIds: session.callIds,
    uuid,
    now: clock,
    limits: {
      ...(model.idleMs === undefined ? {} : { idleMs: model.idleMs }),
      ...(model.headersMs === undefined ? {} : { headersMs: model.headersMs }),
      ...(model.quietMs === undefined ? {} : { quietMs: model.quietMs }),
    },
  });
  const cached = CACHED_MICROCOMPACT
    ? cachedMicrocompact(session, tell, () => current()?.gates)
    : undefined;
  // Seen is what goes over the wire: what is refused and asked again is seen twice.
  const seen = session.watch.watched(askModel, session);
  const callModel = session.watch.asSeen(held(session, cached?.callModel(seen) ?? seen));
  const beside: QueryScope['beside'] = (work) => current()?.beside(work);
  const { sources, prefetch } = attachmentSources(session, beside, tell);
  return {
    callModel,
    prefetch,
    judge: createJudge({
      home: userHomeOf(config.env),
      root: config.cwd,
      own: ownFolder(config.home),
      readableFolders: () => [
        session.folder,
        ...(config.resumed?.resultFolders ?? []),
        ...(config.skills ?? []).map(({ folder }) => folder),
      ],
    }),
    ...contextServices({
      ...{ session, client, callModel, tell, cachedMicrocompact: cached },
      unanswered: () => unansweredIn(session, current()?.turn),
    }),
    tell,
    beside,
    attachments: createAttachments({
      ...{ log, tell, sources },
      queued: (signal) => judgeQueued(session, current(), signal),
      contexts: () => [
        ...(current()?.executor?.takeContexts() ?? []),
        ...session.notices.splice(0),
      ],
    }),
    stopHooks: createStopHooks({
      runHooks,
      log,
      uuid,
      now: clock,
      onWarning: (text) => current()?.warn(text),
      onPrevented: (reason) => current()?.warn(`A stop hook ended the turn: ${reason}`),
    }),
  };
}

/** Read by the turn that runs or one that was interrupted before it, and not read yet. */
function unansweredIn({ queue, log }: Session, turn: Turn | undefined): Unanswered {
  const { left, promptUuids = [] } = turn ?? {};
  return {
    promptUuids: [...(left?.openPrompts ?? []), ...promptUuids],
    queued: [...(left?.queued ?? []), ...queue.untaken((uuid) => log.wasAsked(uuid))],
  };
}

/** To the budget that the session and its agents have together. */
const held = ({ spending: purse, tokens, config }: Session, callModel: CallModel): CallModel =>
  payFrom(
    {
      purse,
      priceOf: (model) => modelFacts(model).price ?? undefined,
      sizeOf: ({ messages, systemPrompt, userContext = '', tools }) =>
        tokens.estimateMessages(messages) +
        tokens.estimateText([...systemPrompt, userContext].join('\n')) +
        tokens.estimateText(
          tools
            .map(
              ({ name, description, inputSchema }) =>
                name + description + JSON.stringify(inputSchema),
            )
            .join('\n'),
        ),
      outputTokensMin: config.limits?.outputTokensMin ?? defaultLimits.outputTokensMin,
      waitMs: (request) => waitMsOf(request, limitsOf(config.limits)),
    },
    callModel,
  );

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
        ...(word.collapseIds ? { collapse_ids: word.collapseIds } : {}),
        ...(word.cacheTokensLost === undefined ? {} : { cache_tokens_lost: word.cacheTokensLost }),
      };
    case 'historyRepaired':
      return { subtype: 'history_repaired', repairs: word.repairs };
    case 'warning':
      return { subtype: 'informational', level: 'warning', content: word.text };
  }
}
