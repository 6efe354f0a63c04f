import { stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Enough to keep the thread pool busy. */
const STATS_AT_ONCE = 64;

/** Paths by the time of their last change, newest first, then by name. Those that are gone last. */
export const newestFirst = async (
  root: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<string[]> => {
  const times = new Map<string, number>();
  for (let from = 0; from < paths.length && !signal.aborted; from += STATS_AT_ONCE) {
    await Promise.all(
      paths.slice(from, from + STATS_AT_ONCE).map(async (path) => {
        const stats = await stat(join(root, path)).catch(() => undefined);
        if (stats) times.set(path, stats.mtimeMs);
      }),
    );
  }
  const timeOf = (path: string) => times.get(path) ?? Number.NEGATIVE_INFINITY;
  return [...paths].sort((a, b) => timeOf(b) - timeOf(a) || (a < b ? -1 : a > b ? 1 : 0));
};
