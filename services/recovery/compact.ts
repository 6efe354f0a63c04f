/**
 * Puts a summary in place of the old part of a history. What the summary is made from stays in the
 * log; the new history is a chain of its own.
 */
import type { Cursor, QueryState } from '../../machines/state.ts';
import type { HookVerdict, RunHooks } from '../hooks/types.ts';
import type { MessageLog } from '../message-log.ts';
import type { LogMessage } from '../messages.ts';
import type { CallModel, Usage } from '../model/types.ts';
import type { Tell } from '../preprocess/stage.ts';
import type { TokenCounter } from '../preprocess/token-count.ts';
import { unbindThinking } from '../preprocess/unbind-thinking.ts';
import { windows } from '../preprocess/windows.ts';
import {
  askSummary,
  type SharedParts,
  type SummaryAnswer,
  type SummaryFault,
} from './ask-summary.ts';
import type { Reattach } from './reattach.ts';
import { type SplitHistory, splitHistory } from './split-history.ts';
import { summaryText } from './summary-prompt.ts';

/** A summary that frees less costs more than it brings. */
const FREED_SHARE_MIN = 0.1;
/**
 * What stays word for word is at most this part of the prompt. A window may be smaller than the
 * table of models says (a server of one's own): the prompt that it refused is what is known of it.
 */
const KEPT_SHARE_MAX = 1 / 4;

export interface ModelWindow {
  /** Prompt and answer together. */
  readonly windowTokens: number;
  readonly outputTokensMax: number;
}
export interface CompactDeps {
  readonly log: MessageLog;
  readonly counter: TokenCounter;
  readonly callModel: CallModel;
  /** The same as the loop's next request would have: the summary shares its cache. */
  readonly partsOf: (state: QueryState) => SharedParts;
  readonly windowOf: (model: string) => ModelWindow;
  readonly runHooks: RunHooks;
  readonly tell: Tell;
  /** Bills a call. @returns dollars; 0 when the price is not known. */
  readonly onUsage: (model: string, usage: Usage) => number;
  readonly reattach: Reattach;
  /** A summary stands now: for the transcript, and for what is counted per conversation. */
  readonly onDone: (compaction: Compaction) => void;
  readonly uuid: () => string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What was done. Sizes are tokens of the prompt. */
export interface Compaction {
  readonly trigger: 'auto' | 'manual';
  readonly preTokens: number;
  readonly postTokens: number;
  /** The history from here on, the summary first. */
  readonly messages: readonly LogMessage[];
}

export interface CompactRequest {
  readonly state: QueryState;
  readonly trigger: 'auto' | 'manual';
  /** Wishes of a person for the summary. */
  readonly customInstructions?: string;
  readonly signal: AbortSignal;
}
export type CompactOutcome =
  | { readonly kind: 'done'; readonly history: Cursor; readonly usd: number }
  /** One exchange is all there is: nothing was asked, nothing has failed. */
  | { readonly kind: 'nothing'; readonly reason: string; readonly usd: 0 }
  | {
      readonly kind: 'failed';
      readonly fault: CompactFault;
      readonly reason: string;
      readonly usd: number;
    };
/** Whose fault it is that there is no summary. */
export type CompactFault = SummaryFault | 'hook';

/** Never throws; on failure and abort history is what it was. */
export type Compact = (request: CompactRequest) => Promise<CompactOutcome>;

const wishesOf = (custom: string | undefined, verdict: HookVerdict) =>
  [custom ?? '', ...verdict.additionalContext].filter((wish) => wish.trim() !== '');

/** Compaction, for whoever wants one: a threshold, a full window, a person. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: closures over one state; none of them is long
export function createCompact(deps: CompactDeps): Compact {
  const { log, counter, tell, runHooks } = deps;
  const sizeOf = (messages: readonly LogMessage[]) => counter.estimateMessages(messages);
  const makeNote = (text: string): LogMessage => ({
    uuid: deps.uuid(),
    timestamp: new Date(deps.now()).toISOString(),
    role: 'user',
    kind: 'note',
    origin: 'nudge',
    isMeta: true,
    content: [{ type: 'text', text }],
  });

  const numbersOf = (model: string) => {
    const { windowTokens, outputTokensMax } = deps.windowOf(model);
    return windows(windowTokens, outputTokensMax);
  };
  const keptTokensMax = ({ model, history }: QueryState) => {
    const { kept } = numbersOf(model);
    return Math.min(kept, Math.floor(counter.estimate(history.head) * KEPT_SHARE_MAX));
  };

  /** What may be put beside the summary without being a reason for the next one. */
  const roomBeside = (state: QueryState, messages: readonly LogMessage[]) => {
    const { system, userContext, tools } = counter.fixedParts();
    const fixed = tools.reduce((sum, { tokens }) => sum + tokens, system + userContext);
    const free = numbersOf(state.model).autocompact - fixed - sizeOf(messages);
    return Math.max(0, Math.min(free, keptTokensMax(state)));
  };

