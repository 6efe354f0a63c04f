/**
 * What belongs to one started program: its process group, what descends from it, and what carries
 * its mark. Signals reach only what is known to be ours.
 *
 * A group id is not given away while one member lives, but it may be once the group is empty. So
 * after the leader's end the group counts as ours only while a member is one that we know (pid and
 * start time) or carries the mark; and once it was seen empty, never again.
 */
import { type Kernel, kernel as realKernel } from './kernel.ts';
import { type ProcessEntry, withDescendants } from './process-table.ts';

export interface Tree {
  /** May its group still have members? Cheap. */
  hasGroup(): boolean;
  /** Everything of it that is alive, the leader included. */
  look(): readonly ProcessEntry[];
  /** @returns false when nothing was left to signal. */
  signal(signal: NodeJS.Signals): boolean;
  /** *Must* be called when the leader has exited: from then on its pid may be another's. */
  leaderIsGone(): void;
}

/**
 * @param leaderPid also the id of the group; 0: it was never started.
 * @param kernel a simulated one shows what happens when pids are used again.
 */
export const createTree = (leaderPid: number, mark: string, kernel: Kernel = realKernel): Tree => {
  const { readProcess, readProcessTable, carriesMark, groupExists, signalGroup } = kernel;
  const startedTicks = readProcess(leaderPid)?.startedTicks ?? 0;
  const known = new Map<number, number>([[leaderPid, startedTicks]]);
  let leaderIsAlive = leaderPid > 0;
  let groupIsOurs = leaderPid > 0;

  const isKnown = ({ pid, startedTicks: ticks }: ProcessEntry) => known.get(pid) === ticks;

  const look = (): readonly ProcessEntry[] => {
    if (leaderPid === 0) return [];
    const table = readProcessTable();
    if (!table) {
      groupIsOurs &&= groupExists(leaderPid);
      return groupIsOurs ? [wholeGroup(leaderPid)] : [];
    }
    // Nothing older than the leader can be its child: spares most of the reads.
    const younger = table.filter((entry) => entry.startedTicks >= startedTicks);
    const marked = younger.filter(({ pid }) => carriesMark(pid, mark));
    const group = younger.filter(({ groupId }) => groupId === leaderPid);
    if (!leaderIsAlive) {
      groupIsOurs &&= group.some((entry) => isKnown(entry) || marked.includes(entry));
    }
    const roots = [...(groupIsOurs ? group : []), ...marked, ...younger.filter(isKnown)];
    const found = withDescendants(roots, younger);
    for (const { pid, startedTicks: ticks } of found) known.set(pid, ticks);
    return found;
  };

  const signal = (name: NodeJS.Signals): boolean => {
    const found = look();
    if (groupIsOurs && (leaderIsAlive || found.some(({ groupId }) => groupId === leaderPid))) {
      signalGroup(leaderPid, name);
    }
    for (const entry of found) if (entry.groupId !== leaderPid) kernel.signalProcess(entry, name);
    return leaderIsAlive || found.length > 0;
  };

  return {
    hasGroup: () => groupIsOurs && groupExists(leaderPid),
    look,
    signal,
    leaderIsGone: () => {
      groupIsOurs &&= groupExists(leaderPid); // cheap, and mostly the end of it
      // The members are noted while the group is surely ours: the pid was freed a moment ago.
      if (groupIsOurs) look();
      leaderIsAlive = false;
    },
  };
};

/** Without `/proc` a group is all that can be seen. */
const wholeGroup = (groupId: number): ProcessEntry => ({
  pid: groupId,
  parentPid: 0,
  groupId,
  startedTicks: 0,
  name: 'process group',
});
