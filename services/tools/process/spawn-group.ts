/**
 * Runs a program as the leader of a process group of its own, and ends the whole of it.
 *
 * Measured: libraries that wait for `close` hang for as long as any grandchild keeps the pipe (a
 * `timeout: 400` came back after 8 s). So this settles on `exit` and a short quiet time.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { messageOf } from '../../message-of.ts';
import { withMark } from './marks.ts';
import type { ProcessEntry } from './process-table.ts';
import { createTree, type Tree } from './tree.ts';

/** What the pipe still holds when the leader is gone arrives within this; it restarts with data. */
const QUIET_MS = 100;
/** A background child may print for ever: then this ends the waiting. */
const QUIET_MAX_MS = 1_000;
/** From SIGTERM to SIGKILL after a timeout: enough to remove a temporary file. */
const TIMEOUT_GRACE_MS = 2_000;
/** … and after an abort, when somebody waits. */
const ABORT_GRACE_MS = 1_000;
/** A process in an uninterruptible state cannot be killed: then we go on without its exit. */
const UNKILLABLE_MS = 2_000;

/** Where bytes come from; `extra` is file descriptor 3. */
export type OutputStream = 'stdout' | 'stderr' | 'extra';

export interface GroupOptions {
  readonly program: string;
  readonly args: readonly string[];
  /** Absolute, and there: a missing folder looks like a missing program. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Unique among everything that runs on the machine; see `marks.ts`. */
  readonly mark: string;
  /** Written to stdin, which is then closed. Without it stdin is /dev/null. */
  readonly stdin?: string;
  /** Leaves stdin open for a conversation; `ProcessGroup.stdin` is its end of ours. */
  readonly keepsStdinOpen?: boolean;
  /** Opens file descriptor 3 for the program to write to. */
  readonly hasExtraPipe?: boolean;
  /** Without it the program may run for ever. */
  readonly timeoutMs?: number;
  readonly timeoutGraceMs?: number;
  readonly abortGraceMs?: number;
  readonly signal?: AbortSignal;
  /** Bytes as they come. A promise holds the stream back until it is settled. */
  readonly onData: (stream: OutputStream, bytes: Buffer) => undefined | Promise<void>;
  /**
   * After the end, when children are left that hold the pipe. `close`: their next write fails.
   * `drain`: it goes on to `onData`, without keeping our process alive.
   */
  readonly leftovers: 'close' | 'drain';
}

/** How it ended. */
export type GroupEnd =
  | { readonly how: 'exited'; readonly code: number }
  | { readonly how: 'signalled'; readonly signal: string }
  | { readonly how: 'timedOut' }
  | { readonly how: 'aborted' }
  /** Never started: no such program, no memory, arguments too long. */
  | { readonly how: 'failed'; readonly detail: string };

export interface ProcessGroup {
  /** Of the leader, and of the group; 0 when it could not be started. */
  readonly pid: number;
  /** Present with `keepsStdinOpen`. */
  readonly stdin: Writable | undefined;
  /** *Contract:* settles exactly once, never rejects, and never waits for a child's pipe. */
  readonly ended: Promise<GroupEnd>;
  /** What is alive of it, oldest first: after the end, the children that it left behind. */
  leftovers(): readonly ProcessEntry[];
  /**
   * SIGTERM, then after the grace SIGKILL, to everything that is left of the tree. Resolves when
   * nothing of it is alive.
   */
  stop(graceMs: number): Promise<void>;
  /** Lets go of the pipes. */
  release(): void;
}

/** Starts a program. *Contract:* never throws. */
export const spawnGroup = (options: GroupOptions): ProcessGroup => {
  if (options.signal?.aborted) return unstarted({ how: 'aborted' });
  let child: ChildProcess;
  try {
    child = spawn(options.program, [...options.args], {
      cwd: options.cwd,
      env: withMark(options.env, options.mark) as NodeJS.ProcessEnv,
      detached: true,
      stdio: [
        options.stdin === undefined && !options.keepsStdinOpen ? 'ignore' : 'pipe',
        'pipe',
        'pipe',
        ...(options.hasExtraPipe ? (['pipe'] as const) : []),
      ],
    });
  } catch (error) {
    return unstarted({ how: 'failed', detail: describe(error, options) });
  }
  return new RunningGroup(child, options);
};

const describe = (error: unknown, { program }: GroupOptions): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT') return `${program} was not found`;
  if (code === 'E2BIG') return 'the command is too long for the system; write it to a file first';
  return messageOf(error);
};

const unstarted = (end: GroupEnd): ProcessGroup => ({
  pid: 0,
  stdin: undefined,
  ended: Promise.resolve(end),
  leftovers: () => [],
  stop: () => Promise.resolve(),
  release: () => {},
});

class RunningGroup implements ProcessGroup {
  readonly pid: number;
  readonly stdin: Writable | undefined;
  readonly ended: Promise<GroupEnd>;
  readonly #tree: Tree;
  readonly #child: ChildProcess;
  readonly #options: GroupOptions;
  readonly #streams: readonly Readable[];
  #settle: (end: GroupEnd) => void = () => {};
  #isSettled = false;
  /** Why we are ending it; what the leader's exit says then no longer matters. */
  #verdict: GroupEnd | undefined;
  #ownEnd: GroupEnd | undefined;
  #openStreams = 0;
  #heldBack = 0;
  #stopping: Promise<void> | undefined;
  readonly #timers = new Set<NodeJS.Timeout>();
  #quiet: NodeJS.Timeout | undefined;

