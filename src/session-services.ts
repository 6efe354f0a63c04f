/**
 * Services that live as long as a session: they remember (what is known to be legal, what was
 * decided about a result), so one set serves all turns.
 */
import type { Cursor, QueryState } from '../machines/state.ts';
import { createAttachments } from '../services/attachments/attachments.ts';
import { createStopHooks } from '../services/hooks/stop-hooks.ts';
import type { Totals } from '../services/journal/records.ts';
import type { LogMessage } from '../services/messages.ts';
import { createCallModel } from '../services/model/call-model.ts';
import { createClient } from '../services/model/client.ts';
import { createCountTokens } from '../services/model/count-tokens.ts';
import { modelFacts } from '../services/model/model-table.ts';
import type { CallModel } from '../services/model/types.ts';
import { createJudge } from '../services/permissions/judge.ts';
import type { Judge } from '../services/permissions/types.ts';
import { createAutocompact } from '../services/preprocess/autocompact.ts';
import { createLegalize } from '../services/preprocess/legalize.ts';
import { pass, type Stage, type StageWord } from '../services/preprocess/stage.ts';
import {
  type ContentReplacementState,
  contentReplacementState,
  createToolResultBudget,
} from '../services/preprocess/tool-result-budget.ts';
import { type Compact, type CompactRequest, createCompact } from '../services/recovery/compact.ts';
import { drainNothing } from '../services/recovery/drain-collapses.ts';
import { createReactiveCompact } from '../services/recovery/reactive-compact.ts';
import { createStripMedia } from '../services/recovery/strip-media.ts';
import type { QueryDeps } from './deps.ts';
import type { QueryScope } from './query-scope.ts';
import { requestOf } from './request-maker.ts';
import { bill, type Session } from './session.ts';
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
  const { log, tokens, config, uuid, now, runHooks } = session;
  const { model } = config;
  const tell = (word: StageWord) => {
    const heard = systemWordOf(word);
    if (heard) current()?.system(heard);
  };
  const clock = () => now().getTime();
  const client = createClient(model);
  const callModel = createCallModel({
    client,
    uuid,
    now: clock,
    limits: {
      ...(model.idleMs === undefined ? {} : { idleMs: model.idleMs }),
      ...(model.quietMs === undefined ? {} : { quietMs: model.quietMs }),
    },
  });
  const countTokens = createCountTokens(client);
  const partsOf = (state: QueryState) => requestOf(session, state, neverAborted);
  const summarise = createCompact({
    log,
    counter: tokens,
    callModel,
    partsOf,
    windowOf,
    runHooks,
    tell,
    onUsage: (name, usage) => bill(session, name, usage),
    reattach: async () => [],
    uuid,
    now: clock,
  });
  const compact: Compact = async (request) => {
    const outcome = await summarise(request);
    if (outcome.kind === 'done' && !request.signal.aborted) {
      noteBoundary(session, request, outcome.history, current()?.turn.promptUuids ?? []);
    }
    return outcome;
  };
  return {
    callModel,
    judge: createJudge({
      home: config.env.HOME ?? config.cwd,
      readableFolders: () => [session.folder, ...(config.resumed?.resultFolders ?? [])],
    }),
    toolResultBudget: createToolResultBudget({
      log,
      counter: tokens,
      tools: session.tools,
      folder: session.folder,
      state: replacementsOf(session),
      onReplaced: (record) => session.transcript.note('content-replacement', { ...record }),
      tell,
    }),
    snip: pass,
    microcompact: pass,
    autocompact: createAutocompact({
      compact,
      counter: tokens,
      tell,
      isEnabled: () => true,
      windowOf,
      autoCompactWindow: () => config.autoCompactWindow,
      pricesOf: (name) => {
        const { price } = modelFacts(name);
        return price
          ? {
              inputUsdPerToken: price.inputUsdPerMtok / 1e6,
              outputUsdPerToken: price.outputUsdPerMtok / 1e6,
            }
          : undefined;
      },
      countTokens: (state, signal) => countTokens(requestOf(session, state, signal)),
    }),
    legalize: createLegalize({ log, counter: tokens, tell, pricesOf: promptPrices }),
    drainCollapses: drainNothing,
    stripMedia: createStripMedia({ log, counter: tokens, partsOf, tell }),
    reactiveCompact: createReactiveCompact({ compact, isEnabled: () => true, tell }),
    attachments: createAttachments({
      log,
      tell,
      queued: () => takeQueued(session, current()),
      contexts: () => current()?.executor?.takeContexts() ?? [],
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

/** The summary is where a resumed session begins. */
function noteBoundary(
  session: Session,
  { state, trigger }: CompactRequest,
  { head, tokens }: Cursor,
  promptUuids: readonly string[],
): void {
  session.transcript.compacted({
    trigger,
    preTokens: state.history.tokens,
    postTokens: tokens,
    history: session.log.at(head),
    totals: totalsOf(session),
    promptUuids,
    ...(session.title === undefined ? {} : { title: session.title }),
  });
}

const totalsOf = ({ usage }: Session): Totals =>
  Object.fromEntries(
    Object.entries(usage.snapshot().modelUsage).map(([model, sum]) => [
      model,
      {
        input_tokens: sum.inputTokens,
        output_tokens: sum.outputTokens,
        cache_read_input_tokens: sum.cacheReadInputTokens,
        cache_creation_input_tokens: sum.cacheCreationInputTokens,
      },
    ]),
  );

/**
 * What an earlier process has decided about long results. A result that no request has carried yet
 * is still open: only what stands before the last answer was sent.
 */
function replacementsOf({ config }: Session): ContentReplacementState {
  const { messages = [], replacements = [] } = config.resumed?.restored ?? {};
  const lastAnswer = messages.findLastIndex(({ role }) => role === 'assistant');
  const sent = messages
    .slice(0, Math.max(0, lastAnswer))
    .flatMap(({ kind, toolUseId }) =>
      kind === 'tool_result' && toolUseId !== undefined ? [toolUseId] : [],
    );
  return contentReplacementState(replacements, sent);
}

const neverAborted = new AbortController().signal;

const windowOf = (name: string) => {
  const { contextWindowTokens, outputTokensMax } = modelFacts(name);
  return { windowTokens: contextWindowTokens, outputTokensMax };
};

const promptPrices = (name: string) => {
  const { price } = modelFacts(name);
  return price
    ? {
        cacheReadUsdPerToken: price.cacheReadUsdPerMtok / 1e6,
        cacheWriteUsdPerToken: price.cacheWriteUsdPerMtok / 1e6,
      }
    : undefined;
};

/** Prompts that came while the round ran: from now on this turn answers them, too. */
function takeQueued(session: Session, scope: QueryScope | undefined): readonly LogMessage[] {
  const taken = session.queue.takeForRound();
  scope?.turn.promptUuids.push(...taken.map(({ uuid }) => uuid));
  return taken;
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
