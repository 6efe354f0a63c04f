/** Searches without ripgrep: slower, with the same results. */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { countOf } from '../text/amounts.ts';
import { oneLine } from '../text/one-line.ts';
import { typeFilterOf } from './file-types.ts';
import type { PathMatcher } from './glob-match.ts';
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

/** Files that the thread is told of before it has answered for the first of them. */
const AHEAD_MAX = 32;
/** No file that is small enough to be searched takes so long, unless the pattern does. */
const STUCK_MS = 500;
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
  isOfType: PathMatcher,
  signal: AbortSignal,
): Promise<SearchResult> => {
  const { root, file } = query.place;
  const collected = new Collected(query);
  const ahead: { path: string; found: Promise<SearchedFile | undefined> }[] = [];
  const paths = file === undefined ? walkFiles(root, query.scope, signal) : oneFile(file);
  try {
    for (let step = await paths.next(); ; ) {
      if (!step.done) {
        const path = step.value;
        if (file !== undefined || (query.isWanted(path) && isOfType(path))) {
          ahead.push({ path, found: thread.search(join(root, path)) });
        }
      } else if (ahead.length === 0) return collected.result(step.value);
      if (step.done || ahead.length >= AHEAD_MAX) {
        const next = ahead.shift();
        const found = await next?.found;
        if (next && !found) return collected.result('time', thread.sayStuck(next.path));
        if (next && found) collected.add(next.path, found);
        if (signal.aborted) return collected.result('time');
        if (collected.isFull) return collected.result('amount');
      }
      if (!step.done) step = await paths.next();
    }
  } finally {
    await paths.return(undefined);
  }
};

class Collected {
  readonly #query: SearchQuery;
  readonly #files: FileHits[] = [];
  #entries = 0;
  #chars = 0;
  #passedOver = 0;

  constructor(query: SearchQuery) {
    this.#query = query;
  }

  get isFull(): boolean {
    return this.#entries >= GREP_COLLECTED_MAX || this.#chars >= GREP_COLLECTED_CHARS_MAX;
  }

  add(path: string, found: SearchedFile): void {
    if (found.state === 'large') this.#passedOver += 1;
    if (found.count === 0) return;
    const { wanted } = this.#query;
    const lines = (wanted === 'lines' ? found.lines : []).map((line) => ({
      ...line,
      text: cutHit(line.text),
    }));
    this.#files.push({ path, count: wanted === 'files' ? 1 : found.count, lines });
    this.#entries += Math.max(1, lines.length);
    this.#chars += lines.reduce((sum, { text }) => sum + text.length, 0);
  }

  result(shortfall: Shortfall | undefined, note = this.#noteOfPassedOver()): SearchResult {
    return { files: this.#files, shortfall, ...(note === undefined ? {} : { note }) };
  }

  #noteOfPassedOver(): string | undefined {
    const count = this.#passedOver;
    return count === 0 ? undefined : `${countOf(count, 'large file')} not searched.`;
  }
}

async function* oneFile(file: string): AsyncGenerator<string, Shortfall | undefined> {
  yield file;
  return undefined;
}

/** The thread and the questions that it has not answered yet, in their order. */
class SearchThread {
  readonly #worker: Worker;
  readonly #waiting: ((found: SearchedFile | undefined) => void)[] = [];
  #lastAnswerMs = performance.now();
  #isOver = false;

  constructor(job: SearchJob) {
    this.#worker = new Worker(`(${String(searchWorker)})(require)`, {
      eval: true,
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
      workerData: job,
    });
    this.#worker.on('message', (found: SearchedFile) => {
      this.#lastAnswerMs = performance.now();
      this.#waiting.shift()?.(found);
    });
    this.#worker.on('error', () => this.#giveUp()); // out of memory
    this.#worker.on('exit', () => this.#giveUp());
  }

  /** `undefined`: the thread was ended before it had an answer. */
  search(path: string): Promise<SearchedFile | undefined> {
    if (this.#isOver) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#worker.postMessage(path);
    });
  }

  /** For the model, when it was one file that took the time and not the number of files. */
  sayStuck(path: string): string | undefined {
    return performance.now() - this.#lastAnswerMs < STUCK_MS
      ? undefined
      : `The pattern was still at work on ${oneLine(path)}: write it more simply.`;
  }

  async end(): Promise<void> {
    this.#giveUp();
    await this.#worker.terminate();
  }

  #giveUp(): void {
    this.#isOver = true;
    for (const answer of this.#waiting.splice(0)) answer(undefined);
  }
}
