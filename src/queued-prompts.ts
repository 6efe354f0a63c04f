/** Prompts beside the turn that runs: how they are kept, taken back, and handed out. */

import type { Prompt, SubmitOptions } from './config.ts';
import type { Priority } from './prompt-queue.ts';
import type { Session } from './session.ts';
import { soundPrompt } from './sound-prompt.ts';

/** A prompt that no turn has taken, as it was sent. */
export interface QueuedPrompt {
  readonly prompt: Prompt;
  readonly uuid: string;
  readonly isMeta: boolean;
  readonly priority: Priority;
}

/**
 * @returns `false`: a host has sent it again, and it is there already.
 * @throws UsageError when it cannot be read.
 */
export function enqueuePrompt(
  session: Session,
  prompt: Prompt,
  options: SubmitOptions & { readonly priority?: Priority },
): boolean {
  const { priority = 'next', uuid = session.uuid(), isMeta } = options;
  if (session.log.wasAsked(uuid) || session.queue.has(uuid)) return false;
  const message = {
    uuid,
    role: 'user' as const,
    kind: 'note' as const,
    origin: 'prompt' as const,
    timestamp: session.now().toISOString(),
    content: soundPrompt(prompt),
    ...(isMeta ? { isMeta: true } : {}),
  };
  session.queue.add(message, priority);
  session.transcript.note('queue-operation', { operation: 'enqueue', uuid, priority, message });
  return true;
}

/** @returns whether it was still waiting. */
export function cancelPrompt({ queue, transcript }: Session, uuid: string): boolean {
  // Also one that was handed back to the caller: nobody will go on with it after a crash.
  transcript.note('queue-operation', { operation: 'remove', uuid });
  return queue.cancel(uuid);
}

export const takePrompts = ({ queue }: Session): readonly QueuedPrompt[] =>
  queue.takeAll().map(({ priority, message: { content, uuid, isMeta = false } }) => ({
    ...{ prompt: content, uuid, isMeta, priority },
  }));
