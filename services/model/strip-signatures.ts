/**
 * Thinking is signed by the model that thought it (the later ones bind it to more than that), and
 * no other model takes it back: a 400 "Invalid `signature` in `thinking` block". It is stripped on
 * the way to another model only; the log keeps it for its own.
 */
import type { ContentBlock, LogMessage } from '../messages.ts';
import { isSameModel } from './model-table.ts';

/** Whether a block carries a signature of its model. */
export const isThinking = (block: ContentBlock): boolean =>
  block.type === 'thinking' || block.type === 'redacted_thinking';

/** Whether the thinking in a message may go to a model. A message of unknown origin: to none. */
export const mayThinkWith = (message: LogMessage, model: string): boolean =>
  message.model !== undefined && isSameModel(message.model, model);

/**
 * The messages without thinking that `model` has not signed. Whole blocks go, nothing is edited;
 * messages that become empty go as well. The same reference when nothing had to go.
 */
export function stripSignatures(
  messages: readonly LogMessage[],
  model: string,
): readonly LogMessage[] {
  const kept = messages.flatMap((message) => {
    if (mayThinkWith(message, model) || !message.content.some(isThinking)) return [message];
    const content = message.content.filter((block) => !isThinking(block));
    return content.length > 0 ? [{ ...message, content }] : [];
  });
  const isSame = kept.length === messages.length && kept.every((one, at) => one === messages[at]);
  return isSame ? messages : kept;
}
