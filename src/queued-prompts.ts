/** Prompts beside the turn that runs: how they are kept, taken back, and handed out. */

import type { Prompt, SubmitOptions } from './config.ts';
import { namesCommand } from './process-user-input.ts';
import type { Priority } from './prompt-queue.ts';
import type { Session } from './session.ts';
import { withOwnCommands } from './session-commands.ts';

/**
 * @returns the priority that it really has: a command is never folded into a round. `undefined`: a
 * host has sent it again, and it is there already.
 */
export function enqueuePrompt(
  session: Session,
  prompt: Prompt,
  options: SubmitOptions & { readonly priority?: Priority },
): Priority | undefined {
  const { priority: wanted = 'next', uuid = session.uuid(), isMeta } = options;
  if (session.log.has(uuid) || session.queue.has(uuid)) return undefined;
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
}: Session): readonly ({ readonly prompt: Prompt } & Required<Omit<SubmitOptions, 'fault'>>)[] =>
  queue.takeAll().map(({ content, uuid, isMeta = false }) => ({ prompt: content, uuid, isMeta }));
