/**
 * What a shell command would run, as far as a parser can tell: every simple command of every
 * construct, every redirection, and everything that leaves a doubt. Nothing is executed, and what
 * is not understood is a doubt, never nothing.
 */
import type { Assignment, Command, Redirection, SyntaxNode, Word, WordPart } from 'unbash';
import { shellParser } from './parser.ts';
import { unwrap } from './wrappers.ts';

/** One word after quotes are taken away. */
export interface ShellWord {
  readonly text: string;
  /**
   * `glob`: the shell may put names of files in its place. `unknown`: only running it would tell.
   */
  readonly kind: 'literal' | 'glob' | 'unknown';
}

export interface ShellCommand {
  /** The program first. */
  readonly words: readonly ShellWord[];
  /** As it was written, for whoever is asked. */
  readonly source: string;
  /** Only starts what stands beside it in the reading (`timeout 5 …`), so needs no permission. */
  readonly isWrapper: boolean;
  /** Started by this one, whose rule counts when it names the started program, too. */
  readonly startedBy?: { readonly command: ShellCommand; readonly at: number };
}

export interface ShellRedirect {
  readonly direction: 'read' | 'write';
  readonly target: ShellWord;
}

export interface ShellReading {
  readonly commands: readonly ShellCommand[];
  readonly redirects: readonly ShellRedirect[];
  /** Why somebody has to look at it. Empty: all of it was understood. */
  readonly doubts: readonly string[];
}

/** Values of variables that are known; others leave a doubt unless they are harmless. */
export type ShellVariables = Readonly<Record<string, string>>;

/** Scripts in scripts (`sh -c "sh -c …"`). Deeper ones leave a doubt. */
const DEPTH_MAX = 8;
/** Nobody reviews more than this, and the parser is recursive. */
const SOURCE_CHARS_MAX = 20_000;
/** Their values are no choice of the model, and say nothing that a rule would look at. */
const harmlessVariables = new Set([
  ...['USER', 'LOGNAME', 'HOSTNAME', 'LANG', 'TERM', 'SHELL', 'PATH', 'RANDOM', 'SECONDS'],
  ...['?', '#', '$', '!'],
]);
/** Redirections to these change nothing. */
const harmlessTargets = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/tty']);

/** *Contract:* the parser is loaded, else everything is in doubt. Never throws. */
export function readShell(source: string, variables: ShellVariables = {}, depth = 0): ShellReading {
  const parser = shellParser();
  if (!parser) return inDoubt('the shell parser is not loaded');
  if (depth > DEPTH_MAX) return inDoubt('scripts are nested too deeply');
  if (source.length > SOURCE_CHARS_MAX) return inDoubt('the command is too long to be judged');
  const reader = new Reader(source, variables, depth);
  try {
    const script = parser.parse(source);
    reader.visit(script);
  } catch {
    reader.doubts.push('the command could not be parsed');
  }
  return reader;
}

const inDoubt = (doubt: string): ShellReading => ({
  ...{ commands: [], redirects: [], doubts: [doubt] },
});

const inner = (part: WordPart): readonly WordPart[] =>
  part.type === 'DoubleQuoted' || part.type === 'LocaleString' ? part.parts : [part];

class Reader implements ShellReading {
  readonly commands: ShellCommand[] = [];
  readonly redirects: ShellRedirect[] = [];
  readonly doubts: string[] = [];
  readonly #source: string;
  readonly #variables: ShellVariables;
  readonly #depth: number;

  constructor(source: string, variables: ShellVariables, depth: number) {
    this.#source = source;
    this.#variables = variables;
    this.#depth = depth;
  }

  visit(node: SyntaxNode): void {
    this.#doubt(node);
    // Positions in a script in backquotes refer to a text of its own.
    const own = node.type === 'Script' && node.source !== undefined ? node.source : undefined;
    if (own !== undefined) {
      this.#include(readShell(own, this.#variables, this.#depth + 1));
      return;
    }
    if (node.type === 'Command') this.#command(node);
    if (node.type === 'Redirect') this.#redirect(node);
    shellParser()?.forEachChild(node, (child) => this.visit(child));
  }

