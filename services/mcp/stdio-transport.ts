/**
 * A server as a child process. The SDK has a transport for this, too; it starts the server in our
 * own process group and signals the direct child only, so `npx` and shells leave servers behind
 * (case MCP-07: 1,073 of them on one machine).
 */
import { randomUUID } from 'node:crypto';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { guardAtExit } from '../tools/process/exit-guard.ts';
import { type GroupEnd, type ProcessGroup, spawnGroup } from '../tools/process/spawn-group.ts';
import { createJsonLines } from './json-lines.ts';

/** The protocol's polite way: stdin is closed, and a server that listens goes by itself. */
const STDIN_GRACE_MS = 300;
/** From SIGTERM to SIGKILL. */
const TERM_GRACE_MS = 1_000;
/** What a server has not read yet. One that never reads must not fill our memory. */
const UNREAD_BYTES_MAX = 64 << 20;
/** Of stderr, for whoever looks for the fault; a server may log for days. */
const STDERR_BYTES_MAX = 64 << 10;

export interface StdioTransportOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** All of it: nothing is added but the mark. */
  readonly env: Readonly<Record<string, string>>;
  /** Lines of stderr, and of stdout that are no messages; at most 64 KiB in all. */
  readonly onDebug: (text: string) => void;
}

/**
 * *Contract:* `start` rejects when the program cannot be started. After `close` nothing of its
 * process group, and nothing that carries its mark, is alive. When our process ends without a
 * `close`, all of it is killed on the way out; after kill -9 of ours its stdin is closed.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #options: StdioTransportOptions;
  readonly #mark = randomUUID();
  #group: ProcessGroup | undefined;
  #end: GroupEnd | undefined;
  /** Why we have ended it ourselves. */
  #fault: string | undefined;
  #letGo: () => void = () => {};
  #closing: Promise<void> | undefined;
  #stderrBytesLeft = STDERR_BYTES_MAX;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
  }

  /** How it ended, in words; `undefined` while it runs. */
  get ending(): string | undefined {
    return this.#end && (this.#fault ?? wordsOf(this.#end));
  }

  async start(): Promise<void> {
    if (this.#group) throw new Error('the transport was started before');
    const { command, args, cwd, env } = this.#options;
    const hearOutput = createJsonLines({
      onMessage: (message) => this.#hear(message as unknown as JSONRPCMessage),
      onNoise: (line) => this.#debug('(no message) ', line),
      onFlood: (why) => this.#giveUp(why),
    });
    this.#letGo = guardAtExit(this.#mark);
    const group = spawnGroup({
      ...{ program: command, args, cwd, env, mark: this.#mark, leftovers: 'close' },
      keepsStdinOpen: true,
      onData: (stream, bytes) => {
        if (stream === 'stdout') hearOutput(bytes);
        else this.#debug('', bytes);
        // A server may print faster than we read: timers, signals and the others come in between.
        return eventLoopTurn();
      },
    });
    this.#group = group;
    void group.ended.then((end) => this.#ended(group, end));
    if (group.pid > 0) return;
    const end = await group.ended;
    throw new Error(wordsOf(end));
  }

  /** What a server says must not end us, whatever the SDK makes of it. */
  #hear(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** It only costs time. What it prints on is read by nobody, so that its next write fails. */
  #giveUp(why: string): void {
    this.#fault ??= why;
    this.#group?.release();
    void this.#group?.stop(TERM_GRACE_MS);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#group?.stdin;
    if (!stdin?.writable || this.#end) throw new Error('Not connected');
    // Not waited for: a server that does not read is ended by the deadline of the call.
    if (stdin.writableLength > UNREAD_BYTES_MAX) throw new Error('the server reads no messages');
    stdin.write(`${JSON.stringify(message)}\n`);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const group = this.#group;
    if (!group) return;
    group.stdin?.end();
    if (!this.#end) await Promise.race([group.ended, pause(STDIN_GRACE_MS)]);
    // Also after a polite end: what it has started may not know of it.
    await group.stop(TERM_GRACE_MS);
    group.release();
    await group.ended;
    this.#letGo();
  }

  #ended(group: ProcessGroup, end: GroupEnd): void {
    this.#end = end;
    this.onclose?.();
    // A wrapper that is gone may have left the server itself, which nobody can reach any more.
    void group.stop(TERM_GRACE_MS).then(() => this.#letGo());
  }

  #debug(kind: string, said: string | Buffer): void {
    if (this.#stderrBytesLeft <= 0) return;
    const text = said.toString('utf8');
    this.#stderrBytesLeft -= text.length;
    this.#options.onDebug(`${kind}${text.trimEnd()}`);
  }
}

const eventLoopTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });

function wordsOf(end: GroupEnd): string {
  switch (end.how) {
    case 'exited':
      return `exit code ${end.code}`;
    case 'signalled':
      return `ended by ${end.signal}`;
    case 'failed':
      return end.detail;
    case 'timedOut':
    case 'aborted':
      return 'stopped';
  }
}
