/**
 * What a tool is. Built-in tools, tools of MCP servers and tools of a host are the same to the
 * executor.
 */
import type { AgentRunner } from '../agents/agent-runner.ts';
import type { ToolResultContent } from '../messages.ts';
import type { SandboxPolicy } from '../sandbox/sandbox.ts';

export type ToolInput = Readonly<Record<string, unknown>>;
/** As the API wants it: `type: 'object'`, nothing combined at the top. */
export interface InputSchema {
  readonly type: 'object';
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly [key: string]: unknown;
}

/** What a call would touch, for the permission rules. Judged on the input, before it runs. */
export type Touches =
  /** Real paths are worked out by the permission service; these are as the model gave them. */
  | { readonly kind: 'read'; readonly paths: readonly string[] }
  | { readonly kind: 'edit'; readonly paths: readonly string[] }
  | { readonly kind: 'shell'; readonly command: string }
  | { readonly kind: 'fetch'; readonly url: string }
  /** Nothing outside of the session: todos, a plan. */
  | { readonly kind: 'nothing' }
  /** Nobody knows: it asks. */
  | { readonly kind: 'unknown' };

export type ParsedInput =
  | { readonly ok: true; readonly input: ToolInput }
  /** Names each missing, unexpected or wrong parameter in words that the model can act on. */
  | { readonly ok: false; readonly message: string };

/** What a tool gives back. */
export interface ToolOutput {
  /** Empty is fine: the executor says "(no output)". */
  readonly content: string | readonly ToolResultContent[];
  readonly isError?: boolean;
  /** Structured twin for the host: a diff, an exit code, a list of files. Plain JSON. */
  readonly data?: unknown;
}

/** What a tool is given. Everything that can change between calls is read when it is needed. */
export interface ToolContext {
  readonly sessionId: string;
  readonly toolUseId: string;
  /** For tools that can make a repeated call harmless: `<session>:<tool_use_id>`. */
  readonly idempotencyKey: string;
  /** Working folder of the session, absolute. The process's own never changes. */
  readonly cwd: string;
  /** A shell that ends in another folder moves the session there. */
  setCwd(cwd: string): void;
  /** More folders that count as inside. */
  readonly additionalDirectories: readonly string[];
  /** Folder of the session for results that are too long; made on first use, 0700. */
  readonly resultsFolder: string;
  /** Aborted by the host, by the deadline or by the end of the query. Stop all work at once. */
  readonly signal: AbortSignal;
  /** Environment for child processes. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Anything that must outlive a call: read files, shells, todos. One for each session. */
  readonly state: ToolState;
  /**
   * For tools that find files by themselves: may this one (absolute, or relative to `cwd`) be
   * shown? Absent: no rule hides any.
   */
  readonly mayRead?: (path: string) => Promise<boolean>;
  /** The fence around shell commands. Absent: there is none. */
  readonly sandbox?: SandboxPolicy;
  /** Something to show while a long call runs (`tool_progress`). */
  progress(gist: string): void;
  /**
   * For a tool that lets a person be asked in the middle of a call: while `ask` is open, the host is
   * told who is waited for, and the clocks stand still (the call's deadline, the turn's). It ends as
   * `ask` does. Absent where nobody keeps these clocks.
   */
  whilePersonIsAsked?<T>(ask: () => Promise<T>): Promise<T>;
  /** Who works on tasks that are given away. Absent where nothing may be delegated any more. */
  readonly agents?: AgentRunner;
}

/** Session-wide state of tools, by key, made on first use. `dispose` runs at the session's end. */
export interface ToolState {
  get<T extends object>(key: string, make: () => T, dispose?: (value: T) => Promise<void>): T;
}

export interface Tool {
  /** `^[a-zA-Z0-9_-]{1,64}$`. */
  readonly name: string;
  /** What the model reads. */
  readonly description: string;
  readonly inputSchema: InputSchema;
  /** Results above this go to a file; `Infinity`: never (a Read of a Read would go in circles). */
  readonly maxResultSizeChars: number;
  /** Of an MCP server: always asks unless a rule allows it. */
  readonly isExternal?: boolean;
  /** Strict: unknown parameters are refused. */
  parse(input: unknown): Promise<ParsedInput> | ParsedInput;
  /** May it run beside others? Judged for each input, `false` when in doubt. */
  isConcurrencySafe(input: ToolInput): boolean;
  /** Does it change nothing? Only such a call may be run again after a crash. */
  isReadOnly(input: ToolInput): boolean;
  touches(input: ToolInput): Touches;
  /** After this the call is answered with an error; the executor aborts it. */
  deadlineMs(input: ToolInput): number;
  /** A few words for people: `src/a.ts`, `npm test`. */
  gist(input: ToolInput): string;
  /** *Contract:* errors of operation are outputs with `isError`; a throw is shown as such, too. */
  call(input: ToolInput, context: ToolContext): Promise<ToolOutput>;
}
