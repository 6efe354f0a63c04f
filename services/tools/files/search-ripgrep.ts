import { wellFormed } from '../../well-formed.ts';
import { clipEnd } from '../process/clip.ts';
import { globsOfType } from './file-types.ts';
import { GREP_COLLECTED_CHARS_MAX, GREP_COLLECTED_MAX, GREP_LINE_CHARS_MAX } from './limits.ts';
import { done, fault, type Outcome } from './outcome.ts';
import { commonArguments, type Environment, runRipgrep } from './ripgrep.ts';
import type { FileHits, HitLine, SearchQuery, SearchResult } from './search-types.ts';

/** Bytes of a line that ripgrep hands over: more than is ever shown, for the cut is ours. */
const LINE_BYTES = 4 * (GREP_LINE_CHARS_MAX + 100);

/** `undefined`: this program can not be started. */
export const searchWithRipgrep = async (
  query: SearchQuery,
  program: string,
  env: Environment,
  signal: AbortSignal,
): Promise<Outcome<SearchResult> | undefined> => {
  const output = new RipgrepOutput(query);
  const end = await runRipgrep({
    program,
    arguments: argumentsOf(query),
    cwd: query.place.root,
    env,
    signal,
    take: (chunk) => output.take(chunk),
  });
  switch (end.kind) {
    case 'not started':
      return undefined;
    case 'stopped':
      return done({ files: output.files(), shortfall: signal.aborted ? 'time' : 'amount' });
    case 'ended': {
      const files = output.files();
      // 2 also when some file could not be read, which `--no-messages` does not print.
      const isBroken = end.code !== 0 && end.code !== 1 && end.stderr.trim() !== '';
      if (isBroken && files.length === 0) return fault(sayError(end.stderr));
      return done({ files, shortfall: undefined });
    }
  }
};

const sayError = (stderr: string): string => {
  const words = wellFormed(stderr.trim()).replace(/^rg: /, '');
  const hint = /literal "\\n"|multiline/.test(words) ? '' : ' Escape what is meant literally.';
  const isPattern = words.startsWith('regex parse error');
  const isLine = words.includes('not allowed in a regex') || words.includes('"\\n" is not allowed');
  if (isLine) return 'The pattern has a line end, so it needs multiline: true';
  return isPattern ? `${words}\n${hint.trim()}`.trim() : words;
};

const argumentsOf = (query: SearchQuery): string[] => {
  const { place, scope, pattern, isMultiline } = query;
  const args = [...commonArguments(scope), '--crlf', '--with-filename', '--no-heading'];
  if (query.isCaseIgnored) args.push('--ignore-case');
  else args.push('--case-sensitive');
  if (isMultiline) args.push('--multiline', '--multiline-dotall');
  if (place.file === undefined) args.push(...typeArguments(query));
  switch (wantedOf(query)) {
    case 'files':
      args.push('--files-with-matches');
      break;
    case 'counts':
      args.push('--count');
      break;
    case 'lines':
      args.push(
        '--line-number',
        '--no-context-separator',
        `--max-columns=${LINE_BYTES}`,
        '--max-columns-preview',
        `--max-count=${GREP_COLLECTED_MAX}`,
        `--before-context=${query.before}`,
        `--after-context=${query.after}`,
      );
  }
  return [...args, `--regexp=${pattern}`, '--', `./${place.file ?? ''}`];
};

/** A type of our own, of what is wanted: a glob would bring back what `.gitignore` leaves out. */
const typeArguments = ({ type, extensions }: SearchQuery): string[] => {
  const known = type === undefined ? undefined : globsOfType(type);
  if (type !== undefined && !known) return [`--type=${type}`];
  const globs = known ?? extensions?.map((extension) => `*.${extension}`) ?? [];
  if (globs.length === 0) return [];
  return [...globs.map((glob) => `--type-add=wanted:${glob}`), '--type=wanted'];
};

/** With matches of several lines ripgrep counts matches; we count lines, so we need them. */
const wantedOf = ({ wanted, isMultiline }: SearchQuery): SearchQuery['wanted'] =>
  wanted === 'counts' && isMultiline ? 'lines' : wanted;

