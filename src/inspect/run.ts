/** A run that can be looked at: one that happens, or a recording. */
import type { EntryList } from './entry-list.ts';
import type { Chart, Hello, Path, Piece, Preview, RequestDiff } from './protocol.ts';
import type { Scrub } from './redact.ts';

export interface DrawnChart {
  readonly chart: Chart;
  /** Where it came with a drawing. */
  readonly svg?: string;
}

/** Something large that a page looks into. */
export type PieceOf =
  | { readonly what: 'context' | 'event' | 'message'; readonly seq: number }
  | { readonly what: 'request'; readonly id: string };

export interface Run {
  readonly list: EntryList;
  /** Everything that leaves the process goes through it. */
  readonly scrub: Scrub;
  hello(): Omit<Hello, 'control' | 'state'>;
  readonly charts: readonly string[];
  chart(key: string): DrawnChart | undefined;
  piece(of: PieceOf, path: Path): Piece;
  requestDiff(id: string): RequestDiff;
  /** Requests whose bodies are known, oldest first. */
  readonly requestIds: readonly string[];
  /** The context after a step, cut. */
  contextAt(seq: number): Preview | undefined;
  /** Nothing more will come. */
  readonly isOver: boolean;
  onOver(listener: () => void): () => void;
}
