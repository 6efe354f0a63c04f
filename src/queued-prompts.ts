/** Prompts beside the turn that runs: how they are kept, taken back, and handed out. */

import type { Prompt, SubmitOptions } from './config.ts';
import { namesCommand } from './process-user-input.ts';
import type { Priority } from './prompt-queue.ts';
import type { Session } from './session.ts';
import { withOwnCommands } from './session-commands.ts';

/** @returns the priority that it really has: a command is never folded into a round. */
export function enqueuePrompt(
  session: Session,
  prompt: Prompt,
  options: SubmitOptions & { readonly priority?: Priority },
): Priority {
  const { priority: wanted = 'next', uuid = session.uuid(), isMeta } = options;
  const isCommand = namesCommand(prompt, withOwnCommands(session.config.commands));
  const priority = wanted === 'next' && isCommand ? 'later' : wanted;
  const message = {
    uuid,
    role: 'user' as const,
    kind: 'note' as const,
    origin: 'prompt' as const,
    timestamp: session.now().toISOString(),
    content: typeof prompt === 'string' ? [{ type: 'text' as const, text: prompt }] : prompt,
    ...(isMeta ? { isMeta: true } : {}),
  };
  session.queue.add(message, priority);
  session.transcript.note('queue-operation', { operation: 'enqueue', uuid, priority, message });
  return priority;
}

/** @returns whether it was still waiting. */
export function cancelPrompt({ queue, transcript }: Session, uuid: string): boolean {
  // Also one that was handed back to the caller: nobody will go on with it after a crash.
  transcript.note('queue-operation', { operation: 'remove', uuid });
  return queue.cancel(uuid);
}

export const takePrompts = ({
  queue,
}: Session): readonly ({ readonly prompt: Prompt } & Required<SubmitOptions>)[] =>
  queue.takeAll().map(({ content, uuid, isMeta = false }) => ({ prompt: content, uuid, isMeta }));
