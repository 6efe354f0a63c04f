/**
 * Regular expressions as ripgrep reads them (the Rust crate `regex`), written anew for JavaScript,
 * so that both engines find the same. What Rust's have not (look-around, references to groups) is
 * refused with the same words; what can not be said in JavaScript is refused, too.
 */
import { done, fault, type Outcome } from './outcome.ts';

export interface JsRegex {
  readonly source: string;
  readonly flags: string;
}

/** Not `[^]`, which with the flag `v` matches nothing in Node 20. */
const ANY = '[\\s\\S]';
const DIGIT = '\\p{Nd}';
const SPACE = '\\p{White_Space}';
const WORD = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}';
const BOUNDARY = `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`;
const NO_BOUNDARY = `(?:(?<=[${WORD}])(?=[${WORD}])|(?<![${WORD}])(?![${WORD}]))`;
const CLASSES: Readonly<Record<string, string>> = {
  d: `[${DIGIT}]`,
  D: `[^${DIGIT}]`,
  s: `[${SPACE}]`,
  S: `[^${SPACE}]`,
  w: `[${WORD}]`,
  W: `[^${WORD}]`,
};
const CONTROLS: Readonly<Record<string, string>> = {
  n: '\\n',
  r: '\\r',
  t: '\\t',
  f: '\\f',
  v: '\\v',
  a: '\\x07',
};
const POSIX: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  ascii: '\\x00-\\x7f',
  blank: '\\t\\x20',
  cntrl: '\\x00-\\x1f\\x7f',
  digit: '0-9',
  graph: '\\x21-\\x7e',
  lower: 'a-z',
  print: '\\x20-\\x7e',
  punct: '\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e',
  space: '\\t\\n\\v\\f\\r\\x20',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
};

/** Thrown within this file only, caught in `toJsRegex`. */
class DialectFault extends Error {}
const refuse = (message: string): never => {
  throw new DialectFault(message);
};

/**
 * @param isMultiline the text is a whole file, and `.` matches line ends; else it is one line
 *   without its ending.
 */
export const toJsRegex = (
  pattern: string,
  { isCaseIgnored, isMultiline }: { isCaseIgnored: boolean; isMultiline: boolean },
): Outcome<JsRegex> => {
  const leading = /^\(\?([is]+)\)/.exec(pattern);
  const flags = leading?.[1] ?? '';
  const body = pattern.slice(leading?.[0].length ?? 0);
  try {
    const translator = new Translator(body, isMultiline, isMultiline || flags.includes('s'));
    const source = translator.translate();
    const jsFlags = `v${isCaseIgnored || flags.includes('i') ? 'i' : ''}`;
    new RegExp(source, jsFlags); // says what is left to be said
    return done({ source, flags: jsFlags });
  } catch (error) {
    if (error instanceof DialectFault) return fault(`regex parse error: ${error.message}`);
    if (error instanceof SyntaxError) {
      const why = error.message.replace(/^.*\/[a-z]*: /s, '');
      return fault(`regex parse error: ${why}. Escape what is meant literally.`);
    }
    throw error;
  }
};

class Translator {
  readonly #pattern: string;
  readonly #isMultiline: boolean;
  readonly #isDotAll: boolean;
  #at = 0;

  constructor(pattern: string, isMultiline: boolean, isDotAll: boolean) {
    this.#pattern = pattern;
    this.#isMultiline = isMultiline;
    this.#isDotAll = isDotAll;
  }

  translate(): string {
    let source = '';
    while (this.#at < this.#pattern.length) source += this.#next();
    return source;
  }

  #next(): string {
    const character = this.#take();
    switch (character) {
      case '\\':
        return this.#escape(false);
      case '[':
        return this.#class();
      case '(':
        return this.#group();
      case '.':
        return this.#isDotAll ? ANY : '[^\\r\\n]';
      // A return alone ends a line, too; there is no place between the two of `\r\n`.
      case '^':
        return '(?:^|(?<=\\n)|(?<=\\r)(?!\\n))';
      case '$':
        return '(?:(?=\\r)|(?<!\\r)(?=\\n)|$)';
      case '{':
        return this.#repetition();
      case '*':
      case '+':
      case '?':
      case '|':
      case ')':
        return character;
      case '\n':
        return this.#isMultiline
          ? '\\n'
          : refuse('the pattern has a line end, so it needs multiline: true');
      default:
        return literal(character);
    }
  }

  #take(): string {
    const character = String.fromCodePoint(this.#pattern.codePointAt(this.#at) ?? 0);
    this.#at += character.length;
    return character;
  }

  #takeMatch(expression: RegExp): RegExpExecArray | undefined {
    const match = expression.exec(this.#pattern.slice(this.#at));
    if (!match) return undefined;
    this.#at += match[0].length;
    return match;
  }

