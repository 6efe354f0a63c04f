import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { findMarked, killMarked, signalProcess } from '../../../../services/tools/process/marks.ts';
import { parseStat, readProcess } from '../../../../services/tools/process/process-table.ts';
import { type GroupOptions, spawnGroup } from '../../../../services/tools/process/spawn-group.ts';
import { createTree } from '../../../../services/tools/process/tree.ts';

const group = (script: string, options: Partial<GroupOptions> = {}) => {
  const mark = randomUUID();
  const said = { stdout: '', stderr: '', extra: '' };
  const started = spawnGroup({
    program: 'bash',
    args: ['-c', script],
    cwd: tmpdir(),
    env: process.env,
    mark,
    leftovers: 'close',
    onData: (stream, bytes) => {
      said[stream] += bytes.toString();
      return undefined;
    },
    ...options,
  });
  return { ...started, pid: started.pid, ended: started.ended, said, mark, started };
};

describe('spawnGroup', () => {
  it('settles on exit, not on a pipe that a child holds', async () => {
    const { ended, said, mark } = group('sleep 300 & echo done; exit 5');
    expect(await ended).toEqual({ how: 'exited', code: 5 });
    expect(said.stdout).toBe('done\n');
    killMarked(mark);
    expect(findMarked(mark)).toEqual([]);
  });

  it('waits for output that is still in the pipe, also while a slow disk holds it back', async () => {
    let chars = 0;
    const { ended } = group('head -c 200000 /dev/zero', {
      onData: (_, bytes) => {
        chars += bytes.length;
        return new Promise((resolve) => setTimeout(resolve, 200));
      },
    });
    await ended;
    expect(chars).toBe(200_000);
  });

  it('gives stdin and closes it; a program that does not read it is no error', async () => {
    const read = group('cat', { stdin: 'x'.repeat(1_000_000) });
    expect(await read.ended).toEqual({ how: 'exited', code: 0 });
    expect(read.said.stdout.length).toBe(1_000_000);
    const deaf = group('exec <&-; exit 0', { stdin: 'x'.repeat(1_000_000) });
    expect(await deaf.ended).toEqual({ how: 'exited', code: 0 });
  });

  it('says that a program is missing, and that it was aborted before', async () => {
    const missing = group('', { program: '/no/such/program' });
    expect(await missing.ended).toEqual({
      how: 'failed',
      detail: '/no/such/program was not found',
    });
    await missing.started.stop(100);
    expect(await group('true', { signal: AbortSignal.abort() }).ended).toEqual({ how: 'aborted' });
  });

  it('ends what left the group and lost its mark, as long as its parent lives', async () => {
    const { ended, said } = group('env -i setsid sleep 300 & echo $!; sleep 300', {
      timeoutMs: 400,
    });
    expect(await ended).toEqual({ how: 'timedOut' });
    expect(readProcess(Number(said.stdout))).toBeUndefined();
  });

  it('leaves nobody else alone: a neighbour with another mark lives on', async () => {
    const neighbour = group('sleep 300');
    const { ended } = group('sleep 300', { timeoutMs: 200 });
    await ended;
    expect(readProcess(neighbour.pid)).toBeDefined();
    await neighbour.started.stop(500);
    expect(await neighbour.ended).toMatchObject({ how: 'signalled' });
    expect(readProcess(neighbour.pid)).toBeUndefined();
  });

  it('lets go of the abort signal: a thousand groups leave no listener', async () => {
    const abort = new AbortController();
    let listeners = 0;
    const { signal } = abort;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    await Promise.all(Array.from({ length: 10 }, () => group('true', { signal }).ended));
    expect(listeners).toBe(0);
  });
});

describe('BASH-03 no signal reaches a stranger', () => {
  it('a group of the same number that is not ours is left alone', async () => {
    // A stranger has the number that our leader once had: no mark, not known, another start time.
    const stranger = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' });
    const pid = stranger.pid ?? 0;
    const gone = spawn('true', [], { detached: true, stdio: 'ignore' });
    await new Promise((resolve) => gone.on('exit', resolve));
    const tree = createTree(gone.pid ?? 0, randomUUID());
    tree.leaderIsGone();
    expect(tree.hasGroup()).toBe(false);
    expect(tree.look()).toEqual([]);
    expect(tree.signal('SIGKILL')).toBe(false);

    const entry = readProcess(pid);
    expect(entry).toBeDefined();
    if (entry) signalProcess({ ...entry, startedTicks: entry.startedTicks - 1 }, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(readProcess(pid)).toBeDefined();
    stranger.kill('SIGKILL');
  });
});

describe('parseStat', () => {
  const line = (name: string, state: string) =>
    `42 (${name}) ${state} 1 40 39 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 8 9`;

  it('reads a name with anything in it', () => {
    expect(parseStat(line('a) R (b', 'S'))).toEqual({
      pid: 42,
      parentPid: 1,
      groupId: 40,
      startedTicks: 777,
      name: 'a) R (b',
    });
  });

  it.each(['Z', 'X'])('%s is not alive', (state) => {
    expect(parseStat(line('sleep', state))).toBeUndefined();
  });

  it('a line that is none', () => {
    expect(parseStat('')).toBeUndefined();
    expect(parseStat('42 (sleep')).toBeUndefined();
  });
});
