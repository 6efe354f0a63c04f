/**
 * The run to one page, as server-sent events: in batches, no faster than the page reads, and never
 * holding up the run. A page that is too slow loses the oldest entries and is told so.
 */
import type { ServerResponse } from 'node:http';
import type { Batch, ControlState, Ended, Hello } from './protocol.ts';
import type { Run } from './run.ts';

const BATCH_ENTRIES = 400;
const FLUSH_MS = 50;
/** More than this, and the oldest are left out. */
const QUEUED_MAX = 20_000;
/** Not read yet by the page: then it is waited for. */
const UNSENT_BYTES_MAX = 8 << 20;
const WAIT_MS = 4 * FLUSH_MS;
const HEARTBEAT_MS = 15_000;
/** At the end: for a page that is still reading. */
const LAST_MS = 500;

export interface StreamParts {
  readonly run: Run;
  readonly response: ServerResponse;
  readonly hello: () => Hello;
  /** `seq` of the last entry that the page has. */
  readonly after: number | undefined;
}

export class EventStream {
  readonly #run: Run;
  readonly #response: ServerResponse;
  /** The next entry to send. */
  #next: number;
  /** The oldest entry that is kept, as the page knows it. */
  #first: number;
  #charts: Set<string>;
  #timer: NodeJS.Timeout | undefined;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #leave: () => void;
  #control: ControlState | undefined;
  #isEnded = false;
  #isClosed = false;

  constructor({ run, response, hello, after }: StreamParts) {
    this.#run = run;
    this.#response = response;
    const first = hello();
    this.#charts = new Set(first.charts);
    this.#first = run.list.first;
    this.#next = after === undefined ? run.list.first : after + 1;
    // Of another run, or of a time that is not known any more.
    if (this.#next > run.list.next) this.#next = run.list.first;
    this.#write('hello', first);
    const leaves = [run.list.subscribe(() => this.#soon()), run.onOver(() => this.#soon())];
    this.#leave = () => {
      for (const leave of leaves) leave();
    };
    this.#heartbeat = setInterval(() => response.write(': still here\n\n'), HEARTBEAT_MS).unref();
    response.once('close', () => this.close());
    this.#soon();
  }

  /** Breakpoints, and whether it is held. */
  control(state: ControlState): void {
    this.#control = state;
    this.#soon();
  }

  /** The rest, and that it is the end. Resolves when the page has it, or is not waited for. */
  async finish(): Promise<void> {
    if (this.#isClosed) return;
    const { list } = this.#run;
    for (let left = list.next - this.#next; left > 0; left -= BATCH_ENTRIES) this.#batch();
    if (!this.#isEnded) this.#write('ended', { at: Date.now() });
    const sent = new Promise<void>((resolve) => this.#response.once('finish', () => resolve()));
    this.close();
    const late = new Promise<void>((resolve) => setTimeout(resolve, LAST_MS).unref());
    await Promise.race([sent, late]);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#leave();
    clearInterval(this.#heartbeat);
    clearTimeout(this.#timer);
    this.#response.end();
  }

  #soon(ms = FLUSH_MS): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => this.#flush(), ms).unref();
  }

  #flush(): void {
    this.#timer = undefined;
    if (this.#response.writableLength > UNSENT_BYTES_MAX) {
      this.#soon(WAIT_MS);
      return;
    }
    if (this.#control) {
      this.#write('control', this.#control);
      this.#control = undefined;
    }
    this.#batch();
    const { list } = this.#run;
    if (this.#next < list.next) this.#soon();
    else if (this.#run.isOver && !this.#isEnded) {
      this.#isEnded = true;
      this.#write('ended', { at: Date.now() } satisfies Ended);
    }
  }

  #batch(): void {
    const { list, charts: known } = this.#run;
    const oldest = Math.max(list.first, list.next - QUEUED_MAX);
    const isLost = this.#next < oldest;
    const lost = isLost ? { lost: { from: this.#next, to: oldest - 1 } } : {};
    const base = isLost || list.first > this.#first ? { base: list.base() } : {};
    this.#first = list.first;
    if (isLost) this.#next = oldest;
    const entries = list.from(this.#next, BATCH_ENTRIES);
    const last = entries.at(-1);
    if (!last) return;
    this.#next = last.seq + 1;
    const charts = known.filter((key) => !this.#charts.has(key));
    for (const key of charts) this.#charts.add(key);
    const rest: Omit<Batch, 'entries'> = {
      ...lost,
      ...base,
      ...(charts.length > 0 ? { charts } : {}),
    };
    // Entries are text already, and clean.
    const more = JSON.stringify(rest).slice(1, -1);
    const body = `{"entries":[${entries.map(({ json }) => json).join(',')}]${more && `,${more}`}}`;
    this.#response.write(`id: ${last.seq}\ndata: ${body}\n\n`);
  }

  #write(event: string, data: Hello | ControlState | Ended): void {
    this.#response.write(`event: ${event}\ndata: ${this.#run.scrub(JSON.stringify(data))}\n\n`);
  }
}