  constructor(child: ChildProcess, options: GroupOptions) {
    this.#child = child;
    this.#options = options;
    this.pid = child.pid ?? 0;
    this.#tree = createTree(this.pid, options.mark);
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#streams = this.#listen();
    // A program that does not read its input closes the pipe under us: not an error.
    child.stdin?.on('error', () => {});
    this.stdin = options.keepsStdinOpen ? (child.stdin ?? undefined) : undefined;
    if (!options.keepsStdinOpen) child.stdin?.end(options.stdin);
    child.on('error', (error) => {
      if (child.pid === undefined)
        this.#finish({ how: 'failed', detail: describe(error, options) });
    });
    child.on('exit', (code, signal) => this.#leaderExited(code, signal));
    if (options.timeoutMs !== undefined) {
      const graceMs = options.timeoutGraceMs ?? TIMEOUT_GRACE_MS;
      this.#later(options.timeoutMs, () => this.#end({ how: 'timedOut' }, graceMs));
    }
    options.signal?.addEventListener('abort', this.#aborted, { once: true });
  }

  leftovers(): readonly ProcessEntry[] {
    // No group and no open pipe: nothing to look for. A look reads all of /proc.
    const found = this.#openStreams > 0 || this.#tree.hasGroup() ? this.#tree.look() : [];
    return [...found].sort((a, b) => a.startedTicks - b.startedTicks);
  }

  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs).finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  release(): void {
    for (const stream of this.#streams) stream.destroy();
    this.#child.stdin?.destroy();
  }

  #listen(): readonly Readable[] {
    const { stdout, stderr, stdio } = this.#child;
    const streams = { stdout, stderr, extra: this.#options.hasExtraPipe ? stdio[3] : null };
    return Object.entries(streams).flatMap(([name, stream]) => {
      if (!stream || !('read' in stream)) return [];
      this.#openStreams += 1;
      stream.on('data', (bytes: Buffer) => this.#data(name as OutputStream, stream, bytes));
      stream.on('error', () => {}); // followed by close
      stream.on('close', () => {
        this.#openStreams -= 1;
        if (this.#openStreams === 0) this.#finishByItself();
      });
      return [stream];
    });
  }

  #data(name: OutputStream, stream: Readable, bytes: Buffer): void {
    if (this.#ownEnd && !this.#isSettled) this.#waitForQuiet();
    const wait = this.#options.onData(name, bytes);
    if (!wait) return;
    this.#heldBack += 1;
    stream.pause();
    const goOn = () => {
      this.#heldBack -= 1;
      stream.resume();
    };
    wait.then(goOn, goOn);
  }

  readonly #aborted = (): void =>
    this.#end({ how: 'aborted' }, this.#options.abortGraceMs ?? ABORT_GRACE_MS);

  #leaderExited(code: number | null, signal: NodeJS.Signals | null): void {
    this.#tree.leaderIsGone();
    this.#ownEnd =
      signal === null ? { how: 'exited', code: code ?? 0 } : { how: 'signalled', signal };
    if (this.#openStreams === 0) {
      this.#finishByItself();
    } else {
      this.#waitForQuiet();
      this.#later(QUIET_MAX_MS, () => this.#finishByItself());
    }
  }

  /** The leader is gone and its output read. Whoever is ending the group also settles it. */
  #finishByItself(): void {
    if (this.#ownEnd && !this.#verdict) this.#finish(this.#ownEnd);
  }

  /** The leader is gone, a pipe is still open: done when nothing more comes for a moment. */
  #waitForQuiet(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      // Nothing can come while we hold the stream back ourselves.
      if (this.#heldBack > 0) this.#waitForQuiet();
      else this.#finishByItself();
    }, QUIET_MS);
  }

  #end(verdict: GroupEnd, graceMs: number): void {
    if (this.#verdict || this.#isSettled) return;
    // It has just ended by itself, and only its pipes are waited for: that is bounded.
    if (verdict.how === 'timedOut' && this.#ownEnd) return;
    this.#verdict = verdict;
    const finish = () => this.#finish(verdict);
    this.stop(graceMs).then(finish, finish);
  }

  async #stop(graceMs: number): Promise<void> {
    if (!this.#tree.signal('SIGTERM')) return;
    if (await this.#emptyWithin(graceMs)) return;
    // What is forked while we look is caught by the next round.
    for (let left = UNKILLABLE_MS; left > 0; left -= 100) {
      if (!this.#tree.signal('SIGKILL')) return;
      if (await this.#emptyWithin(100)) return;
    }
  }

  async #emptyWithin(ms: number): Promise<boolean> {
    const until = performance.now() + ms;
    for (let pause = 5; ; pause = Math.min(pause * 2, 80)) {
      const isReaped = this.#ownEnd !== undefined || this.pid === 0;
      if (isReaped && this.#tree.look().length === 0) return true;
      const left = until - performance.now();
      if (left <= 0) return false;
      await new Promise((resolve) => setTimeout(resolve, Math.min(pause, left)));
    }
  }

  #finish(end: GroupEnd): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#quiet);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#options.signal?.removeEventListener('abort', this.#aborted);
    const mustClose = this.#options.leftovers === 'close' || this.#verdict !== undefined;
    if (mustClose || end.how === 'failed') this.release();
    else this.#letGo();
    this.#settle(end);
  }

  /** What is left may print on, but must not keep our process from ending. */
  #letGo(): void {
    this.#child.unref();
    for (const stream of this.#streams) {
      if ('unref' in stream && typeof stream.unref === 'function') stream.unref();
    }
  }

  #later(ms: number, action: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, ms);
    this.#timers.add(timer);
  }
}
