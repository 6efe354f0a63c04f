/**
 * One writer for a session. The lock is a file `lock.<n>` in the session's folder; the highest n
 * counts. It is never deleted by its owner but marked as given up, and a successor makes n + 1: so
 * two processes that find the same dead owner cannot both win, which they could if one of them had
 * to delete the file first (it might delete the other's).
 */
import { randomUUID } from 'node:crypto';
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../make-folder.ts';
import { readProcess } from '../tools/process/process-table.ts';
import { SessionInUseError } from './store.ts';

interface Owner {
  readonly token: string;
  readonly pid: number;
  /** With the pid, the identity of a process: pids are given out again. */
  readonly startedTicks: number | undefined;
  readonly bootId: string | undefined;
  readonly host: string;
  readonly since: string;
  readonly isReleased?: boolean;
}

export interface SessionLock {
  /** Idempotent. */
  release(): void;
}

/** Each round somebody else has won; more than this is a fault of ours. */
const ROUNDS_MAX = 100;

/**
 * Takes the lock, also over a dead owner's.
 * @param folder of the session; made when it is not there.
 * @throws SessionInUseError when a living process has it.
 */
export function takeLock(folder: string, sessionId: string, now: () => Date): SessionLock {
  makeFolder(folder, 0o700);
  const mine = self(now());
  const draft = join(folder, `.lock-${mine.token}`);
  writeFileSync(draft, JSON.stringify(mine), { mode: 0o600, flag: 'wx' });
  try {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const highest = newest(folder);
      const owner = highest === 0 ? undefined : ownerOf(lockFile(folder, highest));
      if (owner && isAlive(owner)) throw new SessionInUseError(sessionId, describe(owner));
      const number = highest + 1;
      if (!claim(draft, lockFile(folder, number))) continue;
      // Slept between the look and the claim, while others came and went: theirs is higher.
      if (newest(folder) > number) {
        rmSync(lockFile(folder, number), { force: true });
        continue;
      }
      for (const old of numbers(folder)) {
        if (old < number) rmSync(lockFile(folder, old), { force: true });
      }
      return held(folder, number, mine);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  throw new Error(`the lock in ${folder} could not be taken in ${ROUNDS_MAX} tries`);
}

/** Who has it, in words; `undefined` when nobody does. */
export function lockOwner(folder: string): string | undefined {
  const highest = newest(folder);
  const owner = highest === 0 ? undefined : ownerOf(lockFile(folder, highest));
  return owner && isAlive(owner) ? describe(owner) : undefined;
}

function held(folder: string, number: number, mine: Owner): SessionLock {
  let isReleased = false;
  return {
    release() {
      if (isReleased) return;
      isReleased = true;
      const file = lockFile(folder, number);
      const draft = join(folder, `.lock-${mine.token}`);
      try {
        // Not if somebody has taken over (a machine that slept): the file is theirs to judge.
        if (newest(folder) !== number) return;
        writeFileSync(draft, JSON.stringify({ ...mine, isReleased: true }), { mode: 0o600 });
        renameSync(draft, file);
      } catch {
        rmSync(draft, { force: true }); // a full disk: the lock ends with this process anyway
      }
    },
  };
}

const lockFile = (folder: string, number: number) => join(folder, `lock.${number}`);

function numbers(folder: string): readonly number[] {
  try {
    return readdirSync(folder).flatMap((name) => {
      const match = /^lock\.(\d+)$/.exec(name);
      return match ? [Number(match[1])] : [];
    });
  } catch {
    return [];
  }
}

const newest = (folder: string): number => Math.max(0, ...numbers(folder));

/** Atomic, with content: `link` fails when the name is there. */
function claim(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** An unreadable lock is nobody's: locks are written whole before they get their name. */
function ownerOf(file: string): Owner | undefined {
  try {
    const owner = JSON.parse(readFileSync(file, 'utf8')) as Partial<Owner>;
    return typeof owner.pid === 'number' ? (owner as Owner) : undefined;
  } catch {
    return undefined;
  }
}

function self(now: Date): Owner {
  return {
    token: randomUUID(),
    pid: process.pid,
    startedTicks: readProcess(process.pid)?.startedTicks,
    bootId: bootId(),
    host: hostname(),
    since: now.toISOString(),
  };
}

function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}

function isAlive(owner: Owner): boolean {
  if (owner.isReleased) return false;
  // Of another machine on a shared disk nothing can be known: better refused than written twice.
  if (owner.host !== hostname()) return true;
  const boot = bootId();
  if (owner.bootId !== undefined && boot !== undefined && owner.bootId !== boot) return false;
  if (owner.startedTicks !== undefined) {
    return readProcess(owner.pid)?.startedTicks === owner.startedTicks;
  }
  try {
    process.kill(owner.pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const describe = ({ pid, host, since }: Owner) => `pid ${pid} on ${host}, since ${since}`;
