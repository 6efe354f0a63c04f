/** Asks a small model for the summary of one segment. One request: a later one may try again. */
import type { SmallModel } from '../model/ask-small-model.ts';
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
  /** The model of the loop. */
  readonly main: string;
  /** Of the small model, prompt and answer together. */
  readonly windowTokens: number;
  readonly signal: AbortSignal;
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

/** *Contract:* never throws; ends when the signal does. */
export async function askFold(
  question: FoldQuestion,
  smallModel: Pick<SmallModel, 'ask'>,
): Promise<FoldAnswer> {
  const { segment, main, signal } = question;
  const answer = await smallModel.ask({
    ...{ main, signal, querySource: 'collapse', system: FOLD_SYSTEM_PROMPT },
    text: foldQuestion(recordOf(question), summaryTokensOf(segment)),
    maxTokens: answerTokensMax(segment),
  });
  if (!answer.ok) return answer;
  if (answer.cutBy !== undefined)
    return { ok: false, reason: `the summary ended with ${answer.cutBy}` };
  const summary = answer.text.trim();
  return summary === '' ? { ok: false, reason: 'the summary was empty' } : { ok: true, summary };
}
