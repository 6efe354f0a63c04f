/**
 * The services that keep a conversation within its window: the stages of preprocess, the rungs that
 * make a stuck request smaller, and compaction. One set for each history that grows.
 */
import type { Cursor, QueryState } from '../machines/state.ts';
import { HISTORY_SNIP, REACTIVE_COMPACT } from '../services/features.ts';
import type { Costs, Totals } from '../services/journal/records.ts';
import type { Boundary } from '../services/journal/transcript.ts';
import { createCountTokens } from '../services/model/count-tokens.ts';
import { modelFacts } from '../services/model/model-table.ts';
import type { CallModel, ModelClient } from '../services/model/types.ts';
import { createAutocompact } from '../services/preprocess/autocompact.ts';
import type { CachedMicrocompact } from '../services/preprocess/cached-microcompact.ts';
import { createLegalize } from '../services/preprocess/legalize.ts';
import { createMicrocompact } from '../services/preprocess/microcompact.ts';
import { createSnip } from '../services/preprocess/snip.ts';
import { pass, type Stage, type Tell } from '../services/preprocess/stage.ts';
import {
  type ContentReplacementState,
  contentReplacementState,
  createToolResultBudget,
} from '../services/preprocess/tool-result-budget.ts';
import { activeSkillsOf } from '../services/recovery/active-skills.ts';
import { type Compact, type Compaction, createCompact } from '../services/recovery/compact.ts';
import { createReactiveCompact } from '../services/recovery/reactive-compact.ts';
import { createReattach } from '../services/recovery/reattach.ts';
import { createStripMedia } from '../services/recovery/strip-media.ts';
import { fileStateOf } from '../services/tools/files/index.ts';
import { todosOf } from '../services/tools/todos.ts';
import type { QueryDeps } from './deps.ts';
import { namesBehind } from './originals.ts';
import { requestOf } from './request-maker.ts';
import { bill, type Session } from './session.ts';

export interface ContextServices {
  readonly toolResultBudget: Stage;
  readonly snip: Stage;
  readonly microcompact: Stage;
  readonly autocompact: Stage;
  readonly legalize: Stage;
  readonly stripMedia: QueryDeps['stripMedia'];
  readonly reactiveCompact: QueryDeps['reactiveCompact'];
  /** For whoever wants a summary now: a person. */
  readonly compact: Compact;
}

export type Unanswered = Pick<Boundary, 'promptUuids' | 'queued'>;

export interface ContextParts {
  readonly session: Session;
  readonly client: ModelClient;
  readonly callModel: CallModel;
  /** The API clears old results, where it can. */
  readonly cachedMicrocompact: CachedMicrocompact | undefined;
  /** The way to the host. */
  readonly tell: Tell;
  /** What is older than a summary is not read again: these prompts stand in it. */
  readonly unanswered: () => Unanswered;
}

export function contextServices(parts: ContextParts): ContextServices {
  const { session, client, tell } = parts;
  const { log, tokens: counter, config } = session;
  const base = { log, counter, tell };
  const countTokens = createCountTokens(client);
  const partsOf = (state: QueryState) => requestOf(session, state, neverAborted);
  const compact = compaction(parts);
  return {
    compact,
    ...lightStages(parts),
    autocompact: createAutocompact({
      ...{ compact, counter, tell, windowOf: windowsOf(session) },
      autoCompactWindow: () => config.autoCompactWindow,
      pricesOf: worstPrices,
      // It would count what the API leaves out; what the last answer said is nearer.
      countTokens: async (state, signal) =>
        parts.cachedMicrocompact?.isActive()
          ? undefined
          : await countTokens(requestOf(session, state, signal)),
    }),
    legalize: createLegalize({ ...base, pricesOf: promptPrices }),
    stripMedia: createStripMedia({
      ...{ ...base, partsOf },
      onStripped: (changed) => {
        for (const message of changed) session.transcript.amend(message);
      },
    }),
    reactiveCompact: REACTIVE_COMPACT
      ? createReactiveCompact({ compact, tell })
      : async () => ({ type: 'compact.failed', usd: 0 }),
  };
}

