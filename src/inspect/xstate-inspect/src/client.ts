/** One tool that looks on, at the other end of a socket. */
import type { WebSocket } from 'ws';

/** Above this the other end reads more slowly than we speak. */
const BEHIND_BYTES = 8_000_000;
/** So many messages wait for it; then it is let go. */
const WAITING_MAX = 2_000;

/**
 * *Contract:* never waits and never throws. To one that is behind only what is newest is kept: each
 * state is whole, so those in between are no loss.
 */
export class Client {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<string, string>();

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** @param key a message takes the place of an older one of the same key that still waits. */
  send(message: string, key: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount < BEHIND_BYTES && this.#waiting.size === 0) {
      this.#write(message);
      return;
    }
    this.#waiting.set(key, message);
    if (this.#waiting.size > WAITING_MAX) this.#socket.terminate();
  }

  #write(message: string): void {
    this.#socket.send(message, () => this.#goOn());
  }

  #goOn(): void {
    for (const [key, message] of this.#waiting) {
      if (this.#socket.readyState !== this.#socket.OPEN) return;
      if (this.#socket.bufferedAmount >= BEHIND_BYTES) return;
      this.#waiting.delete(key);
      this.#write(message);
    }
  }
}
