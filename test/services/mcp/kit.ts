/** Servers and contexts for the tests of external servers. */
import { mkdtempSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import type { HandleElicitation } from '../../../services/mcp/elicitation.ts';
import {
  ExternalServer,
  type ExternalServerOptions,
} from '../../../services/mcp/external-server.ts';
import type { StdioServer } from '../../../services/mcp/server-config.ts';
import type { Tool, ToolContext, ToolOutput } from '../../../services/tools/tool.ts';

const oddServer = fileURLToPath(new URL('odd-server.mjs', import.meta.url));
const resolve = createRequire(import.meta.url).resolve;
export const everythingFile = resolve('@modelcontextprotocol/server-everything/dist/index.js');
const filesystemFile = resolve('@modelcontextprotocol/server-filesystem/dist/index.js');

const program = (...args: readonly string[]): StdioServer => ({
  ...{ type: 'stdio', command: process.execPath, args, env: {} },
});
export const odd = (options: Readonly<Record<string, unknown>> = {}) =>
  program(oddServer, JSON.stringify(options));
export const everything = program(everythingFile, 'stdio');
export const filesystem = (...folders: readonly string[]) => program(filesystemFile, ...folders);

export const freshFolder = (): string => realpathSync(mkdtempSync(join(tmpdir(), 'mcp-')));

const open: ExternalServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

export interface Opened {
  readonly server: ExternalServer;
  readonly told: string[];
  readonly debug: string[];
}

/** Not connected yet. Closed when the test is over, unless several share it. */
export function serverFor(
  config: ExternalServerOptions['config'],
  {
    isShared = false,
    elicit,
    ...more
  }: Partial<ExternalServerOptions> & {
    readonly isShared?: boolean;
    readonly elicit?: HandleElicitation;
  } = {},
): Opened {
  const told: string[] = [];
  const debug: string[] = [];
  const cwd = freshFolder();
  const server = new ExternalServer({
    ...{ name: 'srv', config, cwd, env: process.env, clientVersion: '1' },
    grants: join(cwd, 'grants'),
    roots: () => [cwd],
    onDebug: (text) => debug.push(text),
    ...more,
  });
  server.listen((text) => told.push(text));
  if (elicit) server.answerBy(elicit);
  if (!isShared) open.push(server);
  return { server, told, debug };
}

export async function connected(
  ...args: Parameters<typeof serverFor>
): Promise<Opened & { readonly call: Call }> {
  const opened = serverFor(...args);
  await opened.server.connect();
  if (opened.server.status !== 'connected') throw new Error(opened.server.error);
  return { ...opened, call: (name, input, more) => call(opened.server, name, input, more) };
}

type Call = (
  name: string,
  input?: Readonly<Record<string, unknown>>,
  more?: Partial<ToolContext>,
) => Promise<ToolOutput>;

/** By the server's own name of the tool. A call that fails rejects, as the executor sees it. */
export async function call(
  server: { readonly tools: readonly Tool[] },
  name: string,
  input: Readonly<Record<string, unknown>> = {},
  more: Partial<ToolContext> = {},
): Promise<ToolOutput> {
  const tool = server.tools.find((one) => one.name.endsWith(`__${name}`) || one.name === name);
  if (!tool) throw new Error(`no tool ${name}`);
  return tool.call(input, context(more));
}

export const context = (more: Partial<ToolContext> = {}): ToolContext => ({
  sessionId: 's',
  toolUseId: 't1',
  idempotencyKey: 's:t1',
  cwd: '/',
  setCwd: () => {},
  additionalDirectories: [],
  resultsFolder: join(freshFolder(), 'results'),
  signal: new AbortController().signal,
  env: {},
  state: { get: (_, make) => make() },
  progress: () => {},
  ...more,
});

export const textOf = ({ content }: ToolOutput): string =>
  typeof content === 'string'
    ? content
    : content.map((block) => (block.type === 'text' ? block.text : `(${block.type})`)).join('\n');
