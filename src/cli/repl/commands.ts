/** Lines that begin with a slash: which of them are commands, and for whom. Pure. */
import type { Command } from '../../config.ts';
import { visible } from '../printable.ts';

/** Commands of the interactive mode itself, in the order in which `/help` shows them. */
export const replCommands = {
  help: { argument: '', does: 'this list' },
  model: {
    argument: '[name]',
    does: 'the model; with a name: another one from the next request on',
  },
  permissions: {
    argument: '[mode]',
    does: 'what runs without a question; with a name: another mode',
  },
  cost: { argument: '', does: 'tokens and price of this session' },
  clear: { argument: '', does: 'a new session, which knows nothing of this one' },
  exit: { argument: '', does: 'leave (also Ctrl-D, or Ctrl-C twice)' },
} as const satisfies Record<string, { argument: string; does: string }>;
export type ReplCommand = keyof typeof replCommands;

/** What a person meant by a line. */
export type ReadLine =
  | { readonly kind: 'prompt'; readonly text: string }
  | { readonly kind: 'command'; readonly name: ReplCommand; readonly argument: string }
  /** Not sent: it is more likely a slip than a prompt. */
  | { readonly kind: 'unknown'; readonly name: string };

const aliases = new Map<string, ReplCommand>([
  ['quit', 'exit'],
  ['?', 'help'],
  ['new', 'clear'],
]);

/**
 * Reads a line. `/etc/hosts is empty` is a prompt: only one word of letters behind the slash can be
 * a command. A line with a blank before the slash is always a prompt.
 * @param engineCommands names that the engine itself understands: those lines are prompts for it.
 */
export function readLine(text: string, engineCommands: readonly string[] = []): ReadLine {
  const match = /^\/([\w:-]+|\?)(?:\s+([\s\S]*))?$/.exec(text);
  const name = match?.[1];
  if (name === undefined || engineCommands.includes(name)) return { kind: 'prompt', text };
  const known = Object.hasOwn(replCommands, name) ? (name as ReplCommand) : aliases.get(name);
  if (known === undefined) return { kind: 'unknown', name };
  return { kind: 'command', name: known, argument: match?.[2]?.trim() ?? '' };
}

/**
 * The commands that a line could become: for Tab and for the hint after a slip.
 * @param engineCommands as for `readLine`.
 */
export function commandsLike(
  name: string,
  engineCommands: readonly string[] = [],
): readonly string[] {
  const all = [...new Set([...Object.keys(replCommands), ...engineCommands])];
  const beginning = all.filter((one) => one.startsWith(name));
  if (beginning.length > 0) return beginning;
  return all.filter((one) => one[0] === name[0] || (name.length > 2 && one.includes(name)));
}

/** What Tab makes of the begin of a name: as much as all that fit have in common. */
export function completedName(
  name: string,
  engineCommands: readonly string[],
): { readonly begin: string; readonly fitting: readonly string[] } {
  const fitting = commandsLike(name, engineCommands);
  const [first = '', ...others] = fitting.filter((one) => one.startsWith(name));
  let length = first.length;
  while (!others.every((one) => one.startsWith(first.slice(0, length)))) length -= 1;
  return { begin: first === '' ? name : first.slice(0, length), fitting };
}

const commandLine = (name: string, argument: string, does: string): string =>
  `  ${`/${name} ${argument}`.padEnd(22)} ${does}`;

/**
 * The text of `/help`.
 * @param engineCommands what the engine itself understands; the texts are of others.
 */
export function helpLines(isPlain: boolean, engineCommands: readonly Command[]): readonly string[] {
  const ofEngine = new Set(engineCommands.map(({ name }) => name));
  const commands = [
    ...Object.entries(replCommands)
      .filter(([name]) => !ofEngine.has(name))
      .map(([name, { argument, does }]) => commandLine(name, argument, does)),
    ...engineCommands.map(({ name, argumentHint = '', description }) =>
      visible(commandLine(name, argumentHint, description)).replace(/\s*\n\s*/g, ' '),
    ),
  ];
  const keys = isPlain
    ? ['  Enter sends; a line that ends in \\ goes on in the next one; Ctrl-C stops a turn.']
    : [
        '  Enter sends. A new line: \\ and Enter, Alt-Enter, Ctrl-J, or paste several.',
        '  Up and down: earlier prompts. Esc or Ctrl-C stops a turn. Ctrl-Z puts it to sleep.',
      ];
  return [
    'Commands:',
    ...commands,
    'Keys:',
    ...keys,
    '  What you send while a turn runs is taken into it, or becomes the next turn.',
  ];
}
