/** Prompts on their way from the host to a turn. */
import { randomUUID } from 'node:crypto';
import type { ContentBlock } from '../../services/messages.ts';
import type { Prompt } from '../config.ts';
import type { Priority } from '../prompt-queue.ts';
import { type Fields, isFields } from './control.ts';

export interface HostPrompt {
  readonly prompt: Prompt;
  readonly uuid: string;
  readonly isMeta: boolean;
  /** Beside a turn that runs. */
  readonly priority: Priority;
  /** `false`: it only goes along with the next prompt that asks. */
  readonly shouldQuery: boolean;
}

const priorities: readonly Priority[] = ['now', 'next', 'later'];

/** Reads a `user` line. @returns what is wrong with it when it is no prompt. */
export function promptOf(message: Fields): HostPrompt | string {
  const body = message.message;
  const content = isFields(body) ? body.content : undefined;
  const isBlocks = Array.isArray(content) && content.every(isBlock);
  if (typeof content !== 'string' && !isBlocks) {
    return 'a user message without content (a text or an array of blocks) was ignored';
  }
  return {
    prompt: content as Prompt,
    uuid: typeof message.uuid === 'string' ? message.uuid : randomUUID(),
    isMeta: message.isSynthetic === true,
    priority: priorities.find((known) => known === message.priority) ?? 'next',
    shouldQuery: message.shouldQuery !== false,
  };
}

const isBlock = (value: unknown): boolean => isFields(value) && typeof value.type === 'string';

/** Several prompts as one, in order. */
export function joinPrompts(prompts: readonly Prompt[]): Prompt {
  const [only, ...more] = prompts;
  return more.length === 0 && only !== undefined ? only : prompts.flatMap(blocksOf);
}

const blocksOf = (prompt: Prompt): readonly ContentBlock[] =>
  typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt;
