/** Hooks that look at a prompt before the model does, whichever way it came in. */
import type { ContentBlock, LogMessage } from '../services/messages.ts';
import { calledCommand, textOfPrompt } from './commands.ts';
import type { QueryScope } from './query-scope.ts';
import type { Session } from './session.ts';

export interface PromptVerdict {
  /** Why the model must not see it; `undefined`: it may. */
  readonly refusal: string | undefined;
  /** To be read with the prompt. */
  readonly contexts: readonly ContentBlock[];
  /** Of hooks that went wrong. */
  readonly warnings: readonly string[];
}

/** What the UserPromptSubmit hooks say of a prompt. */
export async function judgePrompt(
  { runHooks }: Session,
  content: readonly ContentBlock[],
  signal: AbortSignal,
): Promise<PromptVerdict> {
  const prompt = textOfPrompt(content);
  const verdict = await runHooks('UserPromptSubmit', { prompt }, { signal });
  return {
    refusal: verdict.prevented?.reason ?? verdict.blocked[0],
    contexts: verdict.additionalContext.map((text) => ({ type: 'text', text })),
    warnings: verdict.warnings,
  };
}

/** How a host is told that a prompt was stopped. */
export const refusalText = (refusal: string): string => `A hook stopped this prompt: ${refusal}`;

/** A command is a turn of its own, whatever runs beside it: no round may read it as words. */
const isCommand = ({ commands }: Session, { content }: LogMessage): boolean =>
  calledCommand(content, commands()) !== undefined;

/** A prompt that has come beside a turn, and what the hooks say of it. */
interface Judged {
  readonly prompt: LogMessage;
  readonly verdict: PromptVerdict;
}

const judgeAll = async (
  session: Session,
  prompts: readonly LogMessage[],
  signal: AbortSignal,
): Promise<readonly Judged[]> =>
  Promise.all(
    prompts.map(async (prompt) => ({
      prompt,
      verdict: await judgePrompt(session, prompt.content, signal),
    })),
  );

/** Those that may be read, with what their hooks add; of the others nobody hears any more. */
function admit(
  { transcript }: Session,
  judged: readonly Judged[],
  warn: (text: string) => void,
): readonly LogMessage[] {
  return judged.flatMap(({ prompt, verdict: { refusal, contexts, warnings } }) => {
    for (const text of warnings) warn(text);
    if (refusal === undefined) {
      return [contexts.length === 0 ? prompt : withMore(prompt, contexts)];
    }
    warn(refusalText(refusal));
    transcript.note('queue-operation', { operation: 'remove', uuid: prompt.uuid });
    return [];
  });
}

const withMore = (prompt: LogMessage, contexts: readonly ContentBlock[]): LogMessage => ({
  ...prompt,
  content: [...prompt.content, ...contexts],
});

/**
 * Prompts that came while the round ran. They stay in the queue while their hooks are asked, so
 * that no deadline and no abort loses one.
 * @returns takes out what was judged and is still there: this turn answers for all of it, also for
 * what is not admitted, and its result names it.
 */
export async function judgeQueued(
  session: Session,
  scope: QueryScope | undefined,
  signal: AbortSignal,
): Promise<() => readonly LogMessage[]> {
  const prompts = session.queue.forRound().filter((prompt) => !isCommand(session, prompt));
  const judged = await judgeAll(session, prompts, signal);
  return () => {
    const taken = judged.filter(({ prompt }) => session.queue.cancel(prompt.uuid));
    scope?.turn.promptUuids.push(...taken.map(({ prompt }) => prompt.uuid));
    return admit(session, taken, (text) => scope?.warn(text));
  };
}

/**
 * Prompts that a dead process has left in its queue. Commands among them wait for their own turns.
 * @returns what was taken, and what of it may be read. Nothing when the signal aborts meanwhile:
 * then all wait again.
 */
export async function admitLeft(
  session: Session,
  prompts: readonly LogMessage[],
  signal: AbortSignal,
  warn: (text: string) => void,
): Promise<Record<'taken' | 'admitted', readonly LogMessage[]>> {
  const words = prompts.filter((prompt) => !isCommand(session, prompt));
  const judged = await judgeAll(session, words, signal);
  const taken = signal.aborted ? [] : words;
  for (const prompt of prompts) {
    if (!taken.includes(prompt)) session.queue.add(prompt, 'next');
  }
  return { taken, admitted: signal.aborted ? [] : admit(session, judged, warn) };
}
