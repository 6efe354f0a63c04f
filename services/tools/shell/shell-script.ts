/**
 * The words around a command: one stream for all output, and the folder in which it ends. Neither
 * its exit code nor its output is touched.
 */

/**
 * Where the shell writes its last folder. Two digits that nobody uses by hand: scripts take 3 to 9,
 * bash itself counts up from 10 and down from 63.
 */
const FOLDER_DESCRIPTOR = 43;

/**
 * stderr joins stdout in the kernel: two pipes would lose the order of the lines. The trap runs at
 * every ending but SIGKILL and `exec`, keeps the exit code, and is not inherited by subshells.
 */
const PRELUDE =
  `exec 2>&1 ${FOLDER_DESCRIPTOR}>&3 3>&-; ` +
  `trap 'builtin pwd -P 2>/dev/null >&${FOLDER_DESCRIPTOR}' EXIT`;

/**
 * Arguments for bash. The command stands on lines of its own, so that a comment, an open quote or a
 * here-document in it ends where it would end alone, and a complaint of bash quotes only it.
 */
export const shellArguments = (command: string): readonly string[] => [
  '-c',
  `${PRELUDE}\n${command}`,
];

/** A path is at most 4,096 bytes. */
const PATH_BYTES_MAX = 4_096;

/** Reads what the trap has written. */
export class FolderReport {
  #bytes = Buffer.alloc(0);

  push(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes]).subarray(0, PATH_BYTES_MAX + 1);
  }

  /** Absolute, links resolved; `undefined`: not told (killed, replaced itself, folder gone). */
  get folder(): string | undefined {
    const text = this.#bytes.toString('utf8').replace(/\n$/, '');
    return text.startsWith('/') ? text : undefined;
  }
}
