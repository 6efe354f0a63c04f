/** Slash commands: all that there are, and how one is called. */
import type { ContentBlock } from '../services/messages.ts';
import { compactCommand } from './compact-command.ts';
import type { Command, Prompt } from './config.ts';

/** Of the engine itself. */
const own: readonly Command[] = [compactCommand];

/**
 * What a slash calls in a session: the host's and what people have written down, what servers
 * offer, and our own. Of the same name the first counts.
 */
export const allCommands = (
  ofHost: readonly Command[],
  ofServers: readonly Command[],
): readonly Command[] => {
  const byName = new Map<string, Command>();
  for (const command of [...ofHost, ...ofServers, ...own]) {
    if (!byName.has(command.name)) byName.set(command.name, command);
  }
  return [...byName.values()];
};

/** A command as it was called. */
export interface CalledCommand {
  readonly command: Command;
  /** What was said behind its name. */
  readonly argument: string;
}

/** A text that only looks like a command (`/usr/bin is full`) is a prompt: `undefined`. */
export function calledCommand(
  prompt: Prompt,
  commands: readonly Command[],
): CalledCommand | undefined {
  const match = /^\/([\w:.-]+)(?:\s+([\s\S]*))?$/.exec(textOfPrompt(prompt).trim());
  const command = commands.find(({ name }) => name === match?.[1]);
  return command && { command, argument: match?.[2]?.trim() ?? '' };
}

/** All that a prompt says in words. */
export const textOfPrompt = (prompt: Prompt): string =>
  typeof prompt === 'string' ? prompt : prompt.map(textOf).join('\n');

const textOf = (block: ContentBlock): string => (block.type === 'text' ? block.text : '');
