/** What is asked of the kernel, and what it is told, about processes. */
import { signalProcess } from './marks.ts';
import { carriesMark, type ProcessEntry, readProcess, readProcessTable } from './process-table.ts';

export interface Kernel {
  readProcess(pid: number): ProcessEntry | undefined;
  readProcessTable(): readonly ProcessEntry[] | undefined;
  carriesMark(pid: number, mark: string): boolean;
  /** Also true when only zombies are left of it. */
  groupExists(groupId: number): boolean;
  signalGroup(groupId: number, signal: NodeJS.Signals): void;
  signalProcess(entry: ProcessEntry, signal: NodeJS.Signals): void;
}

/** The one that we run on. */
export const kernel: Kernel = {
  readProcess,
  readProcessTable,
  carriesMark,
  signalProcess,
  groupExists: (groupId) => {
    try {
      process.kill(-groupId, 0);
      return true;
    } catch {
      return false;
    }
  },
  signalGroup: (groupId, signal) => {
    try {
      process.kill(-groupId, signal);
    } catch {
      // The last member ended between the look and the signal.
    }
  },
};
