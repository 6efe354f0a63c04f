/**
 * No request hangs. A stream may stop sending and stay open, send pings for ever, or drip: the SDK
 * knows no limit for any of these (its `timeout` ends with the headers), and it hides pings, so
 * bytes are watched below it (`watchBytes`) and events above it (`Watchdog`).
 */
import { LONGEST_MS } from '../../machines/limits.ts';
import type { FailureClass } from '../../machines/state.ts';

/** All in ms. */
export interface WatchLimits {
  /** Until the headers of the answer. */
  readonly headersMs: number;
  /**
   * Without a byte, pings counted as life. 0: off, and `quietMs` with it. Needs `watchBytes`, so
   * it holds for our own client only. Node itself ends a body after 300 s of silence.
   */
  readonly idleMs: number;
  /**
   * Without an event: only pings. For a client that a host injects this is the only limit of the
   * kind, since neither its bytes nor its pings can be seen.
   */
  readonly quietMs: number;
  /** The whole request: ends an endless drip. */
  readonly requestMs: number;
}

export const defaultWatchLimits: WatchLimits = {
  headersMs: 120_000,
  // Above the API's own ping interval many times over; below the patience of a person.
  idleMs: 90_000,
  quietMs: 300_000,
  requestMs: 30 * 60_000,
};

/** Ours, so that the classifier need not guess. */
export class WatchError extends Error {
  override readonly name = 'WatchError';
  readonly failureClass: FailureClass;
  constructor(failureClass: FailureClass, message: string) {
    super(message);
    this.failureClass = failureClass;
  }
}

/** The host said stop. Not a failure; `call-model.ts` tells it apart by the signal. */
export class Aborted extends Error {
  override readonly name = 'AbortError';
}

/**
 * Watches one request. One listener on the host's signal, removed by `stop`; one timer at a time,
 * none between waits, so that a slow consumer is never taken for a dead server.
 */
export class Watchdog {
  readonly #host: AbortSignal;
  readonly #own = new AbortController();
  readonly #endsAtMs: number;
  readonly #requestMs: number;
  #reject: ((error: Error) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #onAbort = () => this.#fail(new Aborted('aborted by the host'));

  constructor(requestMs: number, host: AbortSignal) {
    this.#host = host;
    this.#requestMs = requestMs;
    this.#endsAtMs = performance.now() + requestMs;
    host.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** For the client: aborted with the host's, and when a limit is passed. Closes the socket. */
  get signal(): AbortSignal {
    return this.#own.signal;
  }

  /**
   * The promise's outcome, or the first limit that is passed. A promise that loses is never an
   * unhandled rejection. One wait at a time.
   * @param limitMs 0: only the limit of the whole request.
   */
  wait<T>(promise: PromiseLike<T>, limitMs: number, late: () => WatchError): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#reject = reject;
      const leftMs = Math.max(0, this.#endsAtMs - performance.now());
      const isLast = limitMs === 0 || leftMs <= limitMs;
      const fail = () => this.#fail(isLast ? this.#overdue() : late());
      this.#timer = setTimeout(fail, Math.min(isLast ? leftMs : limitMs, LONGEST_MS));
      if (this.#host.aborted) this.#onAbort();
      promise.then(
        (value) => {
          this.#rest();
          resolve(value);
        },
        (error: unknown) => {
          this.#rest();
          reject(error);
        },
      );
    });
  }

  /** @param isDone the stream ended by itself: its connection can be used again. */
  stop(isDone: boolean): void {
    this.#host.removeEventListener('abort', this.#onAbort);
    if (!isDone) this.#own.abort();
  }

  #overdue(): WatchError {
    return new WatchError('timeout', `the request took longer than ${this.#requestMs / 1_000} s`);
  }

  #fail(error: Error): void {
    const reject = this.#reject;
    this.#rest();
    this.#own.abort(error);
    reject?.(error);
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#reject = undefined;
  }
}

/**
 * Bytes of one event of a stream. The largest answer is far below; without a bound a server that
 * forgets its newlines fills our memory until the process ends.
 */
const EVENT_BYTES_MAX = 32 * 1024 * 1024;

/**
 * A `fetch` whose bodies fail when no byte comes for `idleMs` (0: never), and when an event has no
 * end. Pulls only when it is pulled: it adds no buffer, and the time in which nobody reads does not
 * count.
 */
export function watchBytes(
  fetch: typeof globalThis.fetch,
  idleMs: number,
  eventBytesMax = EVENT_BYTES_MAX,
): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!response.body) return response;
    const { status, statusText, headers } = response;
    const body = watched(response.body, idleMs, eventBytesMax);
    return new Response(body, { status, statusText, headers });
  };
}

function watched(
  body: ReadableStream<Uint8Array>,
  idleMs: number,
  eventBytesMax: number,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const measure = eventMeter(eventBytesMax);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await nextWithin(reader, idleMs);
          if (done) return controller.close();
          measure(value);
          controller.enqueue(value);
        } catch (error) {
          controller.error(error);
          reader.cancel(error).catch(() => {});
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Events end with an empty line. @returns looks at the next bytes; throws when one is too long. */
function eventMeter(bytesMax: number): (bytes: Uint8Array) => void {
  let event = 0;
  let line = 0;
  return (bytes) => {
    let from = 0;
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, from)) {
      line += at - from - (bytes[at - 1] === RETURN ? 1 : 0);
      event = line <= 0 ? 0 : event + line;
      line = 0;
      from = at + 1;
    }
    line += bytes.length - from;
    if (event + line <= bytesMax) return;
    throw new WatchError(
      'protocol',
      `an event of the stream has more than ${Math.round(bytesMax / 1_048_576)} MB and no end: ` +
        'the server is no Messages API, or broken (check ANTHROPIC_BASE_URL)',
    );
  };
}

function nextWithin(reader: ReadableStreamDefaultReader<Uint8Array>, idleMs: number) {
  return new Promise<Awaited<ReturnType<typeof reader.read>>>((resolve, reject) => {
    const late = () =>
      reject(new WatchError('stalled', `the stream sent nothing for ${idleMs / 1_000} s`));
    const timer = idleMs > 0 ? setTimeout(late, Math.min(idleMs, LONGEST_MS)) : undefined;
    reader
      .read()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