/** Stages that free room without a model. */
function lightStages({
  session,
  tell,
  cachedMicrocompact,
}: ContextParts): Pick<ContextServices, 'toolResultBudget' | 'snip' | 'microcompact'> {
  const { log, tokens: counter, config, transcript, toolState } = session;
  const base = { log, counter, tell };
  const microcompact = createMicrocompact({
    ...base,
    onCleared: () => fileStateOf(toolState).forgetShown(),
  });
  return {
    toolResultBudget: createToolResultBudget({
      ...base,
      tools: session.tools,
      folder: session.folder,
      state: replacementsOf(session),
      onReplaced: (record) => transcript.note('content-replacement', { ...record }),
    }),
    snip: HISTORY_SNIP
      ? forgetting(
          session,
          createSnip({
            ...base,
            messagesMax: () => config.historySnip?.maxMessages,
            takeRequest: () => {
              const { snipRequest } = session;
              session.snipRequest = undefined;
              if (snipRequest !== undefined) transcript.note('snip-request', { before: null });
              return snipRequest;
            },
            namesOf: (message) => namesBehind(session, message),
            onSnipped: (snipped) => transcript.note('snip', { ...snipped }),
            uuid: session.uuid,
            now: () => session.now().getTime(),
          }),
        )
      : pass,
    microcompact: cachedMicrocompact?.stage(microcompact) ?? microcompact,
  };
}

function compaction({ session, callModel, tell, unanswered }: ContextParts): Compact {
  const { log, tokens: counter, runHooks, uuid, toolState } = session;
  const now = () => session.now().getTime();
  const compact = createCompact({
    ...{ log, counter, callModel, runHooks, tell, uuid, now },
    windowOf: windowsOf(session),
    partsOf: (state) => requestOf(session, state, neverAborted),
    onUsage: (name, usage) => bill(session, name, usage),
    reattach: createReattach({
      files: () => fileStateOf(toolState),
      todos: () => todosOf(toolState).todos,
      skills: () => [...activeSkillsOf(toolState).values()],
      uuid,
      now,
    }),
    onDone: (done) => {
      noteBoundary(session, done, unanswered());
      noteTaskBudget(session, done);
      forgetNested(session);
    },
  });
  return async (request) => {
    const outcome = await compact(request);
    if (outcome.kind === 'done') forgetPast(session, request.state.history, outcome.history);
    return outcome;
  };
}

/** What was cut off is in the file: it need not be kept in memory for the life of the session. */
function forgetPast(session: Session, before: Cursor, after: Cursor): void {
  session.log.forget([before.head, after.head], (message) => namesBehind(session, message));
}

const forgetting =
  (session: Session, stage: Stage): Stage =>
  async (state, signal) => {
    const done = await stage(state, signal);
    if (done.history.head !== state.history.head) forgetPast(session, state.history, done.history);
    return done;
  };

/**
 * The API counts a task's tokens by what it sees of it: what was summed up it does not see any
 * more, so from here on it is told what is left.
 */
function noteTaskBudget(session: Session, { preTokens }: Compaction): void {
  const { taskBudget } = session.config;
  if (!taskBudget) return;
  const before = session.taskBudgetRemaining ?? taskBudget.total;
  session.taskBudgetRemaining = Math.max(0, before - preTokens);
}

/** Instructions that were appended went with the rest: they are read again where they hold. */
function forgetNested({ loadedNestedMemoryPaths, config }: Session): void {
  loadedNestedMemoryPaths.clear();
  for (const path of config.memoryPaths ?? []) loadedNestedMemoryPaths.add(path);
}

/** The summary is where a resumed session begins. */
function noteBoundary(
  session: Session,
  { messages, ...sizes }: Compaction,
  unanswered: Unanswered,
): void {
  session.transcript.compacted({
    ...sizes,
    history: messages,
    totals: totalsOf(session),
    costs: costsOf(session),
    ...unanswered,
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

const costsOf = ({ usage }: Session): Costs =>
  Object.fromEntries(
    Object.entries(usage.snapshot().modelUsage).flatMap(([model, { costUSD }]) =>
      costUSD === null ? [] : [[model, costUSD]],
    ),
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

/** The model's, or the host's own where it is smaller. */
export const windowsOf =
  ({ config }: Session) =>
  (name: string) => {
    const { contextWindowTokens, outputTokensMax } = modelFacts(name);
    const own = config.autoCompactWindow ?? contextWindowTokens;
    return { windowTokens: Math.min(contextWindowTokens, own), outputTokensMax };
  };

/** What a prompt costs at most: nothing of it is in the cache, and all of it is written there. */
const worstPrices = (name: string) => {
  const { price } = modelFacts(name);
  return price
    ? {
        inputUsdPerToken: price.cacheWriteUsdPerMtok / 1e6,
        outputUsdPerToken: price.outputUsdPerMtok / 1e6,
      }
    : undefined;
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
