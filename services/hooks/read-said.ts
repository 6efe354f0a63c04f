/** From what a hook has printed or returned to what it means. */

import { jsonFault } from '../json-fault.ts';
import type { BoundedResult } from '../tools/process/bounded-text.ts';
import { clipEnd } from '../tools/process/clip.ts';
import { deepWellFormed } from '../well-formed.ts';
import { hookLimits } from './limits.ts';
import { type HookOutcome, takesText } from './outcome.ts';
import type { HookEvent } from './types.ts';

/**
 * The stdout of a command that ended with exit code 0. JSON is an answer; text is context at
 * `UserPromptSubmit` and `SessionStart`, and nothing elsewhere.
 */
export const readStdout = async (
  { head, tail, totalBytes }: BoundedResult,
  event: HookEvent,
): Promise<HookOutcome> => {
  const text = head.trim();
  if (text === '') return { kind: 'silent' };
  // Whatever it was meant to say is lost in this.
  if (tail !== '') return failed(`it printed ${totalBytes} bytes, too much for an answer`);
  if (looksLikeAnswer(text)) {
    try {
      return await readAnswer(JSON.parse(text));
    } catch (error) {
      if (text.startsWith('{')) return failed(`its answer is no JSON: ${jsonFault(error)}`);
    }
  }
  if (!takesText(event)) return { kind: 'silent' };
  return { kind: 'context', text: clipEnd(text, hookLimits.textCharsMax) };
};

/** A log line may begin with `[`, too: such a text is an answer only if it is JSON. */
const looksLikeAnswer = (text: string): boolean => text.startsWith('{') || text.startsWith('[');

/** What a callback returned, or a command printed as JSON. */
export const readAnswer = async (answer: unknown): Promise<HookOutcome> => {
  if (answer === undefined || answer === null) return { kind: 'silent' };
  if (typeof answer !== 'object' || Array.isArray(answer)) return failed('its answer is no object');
  let copy: Readonly<Record<string, unknown>>;
  try {
    // A function of the host may give what no other reader could compare, write down or send.
    copy = deepWellFormed(JSON.parse(JSON.stringify(answer)));
  } catch (error) {
    return failed(`its answer is no JSON: ${jsonFault(error)}`);
  }
  if (Object.keys(copy).length === 0) return { kind: 'silent' };
  const { checkOutput } = await import('./output-schema.ts');
  return { kind: 'said', ...checkOutput(copy) };
};

const failed = (detail: string): HookOutcome => ({ kind: 'failed', detail });
