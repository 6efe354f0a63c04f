/** How an answer leaves the scripted API, whatever carries it. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/** A request as it came in. */
export interface Incoming {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** `too_long`: more than is read. */
  readonly body: Buffer | 'too_long';
}

/** What an answer is written to. *Contract:* nothing throws when the client has gone. */
export interface Outlet {
  /** The headers are out: there is no other status any more. */
  readonly isBegun: boolean;
  begin(status: number, headers: Readonly<Record<string, string>>): void;
  /** The headers go out now, also when no body follows. */
  flush(): void;
  /** Resolves when there is room for more: an endless stream must not fill memory. */
  write(bytes: Buffer | string): Promise<void>;
  end(bytes?: string): void;
  /**
   * Breaks the connection. Without `reset` all that was written arrives first, so that a test sees
   * the same bytes each time.
   */
  cut(reset: boolean): void;
}

/** An answer over HTTP. */
export function httpOutlet(response: ServerResponse): Outlet {
  const closed = new AbortController();
  response.on('close', () => closed.abort());
  return {
    get isBegun() {
      return response.headersSent;
    },
    begin: (status, headers) => void response.writeHead(status, headers),
    flush: () => response.flushHeaders(),
    write: async (bytes) => {
      if (response.destroyed || response.write(bytes)) return;
      await once(response, 'drain', { signal: closed.signal }).catch(() => {});
    },
    end: (bytes) => void response.end(bytes),
    cut: (reset) => {
      const { socket } = response;
      if (!response.headersSent) socket?.destroy();
      else if (reset) socket?.resetAndDestroy();
      else {
        // newer releases of Node keep what was written in this turn of the event loop to themselves
        while (response.writableCorked > 0) response.uncork();
        socket?.destroySoon();
      }
    },
  };
}
