/** Commands of the engine itself; a command of the host with the same name counts instead. */
import { compactCommand } from './compact-command.ts';
import type { Command, SessionCommand } from './config.ts';

const own: readonly SessionCommand[] = [compactCommand];

export const withOwnCommands = (commands: readonly Command[]): readonly Command[] => [
  ...commands,
  ...own.filter(({ name }) => !commands.some((command) => command.name === name)),
];
