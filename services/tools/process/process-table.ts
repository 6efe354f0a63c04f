/**
 * Who is alive, as the kernel says (`/proc`). A killed orphan may stay as a zombie for as long as
 * its new parent does not reap it, and `kill(pid, 0)` succeeds for it: so the state is read, too.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** One process that is not a zombie. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** Clock ticks since the start of the machine: with the pid, the identity of a process. */
  readonly startedTicks: number;
  /** The program's name as the kernel keeps it: 15 characters. */
  readonly name: string;
}

/**
 * Reads one line of `/proc/PID/stat`.
 * @returns `undefined` for a zombie, a dead process, or a line that is none.
 */
export const parseStat = (line: string): ProcessEntry | undefined => {
  // The name stands in parentheses and may itself hold spaces and parentheses.
  const nameEnd = line.lastIndexOf(')');
  const nameStart = line.indexOf('(');
  if (nameStart < 1 || nameEnd < nameStart) return undefined;
  const rest = line.slice(nameEnd + 2).split(' ');
  const [state, parentPid, groupId] = rest;
  const startedTicks = rest[19];
  if (state === undefined || startedTicks === undefined || state === 'Z' || state === 'X') {
    return undefined;
  }
  return {
    pid: Number(line.slice(0, nameStart)),
    parentPid: Number(parentPid),
    groupId: Number(groupId),
    startedTicks: Number(startedTicks),
    name: line.slice(nameStart + 1, nameEnd),
  };
};

/** One process, or `undefined` when it is gone, a zombie, or there is no `/proc`. */
export const readProcess = (pid: number): ProcessEntry | undefined => {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return undefined; // gone between two looks: the usual case
  }
};

/** Every process but our own; `undefined` on a system without `/proc`. */
export const readProcessTable = (): readonly ProcessEntry[] | undefined => {
  let names: readonly string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return undefined;
  }
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const entries = pids.flatMap((pid) => (pid === process.pid ? [] : (readProcess(pid) ?? [])));
  // macOS has no /proc, some containers an empty one: both mean that nothing can be told.
  return pids.includes(process.pid) ? entries : undefined;
};

/** Was a process started (by whatever ancestors) with this mark in its environment? */
export const carriesMark = (pid: number, mark: string): boolean => {
  try {
    return readFileSync(`/proc/${pid}/environ`).includes(mark);
  } catch {
    return false; // gone, or of another user: then it is not ours
  }
};

/** The processes and all that descend from them, as long as the parents are alive. */
export const withDescendants = (
  roots: readonly ProcessEntry[],
  table: readonly ProcessEntry[],
): readonly ProcessEntry[] => {
  const found = new Map(roots.map((entry) => [entry.pid, entry]));
  let before = -1;
  while (before !== found.size) {
    before = found.size;
    for (const entry of table) if (found.has(entry.parentPid)) found.set(entry.pid, entry);
  }
  return [...found.values()];
};
