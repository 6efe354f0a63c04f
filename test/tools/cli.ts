/** Starts the real `dist/cli.mjs` as a process, against a scripted server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ScriptedServer, startScriptedServer } from '../../src/testing/index.ts';
import type { Script } from '../../src/testing/script.ts';
import { failureFile } from './build.ts';
import { coverageFlags } from './chart-coverage.ts';

const cliFile = fileURLToPath(new URL('../../dist/cli.mjs', import.meta.url));

const builtAt = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** The built executable. Throws what the build said when there is none for these sources. */
export function cliPath(): string {
  const isNewerThanBuild = () => statSync(failureFile).mtimeMs > builtAt(cliFile);
  if (existsSync(failureFile) && isNewerThanBuild()) {
    throw new Error(readFileSync(failureFile, 'utf8').slice(-2_000));
  }
  return cliFile;
}

export type WireMessage = Readonly<Record<string, unknown>> & { readonly type: string };

export interface CliRun {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Lines of stdout as JSON; `undefined` for a line that is none. */
  readonly messages: readonly (WireMessage | undefined)[];
  readonly results: readonly WireMessage[];
}

/** A home, a working folder and a server of its own for one test; `close` removes all. */
export interface CliBox {
  readonly cwd: string;
  readonly home: string;
  readonly server: ScriptedServer;
  readonly env: NodeJS.ProcessEnv;
  start(args: readonly string[], env?: NodeJS.ProcessEnv): CliProcess;
  run(args: readonly string[], input?: string, env?: NodeJS.ProcessEnv): Promise<CliRun>;
  close(): Promise<void>;
}

export async function openCliBox(script: Script): Promise<CliBox> {
  const server = await startScriptedServer(script);
  const root = mkdtempSync(path.join(tmpdir(), 'escapement-cli-'));
  const [home, cwd] = [path.join(root, 'home'), path.join(root, 'work')];
  mkdirSync(home);
  mkdirSync(cwd);
  const env = {
    HOME: home,
    PATH: process.env.PATH,
    TERM: 'dumb',
    ANTHROPIC_BASE_URL: server.url,
    ANTHROPIC_API_KEY: 'dummy',
    ESCAPEMENT_HOME: path.join(home, '.escapement'),
    ESCAPEMENT_RETRY_BASE_MS: '5',
  };
  const children: CliProcess[] = [];
  const box: CliBox = {
    cwd,
    home,
    server,
    env,
    start(args, more = {}) {
      const child = new CliProcess(args, cwd, { ...env, ...more });
      children.push(child);
      return child;
    },
    run(args, input = '', more = {}) {
      const child = box.start(args, more);
      child.read();
      child.end(input);
      return child.ended;
    },
    async close() {
      for (const child of children) child.drop();
      await Promise.all(children.map(({ ended }) => ended));
      await server.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
  return box;
}

/** One process. Nothing is read from it before `read` is called: its pipe fills up. */
export class CliProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<CliRun>;
  #stdout = '';
  #stderr = '';
  #look: () => void = () => {};

  constructor(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
    const command = [...coverageFlags(), cliPath(), ...args];
    this.child = spawn(process.execPath, command, { cwd, env, stdio: 'pipe' });
    this.child.stdin?.on('error', () => {});
    // Without any listener Node throws away, at the exit, what nobody has read.
    this.child.stdout?.on('readable', () => {});
    this.child.stderr?.setEncoding('utf8').on('data', (part: string) => {
      this.#stderr += part;
    });
    this.ended = new Promise((resolve) => {
      this.child.on('close', (code, signal) => resolve(this.#run(code, signal)));
    });
  }

  get stdout(): string {
    return this.#stdout;
  }

  read(): void {
    this.child.stdout?.removeAllListeners('readable');
    this.child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      this.#stdout += part;
      this.#look();
    });
  }

  send(message: unknown): void {
    this.child.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  end(input = ''): void {
    this.child.stdin?.end(input);
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    if (this.child.exitCode === null) this.child.kill(signal);
  }

  /** Kills it, and does not wait for output that nobody has read. */
  drop(): void {
    this.kill();
    this.child.stdout?.destroy();
  }

  /** The first message so far, or to come, for which it holds. */
  async until(holds: (message: WireMessage) => boolean): Promise<WireMessage> {
    for (;;) {
      const found = messagesOf(this.#stdout).find((message) => message && holds(message));
      if (found) return found;
      const next = new Promise<void>((resolve) => {
        this.#look = resolve;
      });
      const ended = this.ended.then(({ stdout, stderr }) => {
        throw new Error(`ended before that message came\n${stdout}\n${stderr}`);
      });
      await Promise.race([next, ended]);
    }
  }

  #run(code: number | null, signal: NodeJS.Signals | null): CliRun {
    const messages = messagesOf(this.#stdout);
    const results = messages.filter((message) => message?.type === 'result') as WireMessage[];
    return { code, signal, stdout: this.#stdout, stderr: this.#stderr, messages, results };
  }
}

function messagesOf(text: string): readonly (WireMessage | undefined)[] {
  const lines = text.split('\n');
  // The last one is empty, or not whole yet.
  return lines.slice(0, -1).map((line) => {
    try {
      return JSON.parse(line) as WireMessage;
    } catch {
      return undefined;
    }
  });
}

/** Flags of a host that speaks JSON lines. */
export const streamFlags = [
  '--output-format',
  'stream-json',
  '--input-format',
  'stream-json',
  '--verbose',
  '--model=claude-sonnet-5-5',
  '--permission-mode=bypassPermissions',
  '--allow-dangerously-skip-permissions',
  '--setting-sources=',
] as const;

/** A `user` line. */
export const userLine = (content: unknown, uuid = crypto.randomUUID()) => ({
  type: 'user',
  uuid,
  message: { role: 'user', content },
  parent_tool_use_id: null,
  session_id: '',
});

/** Whether a process is alive; a zombie that nobody reaps is not. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
