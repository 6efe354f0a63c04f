/**
 * A history that the API takes: rules S1 to S7, S10, S12 to S14 on log messages. (S8 belongs to the
 * projection, which knows the model; S9 and S11 to the request; S15 to the limits.)
 *
 * Pure and deterministic: the same history is repaired the same way, a legal one is returned as the
 * same array, and what was repaired is legal.
 */
import type { LogMessage } from '../messages.ts';
import { defaultMediaLimits, legalMessage, type MediaLimits } from './legal-blocks.ts';
import { fitMedia } from './legal-media.ts';
import { legalPairs } from './legal-pairs.ts';
import { invent } from './revise.ts';
import { roundsOf } from './rounds.ts';

export interface RepairOptions {
  /** Ids of calls further up, in a part that is known to be legal. */
  readonly isKnown?: (id: string) => boolean;
  /** There is such a part. */
  readonly goesOn?: boolean;
  /** The API paused its last answer and wants it back as it is. */
  readonly isPaused?: boolean;
  readonly limits?: MediaLimits;
}
export interface Repaired {
  readonly messages: readonly LogMessage[];
  /** What was done, in words. Empty exactly when the messages are the ones given. */
  readonly repairs: readonly string[];
  /** Ids of all calls in these messages, as they are now. */
  readonly ids: ReadonlySet<string>;
}

const OPENING = '(The beginning of this conversation is not there any more.)';
const GO_ON = 'Go on where you stopped, without repeating anything.';

const noteFrom = (anchor: Pick<LogMessage, 'uuid' | 'timestamp'>, text: string): LogMessage =>
  invent(anchor, {
    role: 'user',
    kind: 'note',
    origin: 'repair',
    isMeta: true,
    content: [{ type: 'text', text }],
  });

/** S6: a user message first, and one last. */
const legalEnds = (
  messages: readonly LogMessage[],
  { goesOn = false, isPaused = false }: RepairOptions,
  note: (repair: string) => void,
): readonly LogMessage[] => {
  const first = messages[0];
  const last = messages.at(-1);
  const needsOpening = !goesOn && first?.role === 'assistant';
  // Words beside a call may come after its result: in the request they stand before it.
  const isHeard = () => (roundsOf(messages).at(-1)?.heard.length ?? 0) > 0;
  const needsEnd = last?.role === 'assistant' && !isPaused && !isHeard();
  if (needsOpening) note('the history began with an answer: a word was put in front of it');
  if (needsEnd) note('the history ended with an answer: the model is asked to go on');
  if (!needsOpening && !needsEnd) return messages;
  return [
    ...(first && needsOpening ? [noteFrom(first, OPENING)] : []),
    ...messages,
    ...(last && needsEnd ? [noteFrom(last, GO_ON)] : []),
  ];
};

/** Rules that need no look at the whole: only at these messages and what is known of the rest. */
export const repairPart = (
  messages: readonly LogMessage[],
  options: RepairOptions = {},
): Repaired => {
  const repairs: string[] = [];
  const note = (repair: string) => void repairs.push(repair);
  const limits = options.limits ?? defaultMediaLimits;
  const isKnown = options.isKnown ?? (() => false);
  const single = messages.flatMap((message) => legalMessage(message, limits, note) ?? []);
  let paired = legalPairs(single, isKnown, options.isPaused ?? false, note);
  // What is left out may bring blocks of one answer together again: looked at once more, as long
  // as that changes something. Each pass leaves fewer blocks that can be wrong.
  for (let before = 0; repairs.length > before; ) {
    before = repairs.length;
    paired = legalPairs(paired.messages, isKnown, options.isPaused ?? false, note);
  }
  const [anchor] = messages;
  const nothingLeft = paired.messages.length === 0 && anchor && !options.goesOn;
  if (nothingLeft) note('nothing of the history could be sent: the model is asked to go on');
  const ended = nothingLeft ? [noteFrom(anchor, GO_ON)] : legalEnds(paired.messages, options, note);
  return { messages: repairs.length === 0 ? messages : ended, repairs, ids: paired.learned };
};

/** The whole: also what all media together may be. */
export const repairHistory = (
  messages: readonly LogMessage[],
  options: RepairOptions = {},
): Repaired => {
  const part = repairPart(messages, options);
  const repairs = [...part.repairs];
  const fitted = fitMedia(
    part.messages,
    options.limits ?? defaultMediaLimits,
    (repair) => void repairs.push(repair),
  );
  return { messages: fitted, repairs, ids: part.ids };
};
