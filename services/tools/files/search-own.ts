/** Searches without ripgrep: slower, with the same results. */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { countOf } from '../text/amounts.ts';
import { oneLine } from '../text/one-line.ts';
import { typeFilterOf } from './file-types.ts';
import {
  GREP_COLLECTED_CHARS_MAX,
  GREP_COLLECTED_MAX,
  GREP_LINE_CHARS_MAX,
  OWN_SEARCH_BYTES_MAX,
} from './limits.ts';
import { done, type Outcome } from './outcome.ts';
import { toJsRegex } from './regex-dialect.ts';
import { cutHit } from './search-ripgrep.ts';
import type { FileHits, SearchQuery, SearchResult } from './search-types.ts';
import { type SearchedFile, type SearchJob, searchWorker } from './search-worker.ts';
import { type Shortfall, walkFiles } from './walk.ts';

/** Seen by a cut, so that it finds the whole grapheme that it is in. */
const LOOK_AROUND_CHARS = 100;
/** MiB; a file is in memory as bytes, as text and as lines. */
const HEAP_MIB_MAX = 1_024;

export const searchOwn = async (
  query: SearchQuery,
  signal: AbortSignal,
): Promise<Outcome<SearchResult>> => {
  const regex = toJsRegex(query.pattern, query);
  if (!regex.ok) return regex;
  const isOfType = typeFilterOf(query.type);
  if (!isOfType.ok) return isOfType;
  const thread = new SearchThread({
    ...regex.value,
    isMultiline: query.isMultiline,
    wanted: query.wanted === 'files' ? 'files' : 'lines',
    before: query.before,
    after: query.after,
    linesMax: GREP_COLLECTED_MAX,
    bytesMax: OWN_SEARCH_BYTES_MAX,
    lineChars: GREP_LINE_CHARS_MAX + LOOK_AROUND_CHARS,
  });
  const stop = () => void thread.end();
  signal.addEventListener('abort', stop, { once: true });
  try {
    if (signal.aborted) stop();
    return done(await searchFiles(query, thread, isOfType.value, signal));
  } finally {
    signal.removeEventListener('abort', stop);
    await thread.end();
  }
};

const searchFiles = async (
  query: SearchQuery,
  thread: SearchThread,
  isOfType: (path: string) => boolean,
  signal: AbortSignal,
): Promise<SearchResult> => {
  const { root, file } = query.place;
  const files: FileHits[] = [];
  let entries = 0;
  let chars = 0;
  let passedOver = 0;
  const paths = file === undefined ? walkFiles(root, query.scope, signal) : oneFile(file);
  for (let step = await paths.next(); ; step = await paths.next()) {
    if (step.done) return { files, shortfall: step.value, ...noteOf(passedOver) };
    const path = step.value;
    if (file === undefined && !(query.isWanted(path) && isOfType(path))) continue;
    const found = await thread.search(join(root, path));
    if (!found) {
      await paths.return(undefined);
      const note = `The pattern was still at work on ${oneLine(path)}: write it more simply.`;
      return { files, shortfall: 'time', note };
    }
    if (found.state === 'large') passedOver += 1;
    if (found.count === 0) continue;
    const lines = query.wanted === 'lines' ? found.lines : [];
    files.push({
      path,
      count: query.wanted === 'files' ? 1 : found.count,
      lines: lines.map((line) => ({ ...line, text: cutHit(line.text) })),
    });
    entries += Math.max(1, lines.length);
    chars += lines.reduce((sum, { text }) => sum + text.length, 0);
    if (entries >= GREP_COLLECTED_MAX || chars >= GREP_COLLECTED_CHARS_MAX || signal.aborted) {
      await paths.return(undefined);
      return { files, shortfall: signal.aborted ? 'time' : 'amount', ...noteOf(passedOver) };
    }
  }
};

const noteOf = (passedOver: number): { note?: string } =>
  passedOver === 0 ? {} : { note: `${countOf(passedOver, 'large file')} not searched.` };

async function* oneFile(file: string): AsyncGenerator<string, Shortfall | undefined> {
  yield file;
  return undefined;
}

/** The thread and the one question that it is at. */
class SearchThread {
  readonly #worker: Worker;
  #answer: ((found: SearchedFile | undefined) => void) | undefined;
  #isOver = false;

  constructor(job: SearchJob) {
    this.#worker = new Worker(`(${String(searchWorker)})(require)`, {
      eval: true,
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
      workerData: job,
    });
    this.#worker.on('message', (found: SearchedFile) => this.#settle(found));
    this.#worker.on('error', () => this.#settle(undefined)); // out of memory
    this.#worker.on('exit', () => {
      this.#isOver = true;
      this.#settle(undefined);
    });
  }

  /** `undefined`: the thread was ended before it had an answer. */
  search(path: string): Promise<SearchedFile | undefined> {
    if (this.#isOver) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#answer = resolve;
      this.#worker.postMessage(path);
    });
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#worker.terminate();
    this.#settle(undefined);
  }

  #settle(found: SearchedFile | undefined): void {
    this.#answer?.(found);
    this.#answer = undefined;
  }
}
