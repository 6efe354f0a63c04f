/**
 * What is looked for ahead of time: begun as early as the work shows where, done beside it, and
 * taken when something is attached. What is late by then is taken at a later attaching.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { orAborted } from '../or-aborted.ts';

/** Work beside the query that runs. The signal aborts with the query; without one nothing is begun. */
export type Beside = (work: (signal: AbortSignal) => Promise<void>) => void;

/** By the name of the place that it was found at. */
export interface Found<T> {
  readonly place: string;
  readonly found: T;
}

export interface Ahead<T> {
  /** Begins to look at a place, unless it is being looked at, or waits to be taken. */
  look(place: string, find: (signal: AbortSignal) => Promise<T>): void;
  /**
   * Takes what is there, after a moment at most; each once, in the order in which it was begun.
   * Rejects with what a look has rejected with.
   */
  take(signal: AbortSignal): Promise<readonly Found<T>[]>;
}

/**
 * 100 ms, in steps: a process that had no time for itself (a large answer is parsed, the machine is
 * busy) has not used it up at one stroke, and files that were read meanwhile are heard of.
 */
const STEPS = 10;
const STEP_MS = 10;

type Look<T> = { readonly finding: Promise<void> } & (
  | { state: 'looking' }
  | { state: 'found'; found: T }
  | { state: 'failed'; error: unknown }
);

/** A look that its query has ended is forgotten: the next query begins it anew. */
export function createAhead<T>(beside: Beside): Ahead<T> {
  const looks = new Map<string, Look<T>>();
  const pending = () => [...looks.values()].filter(({ state }) => state === 'looking');

  return {
    look: (place, find) => {
      if (looks.has(place)) return;
      beside(async (signal) => {
        const finding = find(signal).then(
          (found) => end({ state: 'found', found }),
          (error: unknown) => end({ state: 'failed', error }),
        );
        const look: Look<T> = { state: 'looking', finding };
        const end = (outcome: { state: 'found'; found: T } | { state: 'failed'; error: unknown }) =>
          void (signal.aborted ? looks.delete(place) : Object.assign(look, outcome));
        looks.set(place, look);
        await orAborted(finding, signal);
        if (look.state === 'looking') looks.delete(place);
      });
    },
    take: async (signal) => {
      for (let step = 0; step < STEPS && pending().length > 0 && !signal.aborted; step += 1) {
        const all = Promise.all(pending().map(({ finding }) => finding));
        await Promise.race([all, delay(STEP_MS)]);
      }
      if (signal.aborted) return []; // nobody would hear of it
      const taken: Found<T>[] = [];
      for (const [place, look] of looks) {
        if (look.state === 'looking') continue;
        looks.delete(place);
        if (look.state === 'failed') throw look.error;
        taken.push({ place, found: look.found });
      }
      return taken;
    },
  };
}
