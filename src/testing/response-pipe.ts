/** An answer of the scripted API as the `Response` of a `fetch` in the same process. */
import type { Outlet } from './outlet.ts';

/** Pieces that nobody has read; above it the writer waits. */
const UNREAD_MAX = 16;

type End = 'whole' | Error;

/** Fails as Node's own `fetch` does, so that clients see what they would see on a network. */
const broken = (code: string) => Object.assign(new Error('the connection was broken'), { code });

export class ResponsePipe implements Outlet {
  /** Settles with the headers; rejects when the connection breaks before them. */
  readonly response: Promise<Response>;
  readonly #gone = new AbortController();
  readonly #pieces: Uint8Array[] = [];
  #resolve!: (response: Response) => void;
  #reject!: (error: unknown) => void;
  #head: { readonly status: number; readonly headers: Record<string, string> } | undefined;
  #isHeadOut = false;
  #end: End | undefined;
  #onLost = () => {};
  /** The reader waits for a piece; the writer for room. */
  #wakeReader = () => {};
  #wakeWriter = () => {};

  constructor() {
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.response.catch(() => {}); // whoever called `fetch` hears it
  }

  /** Fires when the client goes. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get isBegun(): boolean {
    return this.#head !== undefined;
  }

  /** @param onLost the client has gone before the answer was whole. */
  listen(signal: AbortSignal, onLost: () => void): void {
    this.#onLost = onLost;
    if (signal.aborted) this.#leave(signal.reason);
    else signal.addEventListener('abort', () => this.#leave(signal.reason), { once: true });
  }

  begin(status: number, headers: Readonly<Record<string, string>>): void {
    this.#head = { status, headers };
  }

  flush(): void {
    if (this.#isHeadOut || !this.#head) return;
    this.#isHeadOut = true;
    this.#resolve(new Response(this.#body(), this.#head));
  }

  async write(bytes: Buffer | string): Promise<void> {
    this.flush();
    this.#put(bytes);
    if (this.#pieces.length < UNREAD_MAX || this.#gone.signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#wakeWriter = resolve;
    });
  }

  end(bytes?: string): void {
    this.flush();
    if (bytes) this.#put(bytes);
    this.#finish('whole');
  }

  cut(reset: boolean): void {
    const cause = broken(this.isBegun ? 'UND_ERR_SOCKET' : 'ECONNRESET');
    if (!this.#isHeadOut) this.#reject(new TypeError('fetch failed', { cause }));
    if (reset) this.#pieces.length = 0;
    this.#finish(new TypeError('terminated', { cause }));
  }

  #put(bytes: Buffer | string): void {
    this.#pieces.push(typeof bytes === 'string' ? Buffer.from(bytes) : bytes);
    this.#wakeReader();
  }

  #finish(end: End): void {
    this.#end ??= end;
    this.#wakeReader();
  }

  #leave(reason: unknown): void {
    const wasWhole = this.#end !== undefined;
    this.#reject(reason);
    this.#pieces.length = 0;
    this.#finish(reason instanceof Error ? reason : new Error(String(reason)));
    this.#gone.abort();
    this.#wakeWriter();
    if (!wasWhole) this.#onLost();
  }

  #body(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          while (this.#pieces.length === 0 && this.#end === undefined) {
            await new Promise<void>((resolve) => {
              this.#wakeReader = resolve;
            });
          }
          const piece = this.#pieces.shift();
          this.#wakeWriter();
          if (piece) controller.enqueue(piece);
          else if (this.#end === 'whole') controller.close();
          else controller.error(this.#end);
        },
        cancel: (reason) => this.#leave(reason),
      },
      { highWaterMark: 0 },
    );
  }
}
