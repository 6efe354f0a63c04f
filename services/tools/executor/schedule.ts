/**
 * Which calls may begin now. Pure: the whole rule of the queue stands here.
 *
 * Calls that are safe beside others run together, an unsafe one alone. Order is kept: an unsafe
 * call waits for all before it, and those behind it wait for it. What is not parsed yet might be
 * unsafe.
 */
export type Place =
  | { readonly status: 'unparsed' }
  | { readonly status: 'ready'; readonly isSafe: boolean }
  | { readonly status: 'running'; readonly isSafe: boolean; readonly isWaiting: boolean }
  /** Answered, refused or left to the host. */
  | { readonly status: 'over' };

/** @returns indices of the calls that may begin, in order. */
export function startable(places: readonly Place[], concurrencyMax: number): readonly number[] {
  const starting: number[] = [];
  let running = places.filter(({ status }) => status === 'running').length;
  let isFirst = true;
  for (const [index, place] of places.entries()) {
    if (place.status === 'over') continue;
    if (place.status === 'unparsed') break;
    if (place.status === 'ready') {
      const mayBegin = place.isSafe ? running < concurrencyMax : isFirst;
      if (!mayBegin) break;
      starting.push(index);
      running += 1;
    }
    if (!place.isSafe) break;
    isFirst = false;
  }
  return starting;
}

/**
 * A running call whose edited input is no longer safe waits until it is alone: all before it are
 * over, and none behind it is at work. @returns the index of the one that may go on.
 */
export function goesOnAlone(places: readonly Place[]): number | undefined {
  const index = places.findIndex((place) => place.status === 'running' && place.isWaiting);
  if (index < 0) return undefined;
  const isAlone = places.every((place, other) =>
    other === index
      ? true
      : other < index
        ? place.status === 'over'
        : place.status !== 'running' || place.isWaiting,
  );
  return isAlone ? index : undefined;
}
