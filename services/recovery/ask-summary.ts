/** Asks a model for a summary: at most three requests, smaller each time it is too long. */
import { setTimeout as wait } from 'node:timers/promises';
import { backoffMs, type QueryLimits } from '../../machines/limits.ts';
import {
  type Failure,
  type FailureClass,
  isPassing,
  type StopReason,
} from '../../machines/state.ts';
import type { LogMessage } from '../messages.ts';
import type { CallModel, ModelRequest, Usage } from '../model/types.ts';
import { repairHistory } from '../preprocess/legal-history.ts';
import { replaceMedia } from '../preprocess/media.ts';
import type { Piece } from './split-history.ts';
import { readSummary, summaryInstruction } from './summary-prompt.ts';

/** Parts of the old history that are left out, oldest first, when the request is too long. */
const SHARES_LEFT_OUT = [0, 0.2, 0.5] as const;
/** All requests for one summary, whatever made them fail. */
const TRIES_MAX = 3;

/** What shares the prompt cache with the loop: the same in front, in the same order. */
export type SharedParts = Pick<
  ModelRequest,
  'model' | 'systemPrompt' | 'userContext' | 'thinking' | 'tools' | 'keepsSignatures'
>;
export interface SummaryQuestion {
  readonly old: readonly Piece[];
  readonly parts: SharedParts;
  readonly maxTokens: number;
  readonly wishes: readonly string[];
  readonly limits: QueryLimits;
  readonly signal: AbortSignal;
}
export interface SummaryDeps {
  readonly callModel: CallModel;
  readonly sizeOf: (messages: readonly LogMessage[]) => number;
  /** Bills what a call has used. @returns dollars. */
  readonly onUsage: (model: string, usage: Usage) => number;
  readonly makeNote: (text: string) => LogMessage;
}
export type SummaryAnswer =
  | {
      readonly ok: true;
      readonly summary: string;
      readonly messagesDropped: number;
      readonly usd: number;
    }
  | {
      readonly ok: false;
      readonly fault: SummaryFault;
      readonly reason: string;
      readonly usd: number;
    };
/**
 * `api`: it refused, or did not come through. `useless`: it answered, but with no summary.
 * `unpaid`: the budget does not pay for it, so that nobody was asked.
 */
export type SummaryFault = 'aborted' | 'api' | 'useless' | 'unpaid';

type Reply =
  | { readonly kind: 'summary'; readonly summary: string }
  | { readonly kind: 'tooLong'; readonly reason: string }
  | { readonly kind: 'capTooHigh'; readonly fittingTokens: number; readonly reason: string }
  | { readonly kind: 'passing'; readonly failure: Failure }
  | {
      readonly kind: 'useless';
      readonly fault: Exclude<SummaryFault, 'aborted'>;
      readonly reason: string;
    };

const tooLong: readonly FailureClass[] = [
  'prompt_too_long',
  'request_too_large',
  'output_cap_too_high',
];

/** A summary that must be shorter than this is none. */
const SUMMARY_TOKENS_MIN = 1_024;

const judgeFailure = (failure: Failure): Reply => {
  const { fittingTokens = 0 } = failure;
  if (failure.class === 'output_cap_too_high' && fittingTokens >= SUMMARY_TOKENS_MIN)
    return { kind: 'capTooHigh', fittingTokens, reason: failure.detail };
  if (tooLong.includes(failure.class)) return { kind: 'tooLong', reason: failure.detail };
  if (isPassing(failure)) return { kind: 'passing', failure };
  const fault = failure.class === 'over_budget' ? 'unpaid' : 'api';
  return { kind: 'useless', fault, reason: failure.detail };
};
const useless = (reason: string): Reply => ({ kind: 'useless', fault: 'useless', reason });
const judgeEnd = (stopReason: StopReason, text: string, calledTool: boolean): Reply => {
  if (stopReason === 'model_context_window_exceeded')
    return { kind: 'tooLong', reason: 'the window was full before the summary was whole' };
  if (stopReason === 'refusal') return useless('the model refused');
  if (stopReason === 'max_tokens' || stopReason === 'pause_turn')
    return useless(`the summary was cut (${stopReason})`);
  if (calledTool) return useless('the model called a tool instead');
  const summary = readSummary(text);
  return summary === '' ? useless('the summary was empty') : { kind: 'summary', summary };
};

