/** A session for the shell tools: real folders, real processes. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findMarked } from '../../../../services/tools/process/marks.ts';
import { type ShellToolsOptions, shellTools } from '../../../../services/tools/shell/index.ts';
import type { Tool, ToolContext, ToolOutput, ToolState } from '../../../../services/tools/tool.ts';

export interface ShellHarness {
  /** Project folder, links resolved. */
  readonly root: string;
  readonly resultsFolder: string;
  cwd: string;
  readonly gists: string[];
  run(tool: string, input: Record<string, unknown>, signal?: AbortSignal): Promise<Answer>;
  bash(command: string, input?: Record<string, unknown>, signal?: AbortSignal): Promise<Answer>;
  /** Pids of everything alive that was started here, whatever has become of its parents. */
  alive(): readonly number[];
  /** Ends the session, as its host does. */
  dispose(): Promise<void>;
  cleanUp(): Promise<void>;
}

export interface Answer {
  readonly text: string;
  readonly isError: boolean;
  readonly data: Record<string, unknown>;
}

export const shellHarness = async (options: ShellToolsOptions = {}): Promise<ShellHarness> => {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'escapement-shell-')));
  const tag = `shell-test-${randomUUID()}`;
  const tools = new Map(shellTools(options).map((tool) => [tool.name, tool]));
  const values = new Map<string, object>();
  const ends: (() => Promise<void>)[] = [];
  const state: ToolState = {
    get<T extends object>(key: string, make: () => T, dispose?: (value: T) => Promise<void>): T {
      const known = values.get(key);
      if (known) return known as T;
      const value = make();
      values.set(key, value);
      if (dispose) ends.push(() => dispose(value));
      return value;
    },
  };
  let calls = 0;
  const harness: ShellHarness = {
    root,
    resultsFolder: join(root, '.results'),
    cwd: root,
    gists: [],
    async run(name, input, signal = new AbortController().signal) {
      const tool = tools.get(name) as Tool;
      const parsed = await tool.parse(input);
      if (!parsed.ok) return { text: parsed.message, isError: true, data: {} };
      calls += 1;
      const context: ToolContext = {
        sessionId: 's',
        toolUseId: `toolu_${calls}`,
        idempotencyKey: `s:toolu_${calls}`,
        cwd: harness.cwd,
        setCwd: (cwd) => {
          harness.cwd = cwd;
        },
        additionalDirectories: [],
        resultsFolder: harness.resultsFolder,
        signal,
        env: { ...process.env, TEST_TAG: tag },
        state,
        progress: (gist) => harness.gists.push(gist),
      };
      const output: ToolOutput = await tool.call(parsed.input, context);
      return {
        text: output.content as string,
        isError: output.isError === true,
        data: (output.data ?? {}) as Record<string, unknown>,
      };
    },
    bash: (command, input = {}, signal) => harness.run('Bash', { command, ...input }, signal),
    alive: () => findMarked(`TEST_TAG=${tag}`).map(({ pid }) => pid),
    async dispose() {
      for (const end of ends.splice(0)) await end();
    },
    async cleanUp() {
      await harness.dispose();
      await rm(root, { recursive: true, force: true });
    },
  };
  return harness;
};
