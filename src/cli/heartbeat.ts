/** Finds out that nobody reads any more, also when there is nothing to say. */
import type { LineWriter } from './stdout.ts';

/**
 * A closed pipe is noticed by a write only. While a tool runs for minutes there is none, so after
 * so much silence a `keep_alive` line is written: hosts of this protocol skip it.
 */
export const HEARTBEAT_MS = 10_000;

/** Runs until the returned function is called. Does not keep the process alive. */
export function startHeartbeat(out: LineWriter, everyMs = HEARTBEAT_MS): () => void {
  const timer = setInterval(() => {
    if (performance.now() - out.lastWriteAt >= everyMs) void out.write({ type: 'keep_alive' });
  }, everyMs / 2);
  timer.unref();
  return () => clearInterval(timer);
}
