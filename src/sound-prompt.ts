/** The door for prompts: a block that nobody can read would stand in the way of every later one. */
import { asSoundBlock } from '../services/journal/sound-blocks.ts';
import type { ContentBlock } from '../services/messages.ts';
import { UsageError } from './usage-error.ts';

/**
 * The blocks of a prompt, as they will be written down and sent.
 * @throws UsageError naming the block and the cure.
 */
export function soundPrompt(prompt: unknown): readonly ContentBlock[] {
  if (typeof prompt === 'string') return [{ type: 'text', text: prompt }];
  if (!Array.isArray(prompt)) {
    throw new UsageError('the prompt is neither a text nor a list of blocks: give one of these');
  }
  return prompt.map((block: unknown, at) => {
    const sound = asSoundBlock(block);
    if ('block' in sound) return sound.block;
    throw new UsageError(`the prompt was not asked: its content[${at}] ${sound.flaw}`);
  });
}

/** A prompt under another name than the host's would have a result that the host never finds. */
export const oddUuid = (uuid: unknown): string =>
  `the uuid of a prompt is ${JSON.stringify(uuid) ?? String(uuid)}: give a text, or none`;
