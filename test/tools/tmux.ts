/** A real terminal for tests: the CLI in a pane of tmux, with a server of its own. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { isAlive } from './cli.ts';

const run = promisify(execFile);
const POLL_MS = 25;
/** Far above what anything takes on a loaded machine: only a hang gets there. */
const PATIENCE_MS = 15_000;
const AFTER_EXIT_MS = 500;

/** What is wrong with tmux here; `undefined`: it can be used. */
export const tmuxProblem: string | undefined = (() => {
  try {
    execFileSync('tmux', ['-V'], { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    return `tmux cannot be run (apt-get install tmux): ${(error as Error).message}`;
  }
})();

export interface PaneParts {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly command: readonly string[];
  readonly columns?: number;
  readonly rows?: number;
}

/** One pane on a tmux server of its own. */
export class Pane {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'escapement-tmux-'));
  readonly #socket = path.join(this.#folder, 'socket');

  readonly #recording = path.join(this.#folder, 'bytes');

  static async open(parts: PaneParts): Promise<Pane> {
    const pane = new Pane();
    const { columns = 100, rows = 40 } = parts;
    const assignments = Object.entries(parts.env).map(([name, value]) => `${name}=${value ?? ''}`);
    // The shell stays behind the command, so that its exit code and the state of the terminal show.
    // Ctrl-C at a dumb terminal is a signal for both.
    const script =
      'trap : INT; "$@"; echo "[exit $?]"; stty -a | tr " ;" "\\n\\n" | grep -x -e -\\\\?icanon -e -\\\\?echo; cat';
    await pane.#tmux(
      ...['-f', '/dev/null', 'new-session', '-d', '-x', `${columns}`, '-y', `${rows}`],
      ...['-c', parts.cwd, 'env', '-i', ...assignments],
      ...['sh', '-c', script, 'sh', ...parts.command],
      ...[';', 'pipe-pane', `cat > ${pane.#recording}`],
    );
    return pane;
  }

  /** Text as if it were typed, without Enter. */
  async type(text: string): Promise<void> {
    await this.#tmux('send-keys', '-l', '--', text);
  }

  /** Keys by tmux's names: `Enter`, `C-c`, `Up`, `M-Enter`. */
  async press(...keys: readonly string[]): Promise<void> {
    await this.#tmux('send-keys', ...keys);
  }

  async say(text: string): Promise<void> {
    await this.type(text);
    await this.press('Enter');
  }

  /** As from a clipboard; bracketed when the program has asked for that. */
  async paste(text: string): Promise<void> {
    const child = run('tmux', ['-S', this.#socket, 'load-buffer', '-']);
    child.child.stdin?.end(text);
    await child;
    await this.#tmux('paste-buffer', '-p');
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux('resize-window', '-x', `${columns}`, '-y', `${rows}`);
  }

  /** What has been shown so far and what is shown now; wrapped lines are joined. */
  async text(): Promise<string> {
    return this.#tmux('capture-pane', '-p', '-J', '-S', '-');
  }

  /** What was written to the terminal, escape sequences and all. */
  bytes(): string {
    return readFileSync(this.#recording, 'utf8');
  }

  /** Waits until this is to be read. @returns the text then. */
  async until(expected: RegExp | string): Promise<string> {
    let deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const text = await this.text();
      // Nothing more comes from a process that has ended.
      if (text.includes('\n[exit ')) deadline = Math.min(deadline, Date.now() + AFTER_EXIT_MS);
      const found = typeof expected === 'string' ? text.includes(expected) : expected.test(text);
      if (found) return text;
      if (Date.now() > deadline) throw new Error(`${expected} was never shown:\n${text}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** The process that was started, as long as it runs. */
  async pid(): Promise<number> {
    const shell = (await this.#tmux('display-message', '-p', '#{pane_pid}')).trim();
    const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', shell]);
    return Number(stdout.trim().split(/\s+/)[0]);
  }

  /** Closes the terminal (SIGHUP) and waits for the process: it may still write its last words. */
  async close(): Promise<void> {
    const pid = await this.pid().catch(() => 0);
    await this.#tmux('kill-server').catch(() => {});
    while (pid > 0 && isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #tmux(...args: readonly string[]): Promise<string> {
    const { stdout } = await run('tmux', ['-S', this.#socket, ...args]);
    return stdout;
  }
}