const NUL = 0;
const LINE_FEED = 0x0a;
const COLON = 0x3a;
const BINARY = ': WARNING: stopped searching binary file';

/**
 * Reads `path NUL`, `path NUL count LF` or `path NUL number (: or -) text LF`, as it comes. A path
 * may hold anything but NUL, line feeds too; a text holds neither, for binary files are left out.
 */
class RipgrepOutput {
  readonly #query: SearchQuery;
  readonly #wanted: SearchQuery['wanted'];
  readonly #files = new Map<string, { count: number; lines: HitLine[] }>();
  #rest: Buffer = Buffer.alloc(0);
  #entries = 0;
  #chars = 0;
  #lastPath = '';

  constructor(query: SearchQuery) {
    this.#query = query;
    this.#wanted = wantedOf(query);
  }

  /** False: enough has been collected. */
  take(chunk: Buffer): boolean {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let from = 0;
    for (let next = this.#record(bytes, from); next !== -1; next = this.#record(bytes, from)) {
      from = next;
      const isFull = this.#entries >= GREP_COLLECTED_MAX || this.#chars >= GREP_COLLECTED_CHARS_MAX;
      if (isFull) return false;
    }
    this.#rest = bytes.subarray(from);
    return true;
  }

  files(): FileHits[] {
    this.#dropBinary(this.#rest, 0);
    const isCounted = this.#query.wanted !== 'files';
    return [...this.#files]
      .map(([path, { count, lines }]) => ({ path, count: isCounted ? count : 1, lines }))
      .filter(({ count }) => count > 0);
  }

  /** Takes one record; where the next begins, or -1: it is not complete yet. */
  #record(bytes: Buffer, start: number): number {
    const from = this.#dropBinary(bytes, start);
    const nul = bytes.indexOf(NUL, from);
    if (nul === -1) return -1;
    const path = bytes.toString('utf8', from, nul).replace(/^\.\//, '');
    if (this.#wanted === 'files') {
      this.#add(path, 1);
      return nul + 1;
    }
    const end = bytes.indexOf(LINE_FEED, nul);
    if (end === -1) return -1;
    if (this.#wanted === 'counts') this.#add(path, Number(bytes.toString('latin1', nul + 1, end)));
    else this.#addLine(path, bytes.subarray(nul + 1, end));
    return end + 1;
  }

  #addLine(path: string, record: Buffer): void {
    const separator = record.findIndex((byte) => byte < 0x30 || byte > 0x39);
    const isMatch = record[separator] === COLON;
    const text = cutHit(record.toString('utf8', separator + 1));
    const line = { lineNumber: Number(record.toString('latin1', 0, separator)), isMatch, text };
    this.#add(path, isMatch ? 1 : 0, line);
  }

  #add(path: string, count: number, line?: HitLine): void {
    this.#lastPath = path;
    if (this.#query.place.file === undefined && !this.#query.isWanted(path)) return;
    const file = this.#files.get(path) ?? { count: 0, lines: [] };
    this.#files.set(path, file);
    file.count += count;
    this.#entries += 1;
    if (!line) return;
    file.lines.push(line);
    this.#chars += line.text.length;
  }

  /** The file that was just shown has turned out to be binary: it does not count. */
  #dropBinary(bytes: Buffer, from: number): number {
    const warning = `./${this.#lastPath}${BINARY}`;
    if (this.#lastPath === '' || bytes.indexOf(warning, from, 'utf8') !== from) return from;
    const end = bytes.indexOf(LINE_FEED, from + Buffer.byteLength(warning));
    if (end === -1) return from;
    this.#files.delete(this.#lastPath);
    return end + 1;
  }
}

/** A line as it is shown: without returns at its end, cut between graphemes. Both engines alike. */
export const cutHit = (line: string): string => {
  const text = wellFormed(line).replace(/\r+$/, '');
  return text.length <= GREP_LINE_CHARS_MAX
    ? text
    : `${clipEnd(text, GREP_LINE_CHARS_MAX)}… [long line, cut]`;
};
