/** A command that a person has called: what it says, as long as somebody waits for it. */
import { Deadline } from '../services/deadline.ts';
import { answerOrAborted } from '../services/or-aborted.ts';
import type { CalledCommand } from './commands.ts';

/** A command asks a server, or runs a script: what takes longer hangs. */
const COMMAND_MS = 10 * 60_000;

/**
 * The answer of a local command, or the prompt that another becomes.
 * @param waitMs for tests.
 * @returns `undefined` when the signal came first.
 * @throws as the command does, and when it says nothing in time.
 */
export async function runCommand(
  { command, argument }: CalledCommand,
  signal: AbortSignal,
  waitMs: number = COMMAND_MS,
): Promise<string | undefined> {
  if (command.type === 'session') throw new Error(`/${command.name} works on the conversation`);
  const run = command.type === 'local' ? command.run : command.expand;
  const deadline = new Deadline(waitMs);
  try {
    const words = await answerOrAborted(
      (stop) => run(argument, stop),
      AbortSignal.any([signal, deadline.signal]),
    );
    if (words === undefined && deadline.signal.aborted && !signal.aborted) {
      throw new Error(`/${command.name} said nothing for ${waitMs / 1_000} s and was given up`);
    }
    return words;
  } finally {
    deadline.dispose();
  }
}
