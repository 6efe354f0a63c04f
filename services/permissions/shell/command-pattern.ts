/**
 * The inside of a `Bash(…)` rule: a pattern over the words of one command, never over raw text, so
 * that no wildcard crosses the end of a command.
 *
 * - `npm run test`: exactly these words
 * - `npm run test:*`, `npm run test *`: these words, then any others or none
 * - `git -C * status`: a `*` between words is exactly one word
 * - `rm .tmp/*`: a `*` in a word stays in that word and does not match `..`
 */
export interface CommandPattern {
  readonly words: readonly string[];
  /** Any words may follow. */
  readonly isPrefix: boolean;
}

/** @returns `undefined` when a quote is not closed. */
export function parseCommandPattern(text: string): CommandPattern | undefined {
  const isColon = text.endsWith(':*');
  const words = tokens(isColon ? text.slice(0, -2) : text);
  if (!words) return undefined;
  if (isColon) return { words, isPrefix: true };
  const isPrefix = words.length > 1 && words.at(-1) === '*';
  return { words: isPrefix ? words.slice(0, -1) : words, isPrefix };
}

/** Words as a shell would split them, without anything that expands. */
function tokens(text: string): readonly string[] | undefined {
  const words: string[] = [];
  const pattern = /\s*((?:'[^']*'|"[^"]*"|[^\s'"])+)/gy;
  let end = 0;
  for (const found of text.matchAll(pattern)) {
    words.push((found[1] ?? '').replace(/'([^']*)'|"([^"]*)"/g, (_, a, b) => a ?? b ?? ''));
    end = found.index + found[0].length;
  }
  return text.slice(end).trim() === '' ? words : undefined;
}

/** For allow rules: in doubt it does not match. @returns how many words the pattern has named. */
export function allowsWords(pattern: CommandPattern, words: readonly string[]): number | undefined {
  const { length } = pattern.words;
  if (pattern.isPrefix ? words.length < length : words.length !== length) return undefined;
  return pattern.words.every((one, index) => allowsWord(one, words[index] ?? ''))
    ? length
    : undefined;
}

function allowsWord(pattern: string, word: string): boolean {
  if (pattern === word || pattern === '*') return true;
  if (!pattern.includes('*')) return false;
  if (word.split('/').includes('..')) return false; // `.tmp/*` is not meant to reach `.tmp/../x`
  return wildcard(pattern).test(word);
}

const wildcard = (pattern: string) =>
  new RegExp(`^${pattern.split('*').map(escaped).join('[\\s\\S]*')}$`);
const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/**
 * For deny and ask rules: also matches other spellings of the same call. Options count wherever
 * they stand (`git reset -q --hard`), in any grouping (`rm -r -f` for `-rf`), with a value
 * (`--hard=x`) and abbreviated (`--har`); programs count by any path (`/bin/rm`).
 */
export function guardsWords(pattern: CommandPattern, words: readonly string[]): boolean {
  const [name = '', ...rest] = words;
  const spellings = name.includes('/') ? [name, name.slice(name.lastIndexOf('/') + 1)] : [name];
  const [patternName = '', ...patternRest] = pattern.words;
  // Where the disk ignores case, `RM` is `rm` as well.
  const isNamed = (spelling: string) =>
    guardsWord(patternName.toLowerCase(), spelling.toLowerCase());
  if (!spellings.some(isNamed)) return false;
  if (inOrder(patternRest, rest, pattern.isPrefix)) return true;
  const isOption = (word: string) => word.startsWith('-') && word !== '-';
  const options = rest.filter(isOption);
  return (
    patternRest.filter(isOption).every((wanted) => hasOption(wanted, options)) &&
    inOrder(
      patternRest.filter((word) => !isOption(word)),
      rest.filter((word) => !isOption(word)),
      pattern.isPrefix,
    )
  );
}

const inOrder = (pattern: readonly string[], words: readonly string[], isPrefix: boolean) =>
  (isPrefix ? words.length >= pattern.length : words.length === pattern.length) &&
  pattern.every((one, index) => guardsWord(one, words[index] ?? ''));

const guardsWord = (pattern: string, word: string) =>
  pattern === word || (pattern.includes('*') && wildcard(pattern).test(word));

/** Two letters could be anything; from three on an abbreviation is recognisable. */
const ABBREVIATION_CHARS_MIN = 3;

function hasOption(wanted: string, options: readonly string[]): boolean {
  if (wanted.startsWith('--')) {
    return options.some((option) => {
      const [name = ''] = option.split('=', 1);
      return (
        guardsWord(wanted, option) ||
        name === wanted ||
        (name.length >= ABBREVIATION_CHARS_MIN + 2 && wanted.startsWith(name))
      );
    });
  }
  if (options.some((option) => guardsWord(wanted, option))) return true;
  const letters = new Set(
    options.filter((o) => !o.startsWith('--')).flatMap((o) => [...o.slice(1)]),
  );
  return [...wanted.slice(1)].every((letter) => letters.has(letter));
}
