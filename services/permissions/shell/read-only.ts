/**
 * Which commands change nothing, judged option by option, by tables of what is known to be
 * harmless: a program or an option that is not in them is not.
 */
import { readGit } from './git.ts';
import { allowsHarmless, type Harmless, programs } from './harmless.ts';
import { gitRow, isReadOnlyGit } from './harmless-git.ts';
import { isOption, readOptions } from './options.ts';
import { loadShellParser, shellParser } from './parser.ts';
import { readShell, type ShellCommand, type ShellReading, type ShellWord } from './reading.ts';

export { loadShellParser } from './parser.ts';

/**
 * May this command run unasked and beside others? *Contract:* synchronous; `false` when in doubt,
 * and always until `loadShellParser()` has resolved (a first call starts it).
 */
export function isReadOnlyCommand(command: string): boolean {
  if (!shellParser()) {
    void loadShellParser();
    return false;
  }
  return isReadOnlyReading(readShell(command));
}

/** No doubts, no file written, and each command in the table. */
export const isReadOnlyReading = ({ commands, redirects, doubts }: ShellReading): boolean =>
  doubts.length === 0 &&
  commands.length > 0 &&
  redirects.every(({ direction }) => direction === 'read') &&
  commands.every((command) => command.isWrapper || isReadOnlyWords(command));

/** `node --version` and nothing else; `-v` is verbose for some. */
const versionOptions: Readonly<Record<string, RegExp>> = Object.fromEntries([
  ...['node', 'npm', 'npx', 'pnpm', 'yarn', 'bun', 'deno', 'tsc', 'ruby', 'php', 'perl', 'gcc'].map(
    (name) => [name, /^(-v|--version)$/],
  ),
  ...['python', 'python3', 'pip', 'pip3', 'rustc', 'cargo', 'clang', 'make', 'cmake', 'java'].map(
    (name) => [name, /^(-V|--version)$/],
  ),
  ...['go', 'docker', 'git'].map((name) => [name, /^(version|--version)$/]),
  ...['bash', 'sh', 'zsh'].map((name) => [name, /^--version$/]),
]);

/** One command, looked up in the table. Its paths and redirections are somebody else's matter. */
export function isReadOnlyWords({ words }: ShellCommand): boolean {
  const [program, ...rest] = words;
  if (program?.kind !== 'literal') return false;
  const name = program.text;
  const [first, ...others] = rest;
  if (first && others.length === 0 && versionOptions[name]?.test(first.text)) return true;
  if (name === 'git') return isReadOnlyGit(words);
  const known = Object.hasOwn(programs, name) ? programs[name] : undefined;
  if (!known) return false;
  const isAsked = rest.length === 1 && /^--(help|version)$/.test(first?.text ?? '');
  return isAsked || allowsHarmless(rest, known);
}

/** Their first word that is no option is a pattern or a program, not a path. */
const patternFirst = new Set([
  'grep',
  'egrep',
  'fgrep',
  'zgrep',
  'rg',
  'jq',
  'fd',
  'expr',
  'look',
  'pgrep',
]);
/** Their words are text. */
const textOnly = new Set([
  'echo',
  'printf',
  'true',
  'false',
  'seq',
  'sleep',
  'expr',
  'which',
  'type',
  'tr',

  'uname',
]);

/**
 * The words of a command that may name files. Too many rather than too few, since they are compared
 * with what is denied, and with the folders that may be read unasked.
 */
export function pathWords({ words }: ShellCommand): readonly ShellWord[] {
  const [program, ...rest] = words;
  const name = (program?.text ?? '').replace(/^.*\//, '');
  if (textOnly.has(name)) return [];
  const { operands, values, names } = rowReading(name, words) ?? guessedReading(rest);
  // `if=/dev/sda`, `@body.json`
  const inner = operands.flatMap(({ text, kind }) => {
    const value = /^(?:\w+=|@)(.+)$/.exec(text)?.[1];
    return value === undefined ? [] : [{ text: value, kind }];
  });
  const givesPattern = names.some((one) => /^(e|f|regexp|file|files|from-file)$/.test(one));
  const skipped = patternFirst.has(name) && !givesPattern ? 1 : 0;
  return [...operands.slice(skipped), ...inner, ...values].filter(
    ({ text }) => text !== '' && text !== '-',
  );
}

/** What belongs to which option, where the program is in a table and all of it is understood. */
function rowReading(name: string, words: readonly ShellWord[]) {
  const { row, rest } =
    name === 'git' ? gitRow(readGit(words).words) : { row: rowOf(name), rest: words.slice(1) };
  return row === undefined || row.each || row.whole ? undefined : readOptions(rest, row);
}

const rowOf = (name: string): Harmless | undefined =>
  Object.hasOwn(programs, name) ? programs[name] : undefined;

/** Of other programs only the look of a word tells. */
function guessedReading(rest: readonly ShellWord[]) {
  const options = rest.filter((word) => isOption(word));
  const values = options.flatMap(({ text, kind }) => {
    const long = text.indexOf('=');
    const value = long > 0 ? text.slice(long + 1) : /^-[a-zA-Z]\S/.test(text) ? text.slice(2) : '';
    return /[/.~]/.test(value) ? [{ text: value, kind }] : [];
  });
  const names = options.flatMap(({ text }) =>
    text.startsWith('--') ? [text.slice(2).split('=', 1)[0] ?? ''] : [...text.slice(1)],
  );
  return { operands: rest.filter((word) => !isOption(word)), values, names };
}
