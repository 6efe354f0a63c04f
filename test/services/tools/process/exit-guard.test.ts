import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { expect, it, vi } from 'vitest';
import { findMarked } from '../../../../services/tools/process/marks.ts';
import { spawnGroup } from '../../../../services/tools/process/spawn-group.ts';

it('a host that leaves kills what its sessions have started, by one listener for all', async () => {
  // other files of this process may have left the listener of theirs
  vi.resetModules();
  const { guardAtExit } = await import('../../../../services/tools/process/exit-guard.ts');
  const before = process.listeners('exit');
  const marks = Array.from({ length: 20 }, () => randomUUID());
  const guards = marks.map(guardAtExit);
  const added = process.listeners('exit').filter((listener) => !before.includes(listener));
  expect(added).toHaveLength(1);
  for (const mark of marks.slice(0, 2)) {
    spawnGroup({
      program: 'bash',
      args: ['-c', 'setsid sleep 300 & trap "" TERM; sleep 300; sleep 300'],
      cwd: tmpdir(),
      env: process.env,
      mark,
      leftovers: 'drain',
      onData: () => undefined,
    });
    expect(findMarked(mark).length).toBeGreaterThan(0);
  }
  added[0]?.(0);
  expect(marks.flatMap(findMarked)).toEqual([]);
  for (const letGo of guards) letGo();
  expect(process.listeners('exit')).toEqual(before);
});
