/** Where a history is cut for a summary: only between rounds, named by messages, never by counts. */
import type { LogMessage } from '../messages.ts';
import { isAnswer, type Round, roundsOf } from '../preprocess/rounds.ts';

/** A part that is kept or summed up as a whole: a round, or a prompt. */
export interface Piece {
  readonly messages: readonly LogMessage[];
  readonly hasAnswer: boolean;
}

/** Said by a person, or by the host for one. */
export const isRequest = (message: LogMessage) =>
  message.role === 'user' && message.origin === 'prompt' && message.isMeta !== true;

const piecesOfRound = (round: Round): readonly Piece[] => {
  // A prompt that came between calls and their results is no place to cut.
  const bound = round.all.findLastIndex((m) => m.role === 'assistant' || isAnswer(m));
  const cuts = round.all.flatMap((m, at) => (at > Math.max(bound, 0) && isRequest(m) ? [at] : []));
  return [0, ...cuts].map((from, at) => {
    const messages = round.all.slice(from, cuts[at]);
    return { messages, hasAnswer: messages.some((m) => m.role === 'assistant') };
  });
};

/** The history in pieces; they in order are the whole. */
export const piecesOf = (messages: readonly LogMessage[]): readonly Piece[] =>
  roundsOf(messages).flatMap(piecesOfRound);

export interface SplitHistory {
  /** What the summary is to stand for. */
  readonly old: readonly Piece[];
  /** The newest rounds, word for word. */
  readonly kept: readonly LogMessage[];
  /** The last thing that a person asked for, when it is not in the kept part. */
  readonly request: LogMessage | undefined;
}

/**
 * Keeps the last round whole with what came after it, and more of the newest pieces while they fit.
 * @param sizeOf tokens of messages.
 * @returns `undefined` when a summary could not stand for anything: one exchange is all there is.
 */
export const splitHistory = (
  messages: readonly LogMessage[],
  keptTokensMax: number,
  sizeOf: (messages: readonly LogMessage[]) => number,
): SplitHistory | undefined => {
  const pieces = piecesOf(messages);
  let from = Math.max(
    pieces.findLastIndex((piece) => piece.hasAnswer),
    0,
  );
  let tokens = pieces.slice(from).reduce((sum, piece) => sum + sizeOf(piece.messages), 0);
  for (let next = pieces[from - 1]; next; next = pieces[from - 1]) {
    tokens += sizeOf(next.messages);
    if (tokens > keptTokensMax) break;
    from -= 1;
  }
  const old = pieces.slice(0, from);
  const kept = pieces.slice(from).flatMap((piece) => piece.messages);
  const last = messages.findLast(isRequest);
  const request = last && !kept.includes(last) ? last : undefined;
  const isWorthIt = old.some((piece) =>
    piece.messages.some((m) => m.role === 'assistant' || (isRequest(m) && m !== last)),
  );
  return isWorthIt ? { old, kept, request } : undefined;
};
