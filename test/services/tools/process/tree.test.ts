import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Kernel } from '../../../../services/tools/process/kernel.ts';
import type { ProcessEntry } from '../../../../services/tools/process/process-table.ts';
import { createTree } from '../../../../services/tools/process/tree.ts';

interface Simulated extends ProcessEntry {
  readonly isOurs: boolean;
  readonly isMarked: boolean;
}

/** A kernel with few pids, which gives them away again as real ones do: never that of a group. */
class SmallKernel implements Kernel {
  readonly processes = new Map<number, Simulated>();
  readonly strangersHit: number[] = [];
  #ticks = 1;

  /** @returns undefined when the pid is in use, as a pid or as a group. */
  start(pid: number, more: Partial<Simulated>): Simulated | undefined {
    if (this.processes.has(pid) || this.groupExists(pid)) return undefined;
    this.#ticks += 1;
    const defaults = { parentPid: 1, groupId: pid, isOurs: false, isMarked: false, name: 'x' };
    const entry = { ...defaults, ...more, pid, startedTicks: this.#ticks };
    this.processes.set(pid, entry);
    return entry;
  }

  end(pid: number): void {
    this.processes.delete(pid);
    // orphans go to init
    for (const [child, entry] of this.processes) {
      if (entry.parentPid === pid) this.processes.set(child, { ...entry, parentPid: 1 });
    }
  }

  readonly readProcess = (pid: number) => this.processes.get(pid);
  readonly readProcessTable = () => [...this.processes.values()];
  readonly carriesMark = (pid: number) => this.processes.get(pid)?.isMarked ?? false;
  readonly groupExists = (groupId: number) =>
    [...this.processes.values()].some((entry) => entry.groupId === groupId);
  readonly signalGroup = (groupId: number) => {
    for (const entry of [...this.processes.values()])
      if (entry.groupId === groupId) this.#kill(entry);
  };
  readonly signalProcess = (entry: ProcessEntry) => {
    const now = this.processes.get(entry.pid);
    if (now && now.startedTicks === entry.startedTicks) this.#kill(now);
  };

  #kill(entry: Simulated): void {
    if (!entry.isOurs) this.strangersHit.push(entry.pid);
    this.end(entry.pid);
  }
}

const LEADER = 5;
const pid = fc.integer({ min: 2, max: 9 });
const happening = fc.oneof(
  pid.map((at) => ({ what: 'fork' as const, at })),
  pid.map((at) => ({ what: 'setsid' as const, at })),
  pid.map((at) => ({ what: 'loseMark' as const, at })),
  pid.map((at) => ({ what: 'stranger' as const, at })),
  pid.map((at) => ({ what: 'end' as const, at })),
  fc.constant({ what: 'look' as const, at: 0 }),
);

describe('BASH-03 a tree whose pids are used again', () => {
  it('never signals a stranger, whatever happens in between', () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 40 }), (happenings) => {
        const kernel = new SmallKernel();
        kernel.start(LEADER, { isOurs: true, isMarked: true });
        const tree = createTree(LEADER, 'mark', kernel);
        let leaderIsAlive = true;
        for (const { what, at } of happenings) {
          const entry = kernel.processes.get(at);
          const ours = [...kernel.processes.values()].filter(({ isOurs }) => isOurs);
          const parent = ours.at(at % Math.max(ours.length, 1));
          if (what === 'look') tree.look();
          else if (what === 'stranger') kernel.start(at, {});
          else if (what === 'fork' && parent) {
            const { groupId, isMarked } = parent;
            kernel.start(at, { parentPid: parent.pid, groupId, isMarked, isOurs: true });
          } else if (entry?.isOurs && what === 'setsid' && !kernel.groupExists(at)) {
            kernel.processes.set(at, { ...entry, groupId: at });
          } else if (entry?.isOurs && what === 'loseMark' && at !== LEADER) {
            kernel.processes.set(at, { ...entry, isMarked: false });
          } else if (entry && what === 'end') {
            kernel.end(at);
            if (at === LEADER && leaderIsAlive) {
              leaderIsAlive = false;
              tree.leaderIsGone();
            }
          }
        }
        tree.signal('SIGKILL');
        expect(kernel.strangersHit).toEqual([]);
        // and nothing that can be recognised is missed
        expect([...kernel.processes.values()].filter(({ isMarked }) => isMarked)).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('knows its group by a member, although the leader and every mark are gone', () => {
    const kernel = new SmallKernel();
    kernel.start(LEADER, { isOurs: true, isMarked: true });
    kernel.start(6, { groupId: LEADER, parentPid: LEADER, isOurs: true });
    const tree = createTree(LEADER, 'mark', kernel);
    kernel.end(LEADER);
    tree.leaderIsGone();
    expect(tree.signal('SIGTERM')).toBe(true);
    expect(kernel.processes.size).toBe(0);
  });

  it('remembers what it has seen, although it has left everything behind since', () => {
    const kernel = new SmallKernel();
    kernel.start(LEADER, { isOurs: true, isMarked: true });
    kernel.start(6, { groupId: LEADER, parentPid: LEADER, isOurs: true });
    const tree = createTree(LEADER, 'mark', kernel);
    tree.look();
    const seen = kernel.processes.get(6);
    if (seen) kernel.processes.set(6, { ...seen, groupId: 6 });
    kernel.end(LEADER);
    tree.leaderIsGone();
    tree.signal('SIGKILL');
    expect(kernel.processes.size).toBe(0);
  });

  it('a group of the same number that came later is not ours', () => {
    const kernel = new SmallKernel();
    kernel.start(LEADER, { isOurs: true, isMarked: true });
    kernel.start(6, { groupId: LEADER, parentPid: LEADER, isOurs: true });
    const tree = createTree(LEADER, 'mark', kernel);
    kernel.end(LEADER);
    tree.leaderIsGone();
    kernel.end(6);
    kernel.start(LEADER, {});
    expect(tree.signal('SIGKILL')).toBe(false);
    expect(kernel.strangersHit).toEqual([]);
  });
});
