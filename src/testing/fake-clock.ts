/** Time that a test moves: the deadlines and waits of the chart come when it says so. */
import type { QueryDeps } from '../deps.ts';

export interface FakeClockOptions {
  /** Milliseconds since 1970. Default: a moment in 2026. */
  readonly startMs?: number;
  /**
   * Shorter waits are over at once, and time moves on by as much: backoffs, while deadlines stay
   * where they are. Default: 0, none.
   */
  readonly skipBelowMs?: number;
}

export interface FakeClock {
  /** For the field `deps` of an engine's configuration. */
  readonly deps: Required<Pick<QueryDeps, 'clock' | 'now'>>;
  readonly nowMs: number;
  /** What is waited for now, soonest first, in ms from now. */
  readonly waits: readonly number[];
  /** Moves time on. What is due fires, in its order, also what is set meanwhile. */
  advance(ms: number): void;
  /**
   * Resolves as soon as somebody waits for exactly so long.
   * @throws Error after `patienceMs` of real time (5 s), with what is waited for instead.
   */
  waitsFor(ms: number, patienceMs?: number): Promise<void>;
}

interface Timer {
  readonly fire: () => void;
  readonly dueMs: number;
  /** As it was asked for. */
  readonly ms: number;
}

const START_MS = Date.UTC(2026, 0, 1);
const PATIENCE_MS = 5_000;

/**
 * A clock for the chart of a real engine. What services time themselves (a tool's own deadline, a
 * hook's, the bytes of a stream) is real I/O, and stays in real time.
 *
 * @example
 * const clock = fakeClock();
 * const engine = new QueryEngine({ ...config, deps: clock.deps });
 * const result = run(engine); //        the model is silent
 * await clock.waitsFor(150_000); //     the chart's deadline of a request
 * clock.advance(150_000);
 */
export function fakeClock({
  startMs = START_MS,
  skipBelowMs = 0,
}: FakeClockOptions = {}): FakeClock {
  const timers = new Map<number, Timer>();
  const watchers = new Set<() => void>();
  let nowMs = startMs;
  let lastId = 0;

  const fireFirst = (id: number, { fire, dueMs }: Timer) => {
    timers.delete(id);
    nowMs = Math.max(nowMs, dueMs);
    fire();
  };
  const soonest = (): [number, Timer] | undefined =>
    [...timers].sort(([a, one], [b, other]) => one.dueMs - other.dueMs || a - b)[0];
  const skip = (id: number) => {
    const timer = timers.get(id);
    if (timer) fireFirst(id, timer);
  };
  const clock: FakeClock['deps']['clock'] = {
    setTimeout: (fire, ms) => {
      lastId += 1;
      const id = lastId;
      timers.set(id, { fire, dueMs: nowMs + ms, ms });
      if (ms < skipBelowMs) setImmediate(skip, id);
      for (const look of watchers) look();
      return id;
    },
    clearTimeout: (id: number) => void timers.delete(id),
  };
  return {
    deps: { clock, now: () => new Date(nowMs) },
    get nowMs() {
      return nowMs;
    },
    get waits() {
      return [...timers.values()].map(({ dueMs }) => dueMs - nowMs).sort((a, b) => a - b);
    },
    advance: (ms) => {
      const untilMs = nowMs + ms;
      for (let next = soonest(); next && next[1].dueMs <= untilMs; next = soonest()) {
        fireFirst(...next);
      }
      nowMs = untilMs;
    },
    waitsFor: (ms, patienceMs = PATIENCE_MS) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (![...timers.values()].some((timer) => timer.ms === ms)) return;
          done();
          resolve();
        };
        const done = () => {
          watchers.delete(look);
          clearTimeout(patience);
        };
        const patience = setTimeout(() => {
          done();
          const instead = [...timers.values()].map((timer) => timer.ms).join(', ') || 'nothing';
          reject(new Error(`nobody waits for ${ms} ms; waited for is ${instead}`));
        }, patienceMs);
        watchers.add(look);
        look();
      }),
  };
}
