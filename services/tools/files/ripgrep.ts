/** The program `rg`: where it is, and one run of it. */
import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { type IgnoreScope, NEVER_SEARCHED_GLOBS } from './ignored.ts';
import { STDERR_CHARS_MAX } from './limits.ts';
import { UNFINISHED_WRITE_GLOB } from './write-atomically.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The one of `@vscode/ripgrep` if that is installed, then the one in PATH. */
export const ripgrepsIn = async (env: Environment): Promise<string[]> => {
  const own = await import('@vscode/ripgrep').then(
    ({ rgPath }) => [rgPath],
    () => [], // an optional dependency
  );
  const name = process.platform === 'win32' ? 'rg.exe' : 'rg';
  // A relative entry would start whatever a repository has put there.
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  for (const folder of folders) {
    const program = join(folder, name);
    if (await isRipgrep(program)) return [...own, program];
  }
  return own;
};

/** The first version that has all options that we use. */
const VERSION_MIN = 13;
const VERSION_MS_MAX = 2_000;
/** Asked once for each program. */
const known = new Map<string, Promise<boolean>>();

/** Other programs are called `rg`, too, and a text file that may be executed is run by a shell. */
const isRipgrep = async (program: string): Promise<boolean> => {
  const isThere = await access(program, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!isThere) return false;
  const answer = known.get(program) ?? hasVersion(program);
  known.set(program, answer);
  return answer;
};

const hasVersion = async (program: string): Promise<boolean> => {
  let said = '';
  const end = await runRipgrep({
    program,
    arguments: ['--version'],
    cwd: '/',
    env: {},
    signal: AbortSignal.timeout(VERSION_MS_MAX),
    take: (chunk) => {
      said += chunk.toString('latin1');
      return said.length < STDERR_CHARS_MAX;
    },
  });
  const version = Number(/^ripgrep (\d+)\./.exec(said)?.[1]);
  return end.kind === 'ended' && end.code === 0 && version >= VERSION_MIN;
};

/** What all runs have in common: no configuration of the user, files as `walkFiles` sees them. */
export const commonArguments = ({ isInRepository }: IgnoreScope): string[] => [
  '--no-config',
  '--no-messages',
  '--color=never',
  '--hidden',
  '--no-ignore-dot',
  '--no-ignore-global',
  '--no-ignore-exclude',
  ...(isInRepository ? [] : ['--no-require-git', '--no-ignore-parent']),
  ...NEVER_SEARCHED_GLOBS.flatMap((glob) => ['--glob', glob]),
  ...['--glob', `!${UNFINISHED_WRITE_GLOB}`],
  '--null',
];

export type RipgrepEnd =
  /** It could not be started: not there, not for this machine. */
  | { readonly kind: 'not started' }
  /** We ended it: the signal, or `take` had enough. */
  | { readonly kind: 'stopped' }
  | { readonly kind: 'ended'; readonly code: number | null; readonly stderr: string };

export interface RipgrepRun {
  readonly program: string;
  readonly arguments: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  readonly signal: AbortSignal;
  /** Gets the output as it comes; false: enough. */
  readonly take: (chunk: Buffer) => boolean;
}

/** Runs it to its end, in a process group of its own that is killed when it is not needed. */
export const runRipgrep = (run: RipgrepRun): Promise<RipgrepEnd> =>
  new Promise((resolve) => {
    const child = spawn(run.program, run.arguments, {
      cwd: run.cwd,
      env: run.env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let isStopped = false;
    let stderr = '';
    const stop = () => {
      if (isStopped || child.pid === undefined) return;
      isStopped = true;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // it has just ended
      }
    };
    const settle = (end: RipgrepEnd) => {
      run.signal.removeEventListener('abort', stop);
      resolve(end);
    };
    run.signal.addEventListener('abort', stop, { once: true });
    child.stdout.on('data', (chunk: Buffer) => {
      if (!isStopped && !run.take(chunk)) stop();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      if (stderr.length < STDERR_CHARS_MAX) stderr += chunk.toString('utf8');
    });
    child.once('error', () => settle({ kind: 'not started' }));
    child.once('close', (code) =>
      settle(isStopped ? { kind: 'stopped' } : { kind: 'ended', code, stderr }),
    );
    if (run.signal.aborted) stop();
  });
