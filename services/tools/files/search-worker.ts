/** What the thread of our own search is given, and what it gives back. */
export interface SearchJob {
  readonly source: string;
  readonly flags: string;
  readonly isMultiline: boolean;
  readonly wanted: 'files' | 'lines';
  readonly before: number;
  readonly after: number;
  readonly linesMax: number;
  /** A larger file is passed over. */
  readonly bytesMax: number;
  /** Sent of each line. */
  readonly lineChars: number;
}
export interface SearchedFile {
  readonly state: 'searched' | 'binary' | 'large' | 'unreadable';
  readonly count: number;
  readonly lines: readonly { lineNumber: number; isMatch: boolean; text: string }[];
}

/**
 * Searches files in a thread, one for each path that it is sent. A regular expression of JavaScript
 * can backtrack for ever, and only a thread can be ended while it does.
 *
 * Made from its own source text: it refers to nothing outside of itself (types are gone by then).
 * So the thread needs no file of its own, neither beside the sources nor beside the bundle.
 * @param load `require` of the thread; under another name, for bundlers rewrite that one.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a thread is made from its text: nothing of it can stand elsewhere
export const searchWorker = (load: NodeJS.Require): void => {
  const fs = load('node:fs') as typeof import('node:fs');
  const threads = load('node:worker_threads') as typeof import('node:worker_threads');
  const job = threads.workerData as SearchJob;
  const nothing = (state: SearchedFile['state']): SearchedFile => ({ state, count: 0, lines: [] });

  const readText = (path: string): string | SearchedFile['state'] => {
    const { O_RDONLY, O_NONBLOCK = 0 } = fs.constants;
    const file = fs.openSync(path, O_RDONLY | O_NONBLOCK);
    try {
      const stats = fs.fstatSync(file);
      if (!stats.isFile()) return 'unreadable';
      const head = Buffer.alloc(Math.min(65_536, Math.max(stats.size, 1)));
      const headBytes = fs.readSync(file, head, 0, head.length, 0);
      const utf16 = { fffe: 'utf-16le', feff: 'utf-16be' }[head.toString('hex', 0, 2)];
      if (utf16 === undefined && head.subarray(0, headBytes).includes(0)) return 'binary';
      if (stats.size > job.bytesMax) return 'large';
      const bytes = fs.readFileSync(file); // from its beginning: reading the head moved nothing
      if (utf16 === undefined && bytes.includes(0)) return 'binary';
      return new TextDecoder(utf16 ?? 'utf-8').decode(bytes);
    } finally {
      fs.closeSync(file);
    }
  };

  /** Indices of the lines that match, ascending. */
  const matchedLines = (text: string, lines: readonly string[]): number[] => {
    const found: number[] = [];
    if (!job.isMultiline) {
      const regex = new RegExp(job.source, job.flags);
      for (let index = 0; index < lines.length && found.length < job.linesMax; index += 1) {
        if (!regex.test((lines[index] ?? '').replace(/\r$/, ''))) continue;
        found.push(index);
        if (job.wanted === 'files') break;
      }
      return found;
    }
    const regex = new RegExp(job.source, `${job.flags}g`);
    let line = 0;
    let lineStart = 0;
    for (const match of text.matchAll(regex)) {
      // An empty match after the last line end is in no line.
      if (match.index >= text.length) break;
      const last = Math.max(match.index, match.index + match[0].length - 1);
      for (; line < lines.length; line += 1) {
        const lineEnd = lineStart + (lines[line] ?? '').length;
        if (lineStart > last) break;
        if (lineEnd >= match.index && found.at(-1) !== line) found.push(line);
        if (lineEnd >= last) break; // the next match may begin in this line
        lineStart = lineEnd + 1;
      }
      if (found.length >= job.linesMax || job.wanted === 'files') break;
    }
    return found;
  };

  const search = (path: string): SearchedFile => {
    const text = readText(path);
    if (text === 'binary' || text === 'large' || text === 'unreadable') return nothing(text);
    const lines = text.split('\n');
    if (lines.at(-1) === '') lines.pop();
    const found = matchedLines(text, lines);
    if (job.wanted === 'files') return { state: 'searched', count: found.length, lines: [] };
    const matched = new Set(found);
    const shown = new Set<number>();
    for (const index of found) {
      const last = Math.min(lines.length - 1, index + job.after);
      for (let near = Math.max(0, index - job.before); near <= last; near += 1) shown.add(near);
    }
    return {
      state: 'searched',
      count: found.length,
      lines: [...shown]
        .sort((a, b) => a - b)
        .map((index) => ({
          lineNumber: index + 1,
          isMatch: matched.has(index),
          text: (lines[index] ?? '').slice(0, job.lineChars),
        })),
    };
  };

  threads.parentPort?.on('message', (path: string) => {
    let result = nothing('unreadable');
    try {
      result = search(path);
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error)) throw error;
    }
    threads.parentPort?.postMessage(result);
  });
};
