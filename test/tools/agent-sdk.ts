/**
 * The official Agent SDK, for tests that drive our executable as its users will. It is no
 * dependency: its licence is its own, and only tests need it. JavaScript only, installed once into
 * a cache folder outside of the checkout.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

export const AGENT_SDK_VERSION = '0.3.332';

/** What the tests use of it. Typed loosely: it is the other side of the wire. */
export interface AgentSdk {
  query(parameters: {
    prompt: string | AsyncIterable<unknown>;
    options: Record<string, unknown>;
  }): AgentQuery;
  createSdkMcpServer(options: { name: string; version: string; tools: unknown[] }): unknown;
  tool(
    name: string,
    description: string,
    shape: Record<string, unknown>,
    handler: (input: Record<string, unknown>) => Promise<unknown>,
    extras?: Record<string, unknown>,
  ): unknown;
  z: { string(): unknown };
}
export interface AgentQuery extends AsyncGenerator<Record<string, unknown>, void> {
  interrupt(): Promise<unknown>;
  setModel(model?: string): Promise<void>;
  setPermissionMode(mode: string): Promise<unknown>;
  initializationResult(): Promise<Record<string, unknown>>;
  mcpServerStatus(): Promise<unknown>;
}

/** Installs it if needed and loads it. */
export async function loadAgentSdk(): Promise<AgentSdk> {
  const folder =
    process.env.ESCAPEMENT_ACCEPT_SDK ??
    path.join(os.tmpdir(), `escapement-accept-sdk-${AGENT_SDK_VERSION}`);
  const main = path.join(folder, 'node_modules', '@anthropic-ai', 'claude-agent-sdk', 'sdk.mjs');
  if (!existsSync(main)) install(folder);
  const require = createRequire(path.join(folder, 'package.json'));
  const load = (name: string) => import(pathToFileURL(require.resolve(name)).href);
  const [{ query, createSdkMcpServer, tool }, { z }] = await Promise.all([
    load('@anthropic-ai/claude-agent-sdk'),
    load('zod'),
  ]);
  return { query, createSdkMcpServer, tool, z } as AgentSdk;
}

function install(folder: string): void {
  const work = `${folder}.${process.pid}`;
  mkdirSync(work, { recursive: true });
  const packages = [
    `@anthropic-ai/claude-agent-sdk@${AGENT_SDK_VERSION}`,
    'zod@^4',
    '@anthropic-ai/sdk',
    '@modelcontextprotocol/sdk',
  ];
  const flags = ['--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
  execFileSync('npm', ['install', '--prefix', work, ...flags, ...packages], { stdio: 'pipe' });
  try {
    renameSync(work, folder);
  } catch {
    rmSync(work, { recursive: true, force: true }); // another process was first
  }
}
