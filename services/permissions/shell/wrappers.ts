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
  /** Options that take a value: the next word, or what is attached to them. */
  readonly valued?: readonly string[];
  /** Options that stand alone. Any other leaves a doubt: it could take the next word. */
  readonly flags?: RegExp;
  /** Words between the options and the command: a duration, a file. */
  readonly operands?: number;
  /** `NAME=value` may stand before the command. */
  readonly assigns?: boolean;
  /** Said although the command was found. */
  readonly doubt?: string;
}

const wrappers: Readonly<Record<string, Wrapper>> = {
  timeout: {
    kind: 'transparent',
    valued: ['-s', '--signal', '-k', '--kill-after'],
    flags: /^(-[vfp]|--preserve-status|--foreground|--verbose)$/,
    operands: 1,
  },
  nohup: { kind: 'transparent' },
  nice: { kind: 'transparent', valued: ['-n', '--adjustment'], flags: /^-\d+$/ },
  ionice: { kind: 'transparent', valued: ['-c', '--class', '-n', '--classdata'], flags: /^-t$/ },
  time: { kind: 'transparent', flags: /^-[pv]$/ },
  stdbuf: { kind: 'transparent', valued: ['-i', '-o', '-e', '--input', '--output', '--error'] },
  setsid: { kind: 'transparent', flags: /^(-[cfw]|--ctty|--fork|--wait)$/ },
  command: { kind: 'transparent', flags: /^-p$/ },
  builtin: { kind: 'transparent' },
  exec: { kind: 'transparent', valued: ['-a'], flags: /^-[cl]+$/ },
  caffeinate: { kind: 'transparent', valued: ['-t', '-w'], flags: /^-[dimsu]+$/ },
  env: {
    kind: 'transparent',
    valued: ['-u', '--unset'],
    flags: /^(-|-i|--ignore-environment|-0|--null)$/,
    assigns: true,
  },
  sudo: {
    kind: 'opaque',
    valued: ['-u', '--user', '-g', '--group', '-h', '--host', '-p', '--prompt', '-C', '-T', '-U'],
    flags: /^-[AbEHkKnPSV]+$/,
    assigns: true,
  },
  doas: { kind: 'opaque', valued: ['-u', '-C'], flags: /^-[nL]$/ },
  xargs: {
    kind: 'opaque',
    valued: ['-I', '-n', '-P', '-L', '-d', '-E', '-s', '-a', '--max-args', '--max-procs'],
    flags: /^(-[0rtpxo]+|--null|--no-run-if-empty|--verbose)$/,
    doubt: 'xargs adds arguments that are not known',
  },
  watch: { kind: 'opaque', valued: ['-n', '--interval'], flags: /^-[bcdegtx]+$/ },
  strace: { kind: 'opaque', valued: ['-e', '-o', '-p', '-s', '-u'], flags: /^-[fqvy]+$/ },
  flock: { kind: 'opaque', valued: ['-w', '--timeout', '-E'], flags: /^-[nsxuo]$/, operands: 1 },
  taskset: { kind: 'opaque', operands: 1 },
  chrt: { kind: 'opaque', flags: /^-[bfior]$/, operands: 1 },
  unshare: { kind: 'opaque' },
  chroot: { kind: 'opaque', operands: 1 },
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
    if (wrapper.assigns && /^\w+=/.test(text)) {
      doubts.push(`${text} changes the environment`);
      continue;
    }
    const option = readOption(text, wrapper);
    if (option === 'none') break;
    if (name === 'command' && /^-[vV]+$/.test(text)) return none(); // only looks it up
    if (option === 'end') {
      at += 1;
      break;
    }
    if (option === 'unknown') doubts.push(`what ${text} of ${name} means is not known`);
    if (option === 'takesNext') at += 1;
  }
  at += wrapper.operands ?? 0;
  if (at >= words.length) return none(doubts); // starts nothing: `env`, `nice`
  if (words[at]?.text.startsWith('-')) doubts.push(`what ${name} starts is not known`);
  return { kind: wrapper.kind, at, doubts };
}

function readOption(text: string, { valued = [], flags }: Wrapper) {
  if (text === '--') return 'end';
  if (flags?.test(text)) return 'alone';
  if (!text.startsWith('-') || text === '-') return 'none';
  if (valued.includes(text)) return 'takesNext';
  const [name = ''] = text.startsWith('--') ? text.split('=', 1) : [text.slice(0, 2)];
  return valued.includes(name) ? 'alone' : 'unknown';
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
