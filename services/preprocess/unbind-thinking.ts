/**
 * What a rewrite of the past does to thinking. The newer models check a thinking block against all
 * that stood before it and answer a mismatch with a 400, for every later request as well: so what
 * comes after the first change is marked as thought by nobody, and is not sent any more. Models
 * that want a budget check the block alone, and want it back beside its calls: theirs stays.
 */
import type { LogMessage } from '../messages.ts';
import { modelFacts } from '../model/model-table.ts';
import { isThinking } from '../model/strip-signatures.ts';
import { revise } from './revise.ts';

/** Whether the model that thought this checks what stands before it. */
const isBound = ({ model, content }: LogMessage) =>
  model !== undefined && modelFacts(model).thinking === 'adaptive' && content.some(isThinking);

/** The same message under a name of its own; without its model no request carries its thinking. */
const unbound = (message: LogMessage): LogMessage => {
  const { model: _, ...rest } = revise(message, message.content);
  return rest;
};

/**
 * A history after a change.
 * @param from index of the first message before which something has changed; −1: none.
 */
export const unbindThinking = (
  messages: readonly LogMessage[],
  from: number,
): readonly LogMessage[] =>
  from < 0
    ? messages
    : messages.map((message, at) => (at >= from && isBound(message) ? unbound(message) : message));
