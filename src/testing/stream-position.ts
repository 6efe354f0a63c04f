/** Acts of a stream, and where between them something can happen. */
import type { JsonObject } from './json.ts';
import type { Fault, Position, UsageFields } from './script.ts';

/** One thing to do on the wire. */
export type Act =
  | { readonly type: 'wait'; readonly ms: number }
  | { readonly type: 'until'; readonly until: () => Promise<unknown> }
  | {
      readonly type: 'send';
      /** Of the body. */
      readonly bytes: Buffer;
      /** Name of the SSE event, for the log. Absent: bytes that are no whole event. */
      readonly event?: string;
      /** Of the block. */
      readonly index?: number;
      /** This usage has been told when the bytes are out. */
      readonly usage?: UsageFields;
      /** This block is whole for the client when the bytes are out. */
      readonly whole?: JsonObject;
    }
  | { readonly type: 'break'; readonly fault: Fault };

/** An act, a place that a position can name behind it, or a place alone. */
export interface Spot {
  readonly act?: Act;
  readonly place?: string;
}

/** A whole SSE event as an act. */
export function eventAct(
  type: string,
  data: JsonObject = {},
  more: { readonly index?: number; readonly usage?: UsageFields; readonly whole?: JsonObject } = {},
): Act {
  const text = `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
  return { type: 'send', bytes: Buffer.from(text), event: type, ...more };
}

/** The place that a position by name means, as spots carry it. */
export function placeOf(
  after: Exclude<Position, { readonly bytes: number } | { readonly events: number }>,
): string {
  if (typeof after === 'string') return after;
  return after.delta === undefined
    ? `block ${after.block}`
    : `block ${after.block} delta ${after.delta}`;
}

/** The stream with acts put behind a position. `undefined`: it has no such place. */
export function insertAfter(
  stream: readonly Spot[],
  after: Position,
  acts: readonly Act[],
): Spot[] | undefined {
  const more = acts.map((act) => ({ act }));
  if (typeof after === 'object' && 'bytes' in after) {
    return insertAfterBytes(stream, after.bytes, more);
  }
  const at =
    typeof after === 'object' && 'events' in after
      ? spotOfEvent(stream, after.events)
      : stream.findIndex(({ place }) => place === placeOf(after));
  if (at < 0) return undefined;
  return [...stream.slice(0, at + 1), ...more, ...stream.slice(at + 1)];
}

function spotOfEvent(stream: readonly Spot[], events: number): number {
  if (events <= 0) return stream.findIndex(({ place }) => place === 'headers');
  let seen = 0;
  return stream.findIndex(
    ({ act }) => act?.type === 'send' && act.event !== undefined && ++seen === events,
  );
}

/** Bytes, not characters: a cut may fall into a character, as it does on a network. */
function insertAfterBytes(
  stream: readonly Spot[],
  bytes: number,
  more: readonly Spot[],
): Spot[] | undefined {
  let before = 0;
  for (const [at, spot] of stream.entries()) {
    if (spot.act?.type !== 'send') continue;
    const whole = spot.act.bytes;
    const split = bytes - before;
    before += whole.length;
    if (before < bytes) continue;
    if (before === bytes) return [...stream.slice(0, at + 1), ...more, ...stream.slice(at + 1)];
    return [
      ...stream.slice(0, at),
      { act: { type: 'send', bytes: whole.subarray(0, split) } },
      ...more,
      { act: { ...spot.act, bytes: whole.subarray(split) } },
      ...stream.slice(at + 1),
    ];
  }
  return undefined;
}