  const summarise = async (
    { state, signal }: CompactRequest,
    old: SplitHistory['old'],
    wishes: readonly string[],
  ): Promise<SummaryAnswer> => {
    const parts = deps.partsOf(state);
    return askSummary(
      {
        old,
        parts,
        wishes,
        signal,
        limits: state.limits,
        maxTokens: numbersOf(parts.model).reserve,
      },
      { callModel: deps.callModel, onUsage: deps.onUsage, sizeOf, makeNote },
    );
  };

  const replaceOld = async (
    { state, trigger, signal }: CompactRequest,
    { kept, request }: SplitHistory,
    { summary, messagesDropped, usd }: Extract<SummaryAnswer, { ok: true }>,
  ): Promise<CompactOutcome> => {
    const before = log.at(state.history.head);
    const note: LogMessage = {
      ...makeNote(summaryText(summary, messagesDropped)),
      origin: 'summary',
    };
    const asked = request ? [request] : [];
    const tokensMax = roomBeside(state, [note, ...asked, ...kept]);
    const attached = await deps.reattach({ kept, tokensMax, signal });
    if (signal.aborted) return { kind: 'failed', fault: 'aborted', reason: 'aborted', usd };
    const after = [note, ...attached, ...asked, ...unbindThinking(kept, 0)];
    if (sizeOf(after) > sizeOf(before) * (1 - FREED_SHARE_MIN))
      return {
        kind: 'failed',
        fault: 'useless',
        reason: 'the summary freed less than a tenth',
        usd,
      };
    const preTokens = counter.estimate(state.history.head);
    const rewritten = log.rewrite(after, 0);
    const history = { ...rewritten, tokens: counter.estimate(rewritten.head) };
    const fields = { trigger, compact_summary: summary };
    const { warnings } = await runHooks('PostCompact', fields, { matchQuery: trigger, signal });
    for (const text of warnings) tell({ type: 'warning', text });
    if (signal.aborted) return { kind: 'failed', fault: 'aborted', reason: 'aborted', usd };
    const sizes = { trigger, preTokens, postTokens: history.tokens };
    deps.onDone({ ...sizes, messages: after });
    tell({ type: 'compactBoundary', ...sizes, messagesDropped });
    return { kind: 'done', history, usd };
  };

  const tryIt = async (request: CompactRequest, split: SplitHistory): Promise<CompactOutcome> => {
    const { trigger, customInstructions, signal } = request;
    const verdict = await runHooks(
      'PreCompact',
      { trigger, custom_instructions: customInstructions ?? null },
      { matchQuery: trigger, signal },
    );
    for (const text of verdict.warnings) tell({ type: 'warning', text });
    const [objection = verdict.prevented?.reason] = verdict.blocked;
    if (objection !== undefined)
      return {
        kind: 'failed',
        fault: 'hook',
        reason: `a PreCompact hook objects: ${objection}`,
        usd: 0,
      };
    tell({ type: 'status', status: 'compacting' });
    const answer = await summarise(request, split.old, wishesOf(customInstructions, verdict));
    const outcome: CompactOutcome = answer.ok
      ? await replaceOld(request, split, answer)
      : { kind: 'failed', fault: answer.fault, reason: answer.reason, usd: answer.usd };
    tell({ type: 'status', status: null });
    return outcome;
  };

  return async (request) => {
    const { state, signal } = request;
    if (signal.aborted) return { kind: 'failed', fault: 'aborted', reason: 'aborted', usd: 0 };
    const split = splitHistory(log.at(state.history.head), keptTokensMax(state), sizeOf);
    if (!split)
      return { kind: 'nothing', reason: 'one exchange is all there is: nothing to sum up', usd: 0 };
    const outcome = await tryIt(request, split);
    if (outcome.kind === 'failed' && !signal.aborted)
      tell({ type: 'compactFailed', reason: outcome.reason });
    return outcome;
  };
}
