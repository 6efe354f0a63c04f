/**
 * What is looked for ahead of time: begun as early as the work shows where, done beside it, and
 * taken when something is attached. What is late by then is taken at a later attaching.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../message-of.ts';
import { orAborted } from '../or-aborted.ts';
import type { Tell } from '../preprocess/stage.ts';

/** Work beside the query that runs. The signal aborts with the query; without one nothing is begun. */
export type Beside = (work: (signal: AbortSignal) => Promise<void>) => void;

/** By the name of the place that it was found at. */
export interface Found<T> {
  readonly place: string;
  readonly found: T;
}

export interface Taken<T> {
  readonly finds: readonly Found<T>[];
  /** What looks have rejected with. */
  readonly errors: readonly unknown[];
}

export interface Ahead<T> {
  /** Begins to look at a place, unless it is being looked at, or waits to be taken. */
  look(place: string, find: (signal: AbortSignal) => Promise<T>): void;
  /**
   * Takes what is there, after a moment at most; each once, in the order in which it was begun. A
   * look that has failed takes nothing from the others. *Contract:* never rejects.
   */
  take(signal: AbortSignal): Promise<Taken<T>>;
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
      const finds: Found<T>[] = [];
      const errors: unknown[] = [];
      if (signal.aborted) return { finds, errors }; // nobody would hear of it
      for (const [place, look] of looks) {
        if (look.state === 'looking') continue;
        looks.delete(place);
        if (look.state === 'failed') errors.push(look.error);
        else finds.push({ place, found: look.found });
      }
      return { finds, errors };
    },
  };
}

/** Says what could not be found, in one sentence. Nothing went wrong: says nothing. */
export function sayFailures(what: string, errors: readonly unknown[], tell: Tell): void {
  if (errors.length === 0) return;
  const reasons = errors.map((error) => messageOf(error));
  const text = `${what} are left out in part: ${[...new Set(reasons)].join('; ')}`;
  tell({ type: 'warning', text });
}
