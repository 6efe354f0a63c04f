/**
 * Programs that start other programs: a rule about the one must see the other. What starts programs
 * in a way that is not in this table leaves a doubt.
 */
import { readGit } from './git.ts';
import type { ShellWord } from './reading.ts';

export type Unwrapped = { readonly doubts: readonly string[] } & (
  | { readonly kind: 'none' }
  /** Adds nothing of its own: the command that begins at this word is what runs. */
  | { readonly kind: 'transparent'; readonly at: number }
  /** Does something of its own, and starts the words from `at` to `until`. */
  | { readonly kind: 'opaque'; readonly at: number; readonly until?: number }
  /** Runs this text as a script. */
  | { readonly kind: 'script'; readonly source: string }
);

/** How a program's own options end and the started command begins. */
interface Wrapper {
  readonly kind: 'transparent' | 'opaque';
  /** Options that take the next word as a value. Others stand alone. */
  readonly valued: readonly string[];
  /** Words between the options and the command: a duration, a file. */
  readonly operands?: number;
  /** Said although the command was found. */
  readonly doubt?: string;
}

const wrappers: Readonly<Record<string, Wrapper>> = {
  timeout: { kind: 'transparent', valued: ['-s', '--signal', '-k', '--kill-after'], operands: 1 },
  nohup: { kind: 'transparent', valued: [] },
  nice: { kind: 'transparent', valued: ['-n', '--adjustment'] },
  ionice: { kind: 'transparent', valued: ['-c', '--class', '-n', '--classdata', '-p'] },
  time: { kind: 'transparent', valued: [] },
  stdbuf: { kind: 'transparent', valued: ['-i', '-o', '-e', '--input', '--output', '--error'] },
  setsid: { kind: 'transparent', valued: [] },
  command: { kind: 'transparent', valued: [] },
  builtin: { kind: 'transparent', valued: [] },
  exec: { kind: 'transparent', valued: ['-a'] },
  caffeinate: { kind: 'transparent', valued: ['-t', '-w'] },
  sudo: {
    kind: 'opaque',
    valued: [
      '-u',
      '--user',
      '-g',
      '--group',
      '-h',
      '--host',
      '-p',
      '--prompt',
      '-C',
      '-D',
      '-R',
      '-T',
      '-U',
    ],
  },
  doas: { kind: 'opaque', valued: ['-u', '-C'] },
  env: { kind: 'transparent', valued: ['-u', '--unset'] },
  xargs: {
    kind: 'opaque',
    valued: [
      '-I',
      '-i',
      '-n',
      '-P',
      '-L',
      '-l',
      '-d',
      '-E',
      '-s',
      '-a',
      '--max-args',
      '--max-procs',
      '--delimiter',
      '--arg-file',
      '--replace',
    ],
    doubt: 'xargs adds arguments that are not known',
  },
  watch: { kind: 'opaque', valued: ['-n', '--interval'] },
  strace: { kind: 'opaque', valued: ['-e', '-o', '-p', '-s', '-u'] },
  flock: { kind: 'opaque', valued: ['-w', '--timeout', '-E'], operands: 1 },
  taskset: { kind: 'opaque', valued: [], operands: 1 },
  chrt: { kind: 'opaque', valued: [], operands: 1 },
  unshare: { kind: 'opaque', valued: [] },
  chroot: { kind: 'opaque', valued: [], operands: 1 },
};

const shells = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash', 'fish']);
/** They start programs, or change what the next words mean, in ways of their own. */
const opaqueStarters = new Set([
  ...['busybox', 'toybox', 'su', 'runuser', 'ssh', 'parallel', 'script', 'expect', 'at', 'batch'],
  ...['trap', 'alias', 'unalias', 'source', '.', 'enable', 'hash', 'let', 'declare', 'typeset'],
  ...['export', 'readonly', 'local', 'set', 'shopt', 'bind', 'complete', 'mapfile', 'readarray'],
  ...['read', 'unset', 'ltrace', 'gdb', 'setpriv', 'nsenter', 'systemd-run', 'pkexec'],
]);

