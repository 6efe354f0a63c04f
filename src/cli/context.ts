/** What the run modes of the CLI get from the process. */
import { messageOf } from '../../services/message-of.ts';
import type { QueryEngine } from '../query-engine.ts';
import type { LineWriter } from './stdout.ts';

export interface CliContext {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stdinIsTTY: boolean;
  readonly out: LineWriter;
  /** One line for people, on stderr. stdout belongs to the messages. */
  readonly warn: (text: string) => void;
  /** The same, only with `--debug`. */
  readonly debug: (text: string) => void;
  /** Told of each engine before its first turn: `--inspect`. */
  readonly onEngine?: (engine: QueryEngine) => void;
}

/** Exit codes that are no signal. */
export const exitCodes = { good: 0, failed: 1, usage: 2 } as const;

/**
 * 8 MiB of text: no window holds more than a million tokens (about 4 MB), so a longer prompt is a
 * file in the wrong place. Refused before anything is sent or written.
 */
export const PROMPT_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Ends a session after its last result. The exit code is the result's: what fails now is said, and
 * changes nothing about what the host was told.
 */
export async function closeEngine(engine: QueryEngine, { warn }: CliContext): Promise<void> {
  try {
    await engine.close();
  } catch (error) {
    warn(`the session did not end cleanly: ${messageOf(error)}`);
  }
}
