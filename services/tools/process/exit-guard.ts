/**
 * A host may leave without ending its sessions (`process.exit`, an uncaught error). What they have
 * started is then killed on the way out. One listener for all sessions: a listener each would warn.
 */
import { killMarked } from './marks.ts';

const guarded = new Set<string>();

const killAll = (): void => {
  for (const mark of guarded) killMarked(mark);
};

/** @returns lets go of the mark again. */
export const guardAtExit = (mark: string): (() => void) => {
  if (guarded.size === 0) process.on('exit', killAll);
  guarded.add(mark);
  return () => {
    guarded.delete(mark);
    if (guarded.size === 0) process.off('exit', killAll);
  };
};
