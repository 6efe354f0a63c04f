/**
 * The options of a command, read as its program reads them. What a table does not name is not
 * known: an abbreviation may stand for any option, so only whole names count.
 */
import type { ShellWord } from './reading.ts';

export interface OptionTable {
  /** As getopt has it, `ab:c::`: `b` takes a value, the next word too; `c` only what is attached. */
  readonly short?: string;
  /** Names in the same notation: `all lines: color::`; `contains:?` takes the next if there is one. */
  readonly long?: string;
  /** `-5` is an option. */
  readonly hasNumbers?: boolean;
}

export interface OptionReading {
  /** Names without dashes. */
  readonly names: readonly string[];
  /** What was given to options, attached or as words of their own. */
  readonly values: readonly ShellWord[];
  /** The other words. */
  readonly operands: readonly ShellWord[];
}

type Takes = 'nothing' | 'attached' | 'next' | 'next if any';

/**
 * @param words without the program.
 * @returns `undefined` when an option is not in the table, or it is not certain what is one.
 */
export function readOptions(
  words: readonly ShellWord[],
  table: OptionTable,
): OptionReading | undefined {
  const names: string[] = [];
  const values: ShellWord[] = [];
  const operands: ShellWord[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as ShellWord;
    if (word.text === '--') {
      operands.push(...words.slice(at + 1));
      break;
    }
    if (!isOption(word)) {
      operands.push(word);
      continue;
    }
    const option = word.kind === 'literal' ? readOption(word.text, table) : undefined;
    if (!option) return undefined;
    names.push(...option.names);
    if (option.value !== undefined) values.push({ ...word, text: option.value });
    if (!option.takesNext) continue;
    at += 1;
    const next = words[at];
    if (!next && option.mayBeLast) break;
    // If we were wrong about the value, this could be an option that nobody has looked at.
    if (!next || next.kind === 'glob' || (isOption(next) && !/^-\d+$/.test(next.text))) {
      return undefined;
    }
    values.push(next);
  }
  return { names, values, operands };
}

export const isOption = ({ text }: ShellWord): boolean => text.startsWith('-') && text !== '-';

interface ReadOption {
  readonly names: readonly string[];
  readonly value?: string;
  readonly takesNext?: boolean;
  readonly mayBeLast?: boolean;
}

function readOption(text: string, table: OptionTable): ReadOption | undefined {
  if (table.hasNumbers && /^-\d+$/.test(text)) return { names: [] };
  return text.startsWith('--') ? readLong(text.slice(2), table) : readShort(text.slice(1), table);
}

function readLong(text: string, { long = '' }: OptionTable): ReadOption | undefined {
  const equals = text.indexOf('=');
  const name = equals < 0 ? text : text.slice(0, equals);
  const takes = takenBy(name, long);
  if (takes === undefined) return undefined;
  if (equals < 0) {
    const mayBeLast = takes === 'next if any';
    return { names: [name], takesNext: takes === 'next' || mayBeLast, mayBeLast };
  }
  return takes === 'nothing' ? undefined : { names: [name], value: text.slice(equals + 1) };
}

function takenBy(name: string, long: string): Takes | undefined {
  const known = long.split(' ');
  if (name === '' || name.includes(':')) return undefined;
  if (known.includes(name)) return 'nothing';
  if (known.includes(`${name}:`)) return 'next';
  if (known.includes(`${name}:?`)) return 'next if any';
  return known.includes(`${name}::`) ? 'attached' : undefined;
}

/** `-xzf file`, `-ffile`: letters, until one of them takes the rest. */
function readShort(letters: string, { short = '' }: OptionTable): ReadOption | undefined {
  const names: string[] = [];
  for (let at = 0; at < letters.length; at++) {
    const letter = letters.charAt(at);
    const place = letter === ':' ? -1 : short.indexOf(letter);
    if (place < 0) return undefined;
    names.push(letter);
    if (short.charAt(place + 1) !== ':') continue;
    const rest = letters.slice(at + 1);
    if (rest !== '') return { names, value: rest };
    return { names, takesNext: short.charAt(place + 2) !== ':' };
  }
  return { names };
}