const none = (doubts: readonly string[] = []): Unwrapped => ({ kind: 'none', doubts });

/** @param words the program first. */
export function unwrap(words: readonly ShellWord[]): Unwrapped {
  const name = programOf(words);
  if (shells.has(name)) return unwrapShell(name, words);
  if (name === 'eval') return unwrapEval(words);
  if (name === 'find') return unwrapFind(words);
  if (name === 'git') return unwrapGit(words);
  if (opaqueStarters.has(name)) {
    return none([`${name} can start or change more than can be judged`]);
  }
  const wrapper = Object.hasOwn(wrappers, name) ? wrappers[name] : undefined;
  return wrapper ? unwrapOptions(name, wrapper, words) : none();
}

/** The program without its folder. */
export const programOf = ([first]: readonly ShellWord[]): string => {
  const text = first?.text ?? '';
  return text.slice(text.lastIndexOf('/') + 1);
};

function unwrapOptions(name: string, wrapper: Wrapper, words: readonly ShellWord[]): Unwrapped {
  const doubts = wrapper.doubt ? [wrapper.doubt] : [];
  let at = 1;
  for (; at < words.length; at++) {
    const { text = '', kind } = words[at] ?? {};
    if (kind === 'unknown') return none([...doubts, `the options of ${name} are not known`]);
    if (text === '--') {
      at += 1;
      break;
    }
    if (name === 'env' && /^\w+=/.test(text)) {
      doubts.push(`${text} changes the environment`);
    } else if (name === 'env' && /^(-[a-zA-Z]*[SC]|--split-string|--chdir)/.test(text)) {
      return none([...doubts, `env ${text} can start more than can be judged`]);
    } else if (!text.startsWith('-') || text === '-') break;
    else if (name === 'command' && /^-[a-z]*[vV]/.test(text))
      return none(); // only looks it up
    else if (wrapper.valued.includes(text)) at += 1;
  }
  at += wrapper.operands ?? 0;
  if (at >= words.length) return none(doubts); // starts nothing: `env`, `nice`
  return { kind: wrapper.kind, at, doubts };
}

function unwrapShell(name: string, words: readonly ShellWord[]): Unwrapped {
  const at = words.findIndex(({ text }, index) => index > 0 && /^-[a-z]*c[a-z]*$/.test(text));
  if (at < 0) {
    const asksOnly = words.length === 2 && words[1]?.text === '--version';
    return none(asksOnly ? [] : [`what ${name} runs is not in the command`]);
  }
  const isPlain = words.slice(1, at).every(({ text }) => /^(-[a-z]+|--[a-z-]+)$/.test(text));
  const script = words[at + 1];
  if (script?.kind !== 'literal' || !isPlain || /[^clieuxf-]/.test(words[at]?.text ?? '')) {
    return none([`what ${name} -c runs is not known`]);
  }
  return { kind: 'script', source: script.text, doubts: [] };
}

function unwrapEval(words: readonly ShellWord[]): Unwrapped {
  const rest = words.slice(1);
  if (rest.some(({ kind }) => kind !== 'literal')) return none(['what eval runs is not known']);
  return { kind: 'script', source: rest.map(({ text }) => text).join(' '), doubts: [] };
}

function unwrapFind(words: readonly ShellWord[]): Unwrapped {
  const at = words.findIndex(({ text }) => /^-(exec|execdir|ok|okdir)$/.test(text));
  if (at < 0) return none();
  const rest = words.slice(at + 1);
  const end = rest.findIndex(({ text }) => text === ';' || text === '+');
  const again = rest.slice(end + 1).some(({ text }) => /^-(exec|execdir|ok|okdir)$/.test(text));
  const doubts = ['find hands on arguments that are not known'];
  if (again) doubts.push('find runs several commands');
  const until = end < 0 ? {} : { until: at + 1 + end };
  return { kind: 'opaque', at: at + 1, ...until, doubts };
}

function unwrapGit(words: readonly ShellWord[]): Unwrapped {
  return none(readGit(words).configures ? ['git -c can make git run any program'] : []);
}
