/**
 * The read-time projection: a history with collapses in place of the messages that they stand for.
 *
 * Pure. A collapse stands in a history exactly when all of its messages do, in a row. So nobody has
 * to take one back: after a rewind into it, a snip through it or a summary over it, it stands no
 * more, and what is left of its messages is read word for word.
 */
import type { LogMessage } from '../messages.ts';
import { bareUuid, isInvented } from '../preprocess/revise.ts';
import type { Collapse } from './record.ts';

/** From this index, up to and without that one. */
export interface Place<C> {
  readonly collapse: C;
  readonly from: number;
  readonly to: number;
}

/** Where collapses stand, in the order of the history. Of two that overlap, the first given. */
export function placesOf<C extends Pick<Collapse, 'uuids'>>(
  messages: readonly LogMessage[],
  collapses: Iterable<C>,
): readonly Place<C>[] {
  const at = new Map(messages.map(({ uuid }, index) => [bareUuid(uuid), index]));
  const isTaken = new Set<number>();
  const places: Place<C>[] = [];
  for (const collapse of collapses) {
    const place = placeOf(collapse, messages, at);
    if (!place) continue;
    const indexes = Array.from({ length: place.to - place.from }, (_, n) => place.from + n);
    if (indexes.some((index) => isTaken.has(index))) continue;
    for (const index of indexes) isTaken.add(index);
    places.push(place);
  }
  return places.sort((a, b) => a.from - b.from);
}

function placeOf<C extends Pick<Collapse, 'uuids'>>(
  collapse: C,
  messages: readonly LogMessage[],
  at: ReadonlyMap<string, number>,
): Place<C> | undefined {
  const { uuids } = collapse;
  const from = at.get(uuids[0] ?? '');
  const last = at.get(uuids.at(-1) ?? '');
  if (from === undefined || last === undefined) return undefined;
  // Answers that a repair has invented come and go; they belong to what they stand beside.
  const said = messages.slice(from, last + 1).filter(({ uuid }) => !isInvented(uuid));
  const isWhole =
    said.length === uuids.length && said.every(({ uuid }, n) => bareUuid(uuid) === uuids[n]);
  return isWhole ? { collapse, from, to: last + 1 } : undefined;
}

export interface Projected<C> {
  readonly messages: readonly LogMessage[];
  /** In the history that was given. */
  readonly places: readonly Place<C>[];
}

/** The very messages when none of the collapses stands in them. */
export function project<C extends Collapse>(
  messages: readonly LogMessage[],
  collapses: Iterable<C>,
): Projected<C> {
  const places = placesOf(messages, collapses);
  if (places.length === 0) return { messages, places };
  let done = 0;
  const parts = places.flatMap(({ collapse, from, to }) => {
    const part = [...messages.slice(done, from), collapse.message];
    done = to;
    return part;
  });
  return { messages: [...parts, ...messages.slice(done)], places };
}
