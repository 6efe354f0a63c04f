/** What both search engines take and give: ripgrep, and our own where there is none. */
import type { IgnoreScope } from './ignored.ts';
import type { SearchPlace } from './search-place.ts';
import type { Shortfall } from './walk.ts';

export interface SearchQuery {
  readonly place: SearchPlace;
  readonly scope: IgnoreScope;
  readonly pattern: string;
  readonly isCaseIgnored: boolean;
  /** A match may span lines, and `.` matches their ends. */
  readonly isMultiline: boolean;
  /** `files`: only which; `counts`: how many lines match; `lines`: the lines themselves. */
  readonly wanted: 'files' | 'counts' | 'lines';
  /** Lines of context, for `lines`. */
  readonly before: number;
  readonly after: number;
  /** Judges paths relative to the folder. Does not apply to a file that was named itself. */
  readonly isWanted: (path: string) => boolean;
  /** Extensions that `isWanted` lets through at most, when it is as simple as that. */
  readonly extensions: readonly string[] | undefined;
  /** One of ripgrep's names for kinds of files. */
  readonly type: string | undefined;
}

export interface HitLine {
  readonly lineNumber: number;
  readonly isMatch: boolean;
  /** Without its ending; cut. */
  readonly text: string;
}
export interface FileHits {
  /** Relative to the folder, with `/`. */
  readonly path: string;
  /** Lines that match; 1 when only `files` were wanted. */
  readonly count: number;
  readonly lines: readonly HitLine[];
}
export interface SearchResult {
  readonly files: readonly FileHits[];
  readonly shortfall: Shortfall | undefined;
  /** More for the model: files that were passed over. */
  readonly note?: string;
}