  /** What leaves a doubt wherever it stands. */
  #doubt(node: SyntaxNode): void {
    switch (node.type) {
      case 'Script':
        if (node.errors && node.errors.length > 0) this.doubts.push('the command does not parse');
        return;
      case 'CommandExpansion':
      case 'ProcessSubstitution':
      case 'ArithmeticCommandExpansion':
        this.doubts.push(`${node.text} runs a command to make an argument`);
        return;
      case 'Function':
        this.doubts.push('a function is defined, and could stand for any name');
        return;
      case 'Coproc':
        this.doubts.push('a coprocess is started');
        return;
      case 'Assignment':
        this.doubts.push(`${node.text} changes the environment`);
        return;
      case 'ArithmeticCommand':
      case 'ArithmeticFor':
        this.doubts.push('arithmetic can run commands');
        return;
      case 'ArithmeticWord':
        if (!/^\d*$/.test(node.value)) this.doubts.push('arithmetic with names can run commands');
        return;
      case 'TestUnary':
      case 'TestBinary':
        if (/^-(v|R|eq|ne|lt|le|gt|ge)$/.test(node.operator)) {
          this.doubts.push(`the test ${node.operator} can run commands`);
        }
        return;
      case 'ParameterExpansion':
        if (node.operation || node.index || node.prefix || !this.#isKnown(node.parameter)) {
          this.doubts.push(`what ${node.text} stands for is not known`);
        }
        return;
      case 'SimpleExpansion':
        if (!this.#isKnown(node.text.slice(1))) {
          this.doubts.push(`what ${node.text} stands for is not known`);
        }
        return;
      default:
        return;
    }
  }

  #isKnown = (name: string) => harmlessVariables.has(name) || Object.hasOwn(this.#variables, name);

  #command(node: Command): void {
    if (!node.name) return; // assignments or redirections alone: visited as such
    const source = this.#source.slice(node.pos, node.end);
    const first = this.#word(node.name);
    const next = node.suffix[0];
    const isGlued = next?.type === 'Word' && next.pos === node.name.end; // `ls<(x)` is one word
    if (first.kind !== 'literal' || isGlued || /^~./.test(first.text)) {
      this.doubts.push(`which program ${node.name.text} is, is not known`);
    }
    if (this.#hasStray(node)) this.doubts.push('there is a parenthesis that has no place here');
    const words = [first, ...node.args.map((one) => this.#argument(one))];
    this.#add({ words, source, isWrapper: false });
  }

  /** The parser passes over a `(` after a word; bash would refuse it, other shells would not. */
  #hasStray({ name, prefix, suffix, end }: Command): boolean {
    const parts = [...prefix, ...(name ? [name] : []), ...suffix].sort((a, b) => a.pos - b.pos);
    const gaps = parts.map((part, at) => this.#source.slice(part.end, parts[at + 1]?.pos ?? end));
    const after = this.#source.slice(end).trimStart();
    return after.startsWith('(') || gaps.some((gap) => gap.includes('('));
  }

  /** A command, and what it starts. */
  #add(command: ShellCommand): void {
    const unwrapped = unwrap(command.words);
    this.doubts.push(...unwrapped.doubts);
    const isWrapper = unwrapped.kind === 'transparent';
    const kept = { ...command, isWrapper };
    this.commands.push(kept);
    switch (unwrapped.kind) {
      case 'none':
        return;
      case 'transparent':
        this.#add({ ...command, words: command.words.slice(unwrapped.at) });
        return;
      case 'opaque': {
        const words = command.words.slice(unwrapped.at, unwrapped.until);
        const { source } = command;
        const startedBy = { command: kept, at: unwrapped.at };
        this.#add({ words, source, isWrapper: false, startedBy });
        return;
      }
      case 'script': {
        this.commands[this.commands.length - 1] = { ...kept, isWrapper: true };
        this.#include(readShell(unwrapped.source, this.#variables, this.#depth + 1));
        return;
      }
    }
  }

  #include(inner: ShellReading): void {
    this.commands.push(...inner.commands);
    this.redirects.push(...inner.redirects);
    this.doubts.push(...inner.doubts);
  }

  #argument(argument: Word | Assignment): ShellWord {
    if (argument.type === 'Word') return this.#word(argument);
    if (argument.value.type !== 'Word') return { text: argument.text, kind: 'unknown' };
    const { text, kind } = this.#word(argument.value);
    return { text: `${argument.name}=${text}`, kind };
  }

  /** The value of a word: literal parts, and variables that are known. */
  #word(word: Word): ShellWord {
    if (!word.parts) {
      const isUser = /^~[^/]/.test(word.text);
      if (isUser) this.doubts.push(`what ${word.text} stands for is not known`);
      return { text: word.value, kind: isUser ? 'unknown' : 'literal' };
    }
    let text = '';
    let kind: ShellWord['kind'] = 'literal';
    for (const part of word.parts.flatMap(inner)) {
      switch (part.type) {
        case 'Literal':
        case 'SingleQuoted':
        case 'AnsiCQuoted':
          text += part.value;
          break;
        case 'Glob':
          text += part.text;
          if (kind === 'literal') kind = 'glob';
          break;
        case 'SimpleExpansion':
        case 'ParameterExpansion': {
          const name = part.type === 'SimpleExpansion' ? part.text.slice(1) : part.parameter;
          const isPlain = part.type === 'SimpleExpansion' || !part.operation;
          const value = isPlain ? this.#variables[name] : undefined;
          text += value ?? part.text;
          if (value === undefined) kind = 'unknown';
          break;
        }
        case 'BraceExpansion':
        case 'ExtendedGlob':
          this.doubts.push(`what ${part.text} expands to is not known`);
          text += part.text;
          kind = 'unknown';
          break;
        default:
          text += part.text;
          kind = 'unknown';
      }
    }
    return { text, kind };
  }

  #redirect(node: Extract<Redirection, { type: 'Redirect' }>): void {
    if (!node.target) {
      this.doubts.push('a redirection has no target');
      return;
    }
    const target = this.#word(node.target);
    const duplicates = node.operator === '>&' || node.operator === '<&';
    if (duplicates && /^(\d+-?|-)$/.test(target.text)) return;
    if (target.kind === 'literal' && harmlessTargets.has(target.text)) return;
    if (target.text.startsWith('/dev/tcp/') || target.text.startsWith('/dev/udp/')) {
      this.doubts.push(`${target.text} opens a connection`);
    }
    if (target.kind !== 'literal') {
      this.doubts.push(`where ${node.target.text} leads is not known`);
    }
    const isRead = node.operator === '<' || node.operator === '<&';
    this.redirects.push({ direction: isRead ? 'read' : 'write', target });
    if (node.operator === '<>') this.redirects.push({ direction: 'read', target });
  }
}
