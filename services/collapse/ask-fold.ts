/** Asks a small model for the summary of one segment. One request: a later one may try again. */
import type { LogMessage } from '../messages.ts';
import type { CallModel, ModelRequest, Usage } from '../model/types.ts';
import { FOLD_SYSTEM_PROMPT, foldQuestion } from './fold-prompt.ts';
import { renderRounds } from './render.ts';
import type { Segment } from './segments.ts';

/** A summary has at most this part of what it stands for, and … */
const SUMMARY_SHARE = 1 / 5;
/** … never more than anybody would read again, nor less than a sentence. */
const SUMMARY_TOKENS_MAX = 1_500;
const SUMMARY_TOKENS_MIN = 200;
/** Bytes of a token, as the counter begins with: what does not fit is shortened, message by message. */
const CHARS_PER_TOKEN = 3;

export interface FoldQuestion {
  readonly segment: Segment;
  readonly model: string;
  /** Of that model, prompt and answer together. */
  readonly windowTokens: number;
  readonly makeNote: (text: string) => LogMessage;
  readonly signal: AbortSignal;
}
export interface FoldDeps {
  readonly callModel: CallModel;
  /** Bills what a call has used, also one that was broken off. */
  readonly onUsage: (model: string, usage: Usage) => void;
}
export type FoldAnswer =
  | { readonly ok: true; readonly summary: string }
  /** `isUnpaid`: the budget does not pay for it, so that nobody was asked. */
  | { readonly ok: false; readonly reason: string; readonly isUnpaid?: true };

const summaryTokensOf = ({ tokens }: Segment): number =>
  Math.max(SUMMARY_TOKENS_MIN, Math.min(SUMMARY_TOKENS_MAX, Math.floor(tokens * SUMMARY_SHARE)));

/** What is cut is of no use: the words ask for less than there is room for. */
const answerTokensMax = (segment: Segment): number => 2 * summaryTokensOf(segment);

/** What the request has at most, prompt and answer: for whoever has to pay it. */
export const foldTokensOf = (segment: Segment): { prompt: number; answer: number } => ({
  prompt: segment.tokens + FOLD_SYSTEM_PROMPT.length,
  answer: answerTokensMax(segment),
});

/** The rounds, as much of each message as fits into the window of the model. */
function recordOf({ segment, windowTokens }: FoldQuestion): string {
  const whole = renderRounds(segment.messages);
  const room = Math.floor(windowTokens / 2) * CHARS_PER_TOKEN;
  if (whole.length <= room) return whole;
  return renderRounds(segment.messages, Math.floor(room / segment.messages.length));
}

function requestOf(question: FoldQuestion): ModelRequest {
  const tokensMax = summaryTokensOf(question.segment);
  return {
    model: question.model,
    systemPrompt: [FOLD_SYSTEM_PROMPT],
    thinking: { type: 'disabled' },
    tools: [],
    messages: [question.makeNote(foldQuestion(recordOf(question), tokensMax))],
    maxTokens: answerTokensMax(question.segment),
    querySource: 'collapse',
    signal: question.signal,
  };
}

/** *Contract:* never throws; ends when the signal does. */
export async function askFold(question: FoldQuestion, deps: FoldDeps): Promise<FoldAnswer> {
  const request = requestOf(question);
  let text = '';
  for await (const event of deps.callModel(request)) {
    switch (event.type) {
      case 'block':
        for (const block of event.message.content) if (block.type === 'text') text += block.text;
        break;
      case 'ended':
        deps.onUsage(request.model, event.usage);
        if (event.stopReason !== 'end_turn' && event.stopReason !== 'stop_sequence')
          return { ok: false, reason: `the summary ended with ${event.stopReason}` };
        return text.trim() === ''
          ? { ok: false, reason: 'the summary was empty' }
          : { ok: true, summary: text.trim() };
      case 'failed':
        if (event.usage) deps.onUsage(request.model, event.usage);
        return {
          ok: false,
          reason: event.failure.detail,
          ...(event.failure.class === 'over_budget' ? { isUnpaid: true } : {}),
        };
      default:
        break; // deltas are for the loop's own answers
    }
  }
  return { ok: false, reason: 'the model said nothing' };
}
