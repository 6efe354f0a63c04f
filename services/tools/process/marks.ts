/**
 * A mark in the environment finds what left its process group (`setsid`, a daemon): children
 * inherit the environment, whoever their parent is by now.
 */
import { carriesMark, type ProcessEntry, readProcess, readProcessTable } from './process-table.ts';

export const markVariable = 'ESCAPEMENT_PROCESS_MARKS';

/**
 * The environment with one more mark. Marks of outer sessions stay, so that a session inside of a
 * shell of another one is found by both.
 */
export const withMark = (
  env: Readonly<Record<string, string | undefined>>,
  mark: string,
): Record<string, string | undefined> => {
  const outer = env[markVariable];
  return { ...env, [markVariable]: outer ? `${outer},${mark}` : mark };
};

/** Everything alive that carries the mark; empty where there is no `/proc`. */
export const findMarked = (mark: string): readonly ProcessEntry[] =>
  (readProcessTable() ?? []).filter(({ pid }) => carriesMark(pid, mark));

/** Sends a signal to exactly this process, not to a later one with the same pid. */
export const signalProcess = (entry: ProcessEntry, signal: NodeJS.Signals): void => {
  if (readProcess(entry.pid)?.startedTicks !== entry.startedTicks) return;
  try {
    process.kill(entry.pid, signal);
  } catch {
    // It ended between the look and the signal.
  }
};

/** A process may fork while we look: after so many rounds only a fork bomb is left. */
const ROUNDS_MAX = 10;

/** Kills everything that carries the mark, at once and without asking. */
export const killMarked = (mark: string): void => {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const found = findMarked(mark);
    if (found.length === 0) return;
    for (const entry of found) signalProcess(entry, 'SIGKILL');
  }
};
