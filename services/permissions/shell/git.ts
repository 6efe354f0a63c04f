/** The options of git before its command: `git -C /r push` is a `git push`. */
import type { ShellWord } from './reading.ts';

const valued = new Set([
  '-C',
  '-c',
  '--git-dir',
  '--work-tree',
  '--namespace',
  '--super-prefix',
  '--config-env',
  '--exec-path',
  '--attr-source',
]);

export interface GitCall {
  /** `git`, the command of git, its arguments: without the options before it. */
  readonly words: readonly ShellWord[];
  /** Can make git run any program (`core.pager`, an alias). */
  readonly configures: boolean;
  /** Works in another folder or repository. */
  readonly moves: boolean;
}

/** @param words `git` first. */
export function readGit(words: readonly ShellWord[]): GitCall {
  let configures = false;
  let moves = false;
  let at = 1;
  for (; at < words.length; at++) {
    const text = words[at]?.text ?? '';
    if (!text.startsWith('-')) break;
    const [name = ''] = text.split('=', 1);
    if (name === '-c' || name === '--config-env' || text.startsWith('--exec-path='))
      configures = true;
    if (name === '-C' || name === '--git-dir' || name === '--work-tree') moves = true;
    if (valued.has(name) && !text.includes('=') && text !== '--exec-path') at += 1;
  }
  return { words: [...words.slice(0, 1), ...words.slice(at)], configures, moves };
}
