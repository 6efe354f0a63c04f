/**
 * Which commands change nothing, judged option by option. A table of what is known to be harmless:
 * a program or an option that is not in it is not.
 */
import { readGit } from './git.ts';
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

interface Harmless {
  /** Options that do harm; all others are fine. */
  readonly not?: RegExp;
  /** The only options that are fine. */
  readonly only?: RegExp;
  /** How many words that are no options it may have. */
  readonly operandsMax?: number;
  /** What each word that is no option has to look like. */
  readonly operand?: RegExp;
}

/** Programs that only look. `{}`: whatever their arguments are. */
const programs: Readonly<Record<string, Harmless>> = {
  ...Object.fromEntries(
    [
      ...[
        'ls',
        'cat',
        'head',
        'tail',
        'wc',
        'pwd',
        'echo',
        'printf',
        'which',
        'type',
        'stat',
        'du',
      ],
      ...['df', 'cut', 'tr', 'diff', 'cmp', 'comm', 'basename', 'dirname', 'realpath', 'readlink'],
      ...['true', 'false', 'test', '[', 'cd', 'whoami', 'uname', 'nproc', 'free', 'uptime'],
      ...[
        'grep',
        'egrep',
        'fgrep',
        'zgrep',
        'nl',
        'tac',
        'rev',
        'fold',
        'expand',
        'column',
        'paste',
      ],
      ...['md5sum', 'sha1sum', 'sha256sum', 'sha512sum', 'cksum', 'strings', 'hexdump', 'od', 'jq'],
      ...['sleep', 'seq', 'expr', 'groups', 'tty', 'locale', 'ps', 'pgrep', 'join', 'look'],
    ].map((name) => [name, {}]),
  ),
  printf: { not: /^-v/ }, // assigns
  test: { not: /^-[vR]$/ }, // evaluates a subscript
  '[': { not: /^-[vR]$/ },
  tail: { not: /^(-[a-zA-Z0-9]*[fF]|--follow|--retry)/ }, // never ends
  column: { only: /^-/ },
  rg: { not: /^--(pre|pre-glob|hostname-bin|search-zip)\b|^-[a-zA-Z]*z/ },
  find: { not: /^-(exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls|files0-from)$/ },
  fd: { not: /^(-[a-zA-Z]*[xX]|--exec|--exec-batch)/ },
  tree: { not: /^(-[a-zA-Z]*[oR]|--output)/ },
  sort: {
    not: /^(-[a-zA-Z]*[oST]|--output|--compress-program|--temporary-directory|--files0-from)/,
  },
  uniq: { operandsMax: 1 }, // the second is written
  file: { not: /^(-[a-zA-Z]*[Cmf]|--compile|--magic-file|--files-from)/ },
  date: { not: /^(-[a-zA-Z]*[sf]|--set|--file)/, operand: /^\+/ }, // any other word sets the clock
  hostname: { only: /^-[fisdI]$/, operandsMax: 0 },
  env: { only: /^$/, operandsMax: 0 },
  printenv: {},
  command: { only: /^-[vV]+$/ },
  jq: { not: /^(-[a-zA-Z]*[fL]|--from-file|--slurpfile|--rawfile|--args)/ },
  xxd: { not: /^-[a-z]*r/, operandsMax: 1 },
};
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
  return known !== undefined && isHarmless(rest, known);
}

function isHarmless(words: readonly ShellWord[], rule: Harmless): boolean {
  const { not, only, operandsMax, operand } = rule;
  const end = words.findIndex(({ text }) => text === '--');
  const before = end < 0 ? words : words.slice(0, end);
  const options = before.filter(({ text }) => text.startsWith('-') && text !== '-');
  const operands = words.filter((word) => !options.includes(word) && word.text !== '--');
  return (
    options.every(({ text, kind }) => kind === 'literal' && !not?.test(text)) &&
    (only === undefined || options.every(({ text }) => only.test(text))) &&
    (operandsMax === undefined || operands.length <= operandsMax) &&
    // A glob is any number of words.
    (operandsMax === undefined || words.every(({ kind }) => kind === 'literal')) &&
    (operand === undefined || operands.every(({ text }) => operand.test(text))) &&
    // It could match a file whose name begins with a dash, which would be an option.
    (not === undefined || words.every(({ text, kind }) => kind !== 'glob' || !/^[*?[]/.test(text)))
  );
}

/** Commands of git that only look, and what makes them do more. */
const gitCommands: Readonly<Record<string, Harmless>> = {
  status: {},
  log: { not: /^(--output|--ext-diff|-O)/ },
  diff: { not: /^(--output|--ext-diff|--no-index|-O)/ },
  show: { not: /^(--output|--ext-diff|-O)/ },
  shortlog: { not: /^--output/ },
  blame: {},
  'rev-parse': {},
  'rev-list': {},
  'ls-files': {},
  'ls-tree': {},
  'cat-file': { not: /^--(textconv|filters)/ },
  'merge-base': {},
  describe: {},
  'name-rev': {},
  grep: { not: /^(-O|--open-files-in-pager|--ext-grep)/ },
  'for-each-ref': {},
  'show-ref': {},
  'count-objects': {},
  'diff-tree': { not: /^--output/ },
  reflog: { operandsMax: 0 },
  branch: {
    only: /^(-a|-r|-v|-vv|--list|--all|--remotes|--show-current|--no-color|--verbose)$/,
    operandsMax: 0,
  },
  tag: { only: /^(-l|--list|-n\d*)$/, operandsMax: 0 },
  remote: { only: /^(-v|--verbose)$/, operandsMax: 0 },
  stash: { operandsMax: -1 },
  config: { only: /^(--get|--get-all|--list|-l|--show-origin|--get-regexp)$/ },
};

function isReadOnlyGit(words: readonly ShellWord[]): boolean {
  const { words: canonical, configures, moves } = readGit(words);
  const [, command, ...rest] = canonical;
  if (configures || moves || command?.kind !== 'literal') return false;
  if (command.text === 'stash') return rest.length === 1 && rest[0]?.text === 'list';
  if (command.text === 'config') {
    return (
      rest.some(({ text }) => /^(--get|--get-all|--list|-l|--get-regexp)$/.test(text)) &&
      isHarmless(rest, gitCommands.config ?? {})
    );
  }
  const known = Object.hasOwn(gitCommands, command.text) ? gitCommands[command.text] : undefined;
  return known !== undefined && isHarmless(rest, known);
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
  'date',
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
  const isOption = ({ text }: ShellWord) => text.startsWith('-') && text.length > 1;
  const values = rest.filter(isOption).flatMap(({ text, kind }) => {
    const long = text.indexOf('=');
    const value = long > 0 ? text.slice(long + 1) : /^-[a-zA-Z]\S/.test(text) ? text.slice(2) : '';
    return /[/.~]/.test(value) ? [{ text: value, kind }] : [];
  });
  const operands = rest.filter((word) => !isOption(word));
  // `if=/dev/sda`, `@body.json`
  const inner = operands.flatMap(({ text, kind }) => {
    const value = /^(?:\w+=|@)(.+)$/.exec(text)?.[1];
    return value === undefined ? [] : [{ text: value, kind }];
  });
  const givesPattern = rest.some(({ text }) =>
    /^(-[a-zA-Z]*[ef]|--regexp|--file|--files)/.test(text),
  );
  const skipped = patternFirst.has(name) && !givesPattern ? 1 : 0;
  return [...operands.slice(skipped), ...inner, ...values].filter(
    ({ text }) => text !== '' && text !== '-',
  );
}
