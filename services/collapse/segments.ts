/** What may be collapsed, and in which portions. Pure; all numbers are tokens. */
import type { LogMessage } from '../messages.ts';
import { callsOf, resultsOf } from '../preprocess/rounds.ts';
import type { WindowNumbers } from '../preprocess/windows.ts';
import { isRequest, type Piece } from '../recovery/split-history.ts';

/** Finished rounds in a row that one summary is to stand for. */
export interface Segment {
  readonly messages: readonly LogMessage[];
  readonly tokens: number;
}

export interface Portions {
  /** The newest work, which stays as it is. */
  readonly tail: number;
  /** A segment is closed when it has so much: a summary of more would keep less of it. */
  readonly segment: number;
  /** A summary of less frees hardly more than it takes. */
  readonly segmentMin: number;
}

/** Half of what is protected: the room between two thresholds takes two of them. */
export const portionsOf = ({ kept }: WindowNumbers): Portions => ({
  tail: kept,
  segment: Math.floor(kept / 2),
  segmentMin: Math.floor(kept / 8),
});

/** Their results are instructions for the work that comes, not a record of what was done. */
const INSTRUCTIVE = new Set(['Skill']);

/**
 * A finished round, and nothing that must stay word for word: what people have asked for, a summary
 * (it stands for more than itself), the text of a skill.
 */
export function mayCollapse({ messages, hasAnswer }: Piece): boolean {
  if (!hasAnswer) return false;
  if (messages.some((message) => isRequest(message) || message.origin === 'summary')) return false;
  const calls = messages.flatMap(callsOf);
  if (calls.some(({ name }) => INSTRUCTIVE.has(name))) return false;
  const answered = new Set(messages.flatMap(resultsOf).map(({ tool_use_id }) => tool_use_id));
  return answered.size === calls.length && calls.every(({ id }) => answered.has(id));
}

/** Index of the first piece of the protected tail: the last round whole, and more while it fits. */
export function tailFrom(sizes: readonly number[], pieces: readonly Piece[], tail: number): number {
  let from = Math.max(
    pieces.findLastIndex((piece) => piece.hasAnswer),
    0,
  );
  let tokens = sizes.slice(from).reduce((sum, size) => sum + size, 0);
  while (from > 0) {
    tokens += sizes[from - 1] ?? 0;
    if (tokens > tail) break;
    from -= 1;
  }
  return from;
}

export interface Planned {
  readonly segments: readonly Segment[];
  /** Pieces that are decided about: they are in a segment, or stay word for word for ever. */
  readonly decided: number;
}

/**
 * Portions of the old part, oldest first. What is too little waits for the rounds after it, unless
 * something that stays comes in between.
 */
export function planSegments(
  pieces: readonly Piece[],
  sizeOf: (messages: readonly LogMessage[]) => number,
  portions: Portions,
): Planned {
  const sizes = pieces.map(({ messages }) => sizeOf(messages));
  const end = tailFrom(sizes, pieces, portions.tail);
  const segments: Segment[] = [];
  let open: Piece[] = [];
  let tokens = 0;
  let decided = 0;
  const close = (next: number) => {
    if (tokens >= Math.max(1, portions.segmentMin))
      segments.push({ messages: open.flatMap(({ messages }) => messages), tokens });
    open = [];
    tokens = 0;
    decided = next;
  };
  for (const [at, piece] of pieces.slice(0, end).entries()) {
    if (!mayCollapse(piece)) {
      close(at + 1);
      continue;
    }
    open.push(piece);
    tokens += sizes[at] ?? 0;
    if (tokens >= portions.segment) close(at + 1);
  }
  return { segments, decided };
}
