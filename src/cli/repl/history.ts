/** Earlier prompts, over sessions: a file with a JSON string in each line. */
import { appendFile, chmod, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../../../services/make-folder.ts';

/** Prompts that are kept. Enough to look back for weeks, small enough to be read at the start. */
const ENTRIES_MAX = 1_000;
/** A longer prompt is a pasted document: nobody looks for it with the arrow keys. */
const ENTRY_CHARS_MAX = 16_384;
/** The file is written anew when it has this many lines. */
const LINES_MAX = 2 * ENTRIES_MAX;
/** A larger file is none of ours. */
const FILE_BYTES_MAX = 64 << 20;

/**
 * Prompts of this and earlier sessions. *Contract:* never throws: a history that cannot be read or
 * written is no reason not to work; `onProblem` hears of it once.
 */
export class PromptHistory {
  readonly #file: string;
  readonly #onProblem: (text: string) => void;
  #entries: string[] = [];
  #writing: Promise<void> = Promise.resolve();
  #hasProblem = false;

  constructor(file: string, onProblem: (text: string) => void) {
    this.#file = file;
    this.#onProblem = onProblem;
  }

  /** Oldest first. */
  get entries(): readonly string[] {
    return this.#entries;
  }

  async load(): Promise<void> {
    const lines = await this.#read();
    this.#entries = lines.flatMap(entryOf).slice(-ENTRIES_MAX);
    if (lines.length > LINES_MAX) this.#write(() => this.#rewrite());
  }

  /** A prompt that begins with a blank is not kept, as in a shell; neither is one said twice. */
  add(text: string): void {
    if (text.startsWith(' ') || text.trim() === '' || text.length > ENTRY_CHARS_MAX) return;
    if (this.#entries.at(-1) === text) return;
    this.#entries = [...this.#entries, text].slice(-ENTRIES_MAX);
    this.#write(() => this.#append(text));
  }

  /** Resolves when everything is on disk that could be written. */
  flush(): Promise<void> {
    return this.#writing;
  }

  async #read(): Promise<readonly string[]> {
    try {
      if ((await stat(this.#file)).size > FILE_BYTES_MAX) return [];
      return (await readFile(this.#file, 'utf8')).split('\n').filter((line) => line !== '');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#say(error);
      return [];
    }
  }

  #write(step: () => Promise<void>): void {
    this.#writing = this.#writing.then(step).catch((error: unknown) => this.#say(error));
  }

  /** One `write` with O_APPEND: two sessions do not tear each other's lines. */
  async #append(text: string): Promise<void> {
    makeFolder(path.dirname(this.#file), 0o700);
    await appendFile(this.#file, `${JSON.stringify(text)}\n`, { mode: 0o600 });
    await chmod(this.#file, 0o600);
  }

  async #rewrite(): Promise<void> {
    const { default: writeFileAtomic } = await import('write-file-atomic');
    const text = this.#entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
    await writeFileAtomic(this.#file, text, { mode: 0o600 });
  }

  #say(error: unknown): void {
    if (this.#hasProblem) return;
    this.#hasProblem = true;
    this.#onProblem(`the history of prompts is not kept: ${String(error)}`);
  }
}

/** A line that is no JSON string was torn, or is not ours. */
function entryOf(line: string): readonly string[] {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'string' ? [entry] : [];
  } catch {
    return [];
  }
}