  #repetition(): string {
    const match = this.#takeMatch(/^\s*(\d*)\s*(,?)\s*(\d*)\s*\}/);
    if (!match || match[1] === '') {
      return refuse('repetition quantifier expects a valid decimal (a literal brace is `\\{`)');
    }
    return `{${match[1]}${match[2]}${match[3]}}`;
  }

  #group(): string {
    if (!this.#pattern.startsWith('?', this.#at)) return '(';
    if (this.#takeMatch(/^\?:/)) return '(?:';
    if (this.#takeMatch(/^\?<?[=!]/)) {
      return refuse('look-around, including look-ahead and look-behind, is not supported');
    }
    const name = this.#takeMatch(/^\?P?<([A-Za-z_]\w*)>/);
    return name ? `(?<${name[1]}>` : refuse('only (?i) and (?s) at the beginning are supported');
  }

  /** After a backslash. */
  #escape(isInClass: boolean): string {
    if (this.#at >= this.#pattern.length) return refuse('incomplete escape sequence');
    const letter = this.#take();
    const known = CLASSES[letter] ?? CONTROLS[letter];
    if (known !== undefined) {
      if (letter === 'n' && !this.#isMultiline && !isInClass) {
        return refuse('the pattern has a line end, so it needs multiline: true');
      }
      return known;
    }
    if (/[xuU]/.test(letter)) return this.#codePoint(letter);
    if (/[pP]/.test(letter)) return this.#property(letter);
    if (!isInClass) {
      if (letter === 'b') return BOUNDARY;
      if (letter === 'B') return NO_BOUNDARY;
      if (letter === 'A') return `(?<!${ANY})`;
      if (letter === 'z') return `(?!${ANY})`;
      if (/[1-9]/.test(letter)) return refuse('backreferences are not supported');
    }
    return /[A-Za-z0-9]/.test(letter)
      ? refuse(`unrecognized escape sequence \\${letter}`)
      : literal(letter);
  }

  #codePoint(letter: string): string {
    const digits = { x: 2, u: 4, U: 8 }[letter] ?? 2;
    const match =
      this.#takeMatch(/^\{([0-9A-Fa-f]{1,8})\}/) ??
      this.#takeMatch(new RegExp(`^([0-9A-Fa-f]{${digits}})`));
    const code = Number.parseInt(match?.[1] ?? '', 16);
    return code <= 0x10ffff
      ? `\\u{${code.toString(16)}}`
      : refuse('hexadecimal literal is not a Unicode scalar value');
  }

  #property(letter: string): string {
    const match = this.#takeMatch(/^\{\^?([\w=:\- ]+)\}/) ?? this.#takeMatch(/^([A-Z])/);
    const name = match?.[1] ?? '';
    const isNegated = (letter === 'P') !== (match?.[0].startsWith('{^') ?? false);
    const start = isNegated ? '\\P' : '\\p';
    for (const written of [name, `Script=${name}`, name.replace(/[:=]/, '=')]) {
      if (isPattern(`${start}{${written}}`)) return `${start}{${written}}`;
    }
    return refuse(`Unicode property not found: ${name}`);
  }

  /** After `[`: a class, possibly with classes in it. */
  #class(): string {
    const isNegated = this.#takeMatch(/^\^/) !== undefined;
    let items = '';
    let left: string | undefined;
    let operator = '';
    for (let isFirst = true; ; isFirst = false) {
      if (this.#at >= this.#pattern.length) return refuse('unclosed character class');
      const set = this.#takeMatch(/^(&&|--|~~)/)?.[0];
      if (set === '~~') return refuse('~~ in a class is not supported');
      if (set !== undefined) {
        left = left === undefined ? `[${items}]` : `[${left}${operator}[${items}]]`;
        operator = set;
        items = '';
        continue;
      }
      const isEnd = !isFirst && this.#takeMatch(/^\]/) !== undefined;
      if (isEnd) break;
      items += this.#classItem();
    }
    const content = left === undefined ? items : `${left}${operator}[${items}]`;
    return `[${isNegated ? '^' : ''}${content}]`;
  }

  #classItem(): string {
    const posix = this.#takeMatch(/^\[:(\^?)([a-z]+):\]/);
    if (posix) {
      const ranges = POSIX[posix[2] ?? ''];
      return ranges === undefined ? refuse('unrecognized POSIX class') : `[${posix[1]}${ranges}]`;
    }
    const from = this.#classAtom();
    const isRange = /^-(?![\]-])/.test(this.#pattern.slice(this.#at));
    if (!isRange || from.startsWith('[') || /^\\[pP]/.test(from)) return from;
    this.#at += 1;
    return `${from}-${this.#classAtom()}`;
  }

  #classAtom(): string {
    const character = this.#take();
    if (character === '[') return this.#class();
    return character === '\\' ? this.#escape(true) : literal(character);
  }
}

/** ASCII that is no letter or digit may mean something: by its number it does not. */
const literal = (character: string): string =>
  character < '\u0080' && /[^A-Za-z0-9]/.test(character)
    ? `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
    : character;

const isPattern = (source: string): boolean => {
  try {
    new RegExp(source, 'v');
    return true;
  } catch {
    return false;
  }
};
