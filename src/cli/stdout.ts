/** What the host reads: whole lines, in order, and never faster than it takes them. */
import type { Writable } from 'node:stream';
import { messageOf } from '../../services/message-of.ts';

/** Codes of errors that mean that nobody reads any more. */
const reasonsToLeave: ReadonlySet<unknown> = new Set([
  'EPIPE',
  'ECONNRESET',
  'ERR_STREAM_DESTROYED',
]);

/**
 * Writes lines to a pipe that may be slow, full or gone.
 *
 * *Contract:* lines appear in the order of the calls, whoever calls. `write` resolves when there is
 * room for more, so a caller that awaits it makes the producer wait instead of memory grow. After
 * the reader has gone every call resolves at once and does nothing: there is nobody to tell.
 */
export interface LineWriter {
  /** One JSON line. */
  write(message: unknown): Promise<void>;
  /** Text as it is; the caller ends its lines. */
  writeText(text: string): Promise<void>;
  /** Resolves when the pipe has taken everything. Only then may the process exit. */
  flush(): Promise<void>;
  /** Aborted when nobody reads any more (EPIPE and its kin). */
  readonly gone: AbortSignal;
  /**
   * Why what was written is nowhere (a full disk); `undefined` also when the reader has left: then
   * it has had enough, as in `| head`.
   */
  readonly lost: string | undefined;
  /** A terminal obeys what it is sent: texts of others go through `printable` first. */
  readonly isTTY: boolean;
  /** When the last line was handed over; milliseconds of `performance.now()`. */
  readonly lastWriteAt: number;
}

/** A line writer on a stream. It takes over the stream's errors: they mean that the reader left. */
export function createLineWriter(stream: Writable): LineWriter {
  const gone = new AbortController();
  let waiting: Promise<void> | undefined;
  let lastWriteAt = performance.now();
  // An 'error' without a listener would kill the process with a stack trace, for a closed pipe.
  stream.on('error', (error) => gone.abort(error));
  stream.on('close', () => gone.abort(new Error('the output was closed')));

  const roomAgain = (): Promise<void> => {
    waiting ??= new Promise<void>((resolve) => {
      const done = () => {
        stream.off('drain', done);
        gone.signal.removeEventListener('abort', done);
        waiting = undefined;
        resolve();
      };
      stream.once('drain', done);
      gone.signal.addEventListener('abort', done);
    });
    return waiting;
  };

  const writeText = async (text: string): Promise<void> => {
    if (gone.signal.aborted) return;
    lastWriteAt = performance.now();
    if (!stream.write(text)) await roomAgain();
  };

  return {
    write: (message) => writeText(`${JSON.stringify(message)}\n`),
    writeText,
    flush: () =>
      new Promise<void>((resolve) => {
        if (gone.signal.aborted) return resolve();
        gone.signal.addEventListener('abort', () => resolve(), { once: true });
        // Writes are called back in order: the empty one returns when all before it are through.
        stream.write('', () => resolve());
      }),
    gone: gone.signal,
    get lost() {
      const { reason } = gone.signal;
      const hasLeft = reason?.code === undefined || reasonsToLeave.has(reason.code);
      return gone.signal.aborted && !hasLeft ? messageOf(reason) : undefined;
    },
    isTTY: 'isTTY' in stream && stream.isTTY === true,
    get lastWriteAt() {
      return lastWriteAt;
    },
  };
}
