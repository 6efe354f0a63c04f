/** A folder of its own for each test, and tools called as the executor calls them. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { fileTools } from '../../../../services/tools/files/index.ts';
import type {
  Tool,
  ToolContext,
  ToolInput,
  ToolOutput,
  ToolState,
} from '../../../../services/tools/tool.ts';

export const toolState = (): ToolState => {
  const values = new Map<string, object>();
  return {
    get: <T extends object>(key: string, make: () => T): T => {
      const value = (values.get(key) as T | undefined) ?? make();
      values.set(key, value);
      return value;
    },
  };
};

let calls = 0;
export const contextIn = (cwd: string, over: Partial<ToolContext> = {}): ToolContext => {
  calls += 1;
  return {
    sessionId: 'session',
    toolUseId: `toolu_${calls}`,
    idempotencyKey: `session:toolu_${calls}`,
    cwd,
    setCwd: () => undefined,
    additionalDirectories: [],
    resultsFolder: path.join(cwd, '.results'),
    signal: new AbortController().signal,
    env: { PATH: process.env.PATH },
    state: toolState(),
    progress: () => undefined,
    ...over,
  };
};

export interface Box {
  readonly cwd: string;
  /** Writes a file, its folders too; the absolute path. */
  put(name: string, content: string | Buffer): string;
  /** Parses and calls a tool; every call has an id of its own, the state is the box's. */
  call(tool: string, input: ToolInput, over?: Partial<ToolContext>): Promise<ToolOutput>;
  /** The same, as text; fails when the output is an error. */
  ok(tool: string, input: ToolInput, over?: Partial<ToolContext>): Promise<string>;
  /** The same, when it must be an error. */
  fails(tool: string, input: ToolInput, over?: Partial<ToolContext>): Promise<string>;
}

const tools = new Map<string, Tool>(fileTools().map((tool) => [tool.name, tool]));

export const box = (): Box => {
  const cwd = realpathSync(mkdtempSync(path.join(tmpdir(), 'escapement-files-')));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const state = toolState();
  const call: Box['call'] = async (name, input, over) => {
    const tool = tools.get(name);
    if (!tool) throw new Error(`no tool ${name}`);
    const parsed = await tool.parse(input);
    if (!parsed.ok) return { content: parsed.message, isError: true };
    return tool.call(parsed.input, contextIn(cwd, { state, ...over }));
  };
  const textOf = async (isError: boolean, ...args: Parameters<Box['call']>): Promise<string> => {
    const output = await call(...args);
    const text = textIn(output);
    if ((output.isError ?? false) !== isError) throw new Error(`isError ${!isError}: ${text}`);
    return text;
  };
  return {
    cwd,
    put: (name, content) => {
      const file = path.join(cwd, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    call,
    ok: (...args) => textOf(false, ...args),
    fails: (...args) => textOf(true, ...args),
  };
};

export const textIn = ({ content }: ToolOutput): string =>
  typeof content === 'string' ? content : JSON.stringify(content);

/** A named pipe: who opens it for reading waits for a writer. */
export const putFifo = (file: string): void => {
  execFileSync('/bin/sh', ['-c', 'mkfifo "$1"', 'sh', file]);
};

/** Half of a surrogate pair anywhere would have the request refused. */
export const isWellFormed = (text: string): boolean =>
  !/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text);