/** One request, read to its end. */
const ask = async (
  deps: SummaryDeps,
  request: ModelRequest,
): Promise<{ readonly reply: Reply; readonly usd: number }> => {
  let text = '';
  let calledTool = false;
  for await (const event of deps.callModel(request)) {
    switch (event.type) {
      case 'block':
        for (const block of event.message.content) if (block.type === 'text') text += block.text;
        break;
      case 'toolUse':
        calledTool = true;
        break;
      case 'ended':
        return {
          reply: judgeEnd(event.stopReason, text, calledTool),
          usd: deps.onUsage(request.model, event.usage),
        };
      case 'failed':
        return {
          reply: judgeFailure(event.failure),
          usd: event.usage ? deps.onUsage(request.model, event.usage) : 0,
        };
      default:
        break; // deltas and warnings are for the loop's own answers
    }
  }
  return { reply: useless('the model said nothing'), usd: 0 };
};

/** Leaves out the oldest pieces, an earlier summary excepted: it stands for all before it. */
const leaveOut = (
  old: readonly Piece[],
  share: number,
  sizeOf: SummaryDeps['sizeOf'],
): { readonly messages: readonly LogMessage[]; readonly dropped: number } => {
  const isSummary = (piece: Piece) => piece.messages.some((m) => m.origin === 'summary');
  const sizes = old.map((piece) => sizeOf(piece.messages));
  let room = share * sizes.reduce((sum, size) => sum + size, 0);
  let dropped = 0;
  const messages = old.flatMap((piece, at) => {
    const goes = room > 0 && at < old.length - 1 && !isSummary(piece);
    if (!goes) return piece.messages;
    room -= sizes[at] ?? 0;
    dropped += piece.messages.length;
    return [];
  });
  return { messages, dropped };
};

const withoutMedia = (message: LogMessage) =>
  replaceMedia(message, (block) => `[${block.type} not shown here]`);

/** The messages of a try, legal by themselves, the instruction last. */
const requestFor = (
  { old, parts, maxTokens, wishes, signal }: SummaryQuestion,
  share: number,
  deps: SummaryDeps,
): { readonly request: ModelRequest; readonly dropped: number } => {
  const { messages, dropped } = leaveOut(old, share, deps.sizeOf);
  const gap =
    dropped === 0
      ? []
      : [deps.makeNote(`(The oldest ${dropped} messages of this conversation are left out here.)`)];
  const instruction = deps.makeNote(summaryInstruction(wishes));
  const shown = [...gap, ...messages.map(withoutMedia)];
  const { model, systemPrompt, userContext, thinking, tools, keepsSignatures } = parts;
  return {
    dropped,
    request: {
      model,
      systemPrompt,
      ...(userContext === undefined ? {} : { userContext }),
      thinking,
      tools,
      ...(keepsSignatures ? { keepsSignatures } : {}),
      messages: repairHistory([...shown, instruction]).messages,
      // Where an earlier request of the loop ended: its cache entry is read from here.
      previousCount: shown.length,
      maxTokens,
      querySource: 'compact',
      signal,
    },
  };
};

const no = (reason: string, usd: number): SummaryAnswer => ({
  ok: false,
  fault: 'api',
  reason,
  usd,
});

/** *Contract:* never throws; an abort makes it fail at once. */
export const askSummary = async (
  question: SummaryQuestion,
  deps: SummaryDeps,
): Promise<SummaryAnswer> => {
  const { limits, signal } = question;
  let { maxTokens } = question;
  let usd = 0;
  let step = 0;
  let droppedBefore = -1;
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    if (signal.aborted) return { ok: false, fault: 'aborted', reason: 'aborted', usd };
    const share = SHARES_LEFT_OUT[step] ?? 0.5;
    const { request, dropped } = requestFor({ ...question, maxTokens }, share, deps);
    if (dropped <= droppedBefore) return no('the newest part alone is too long for a summary', usd);
    const { reply, usd: cost } = await ask(deps, request);
    usd += cost;
    if (signal.aborted) return { ok: false, fault: 'aborted', reason: 'aborted', usd };
    switch (reply.kind) {
      case 'summary':
        return { ok: true, summary: reply.summary, messagesDropped: dropped, usd };
      case 'useless':
        return { ok: false, fault: reply.fault, reason: reply.reason, usd };
      case 'tooLong':
        step += 1;
        droppedBefore = dropped;
        if (tries === TRIES_MAX) return no(reply.reason, usd);
        break;
      case 'capTooHigh':
        maxTokens = Math.min(maxTokens, reply.fittingTokens);
        if (tries === TRIES_MAX) return no(reply.reason, usd);
        break;
      case 'passing': {
        const delayMs = backoffMs(limits, reply.failure, tries);
        const isHopeless = tries === TRIES_MAX || delayMs > limits.retryAfterMaxMs;
        if (isHopeless) return no(reply.failure.detail, usd);
        await wait(delayMs, undefined, { signal }).catch(() => {});
      }
    }
  }
  return no('no try was left', usd);
};
