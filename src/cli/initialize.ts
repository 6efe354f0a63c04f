/** The host's first word: what its `initialize` request means in terms of our options. */

import type { HookCallbackMatcher } from '../../services/hooks/callbacks.ts';
import { type HookEvent, hookEvents } from '../../services/hooks/types.ts';
import type { AgentDefinition } from '../config.ts';
import type { Options } from '../options.ts';
import { type ControlBody, type Fields, isFields } from './control.ts';

/** What a host says about one of its in-process servers, so that nobody has to ask for it. */
export interface ServerManifest {
  readonly initializeResult: Fields;
  readonly toolsListResult?: Fields;
}

export interface InitializeRequest {
  /** Fields of `Options` that the host named. They win over the command line. */
  readonly options: Partial<Options>;
  /** Names of its in-process MCP servers, with their manifest where it came along. */
  readonly servers: ReadonlyMap<string, ServerManifest | undefined>;
  /** Servers by configuration, when the host does not want them on a command line. */
  readonly mcpServers: Readonly<Record<string, unknown>> | undefined;
  /** What the answer must confirm, or else the host ends the session. */
  readonly confirmations: Readonly<Record<string, boolean>>;
  /** What was asked for and is not there. */
  readonly warnings: readonly string[];
}

/**
 * The official SDK sends `['']` for a host that names no system prompt: not the preset, and not
 * nothing either (a request without a system prompt would begin its cache with the tools alone).
 */
const MINIMAL_PROMPT = 'You are an agent. Do what the user asks, with the tools that you have.';

/** Calls a hook of the host by its id. */
export type CallHook = (
  callbackId: string,
  input: Fields,
  toolUseId: string | undefined,
  signal: AbortSignal,
) => Promise<Fields>;

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;
const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];

/** Reads the request. Fields of the wrong type are skipped: a host may be newer than we are. */
export function readInitialize(body: ControlBody, callHook: CallHook): InitializeRequest {
  const warnings: string[] = [];
  const hooks = hooksOf(body.hooks, callHook, warnings);
  const systemPrompt = body.systemPrompt;
  const append = textOf(body.appendSystemPrompt);
  const schema = body.jsonSchema;
  const settings = body.settings;
  const disallowed = body.disallowedTools;
  const mcpServers = isFields(body.mcpServers) ? body.mcpServers : undefined;
  const options: Partial<Options> = {
    ...(hooks && { hooks }),
    ...(Array.isArray(systemPrompt) && {
      systemPrompt: textsOf(systemPrompt).join('\n\n').trim() || MINIMAL_PROMPT,
    }),
    ...(append !== undefined && { appendSystemPrompt: append }),
    ...(isFields(body.agents) && { agents: agentsOf(body.agents, warnings) }),
    ...(isFields(schema) && { outputFormat: { type: 'json_schema', schema } }),
    ...(isFields(settings) && { settings }),
    ...(Array.isArray(disallowed) && { disallowedTools: textsOf(disallowed) }),
  };
  return {
    options,
    servers: serversOf(body),
    mcpServers,
    confirmations: {
      // `onFailure` of a matcher is honoured: a host that blocks on failure may rely on it.
      hook_on_failure_supported: true,
      ...(hooks && { hooks_applied: true }),
      ...(isFields(settings) && { settings_applied: true }),
      ...(Array.isArray(disallowed) && { disallowed_tools_applied: true }),
      ...(mcpServers && { mcp_servers_applied: true }),
      ...(body.managedSettings !== undefined && { managed_settings_applied: false }),
      ...(Array.isArray(body.plugins) && { plugins_applied: false }),
    },
    warnings,
  };
}

function hooksOf(
  value: unknown,
  callHook: CallHook,
  warnings: string[],
): NonNullable<Options['hooks']> | undefined {
  if (!isFields(value)) return undefined;
  const hooks: Partial<Record<HookEvent, readonly HookCallbackMatcher[]>> = {};
  for (const [name, matchers] of Object.entries(value)) {
    const event = hookEvents.find((known) => known === name);
    if (!event) {
      warnings.push(`hooks of ${name} are never called: this event does not exist here`);
      continue;
    }
    if (Array.isArray(matchers)) {
      hooks[event] = matchers.filter(isFields).map((matcher) => matcherOf(matcher, callHook));
    }
  }
  return hooks;
}

function matcherOf(value: Fields, callHook: CallHook): HookCallbackMatcher {
  const { matcher, timeout, onFailure } = value;
  return {
    ...(typeof matcher === 'string' && { matcher }),
    ...(typeof timeout === 'number' && { timeout }),
    // Anything that is not "continue" was meant to hold the action back.
    ...(onFailure != null && { onFailure: onFailure === 'continue' ? 'continue' : 'block' }),
    hooks: textsOf(value.hookCallbackIds).map(
      (callbackId) =>
        (input, toolUseId, { signal }) =>
          callHook(callbackId, input, toolUseId, signal),
    ),
  };
}

function agentsOf(value: Fields, warnings: string[]): NonNullable<Options['agents']> {
  const agents: Record<string, Omit<AgentDefinition, 'name'>> = {};
  for (const [name, agent] of Object.entries(value)) {
    const description = isFields(agent) ? textOf(agent.description) : undefined;
    const prompt = isFields(agent) ? textOf(agent.prompt) : undefined;
    if (!isFields(agent) || description === undefined || prompt === undefined) {
      warnings.push(`agent ${name} was left out: description and prompt are needed`);
      continue;
    }
    const model = textOf(agent.model);
    agents[name] = {
      description,
      prompt,
      ...(Array.isArray(agent.tools) && { tools: textsOf(agent.tools) }),
      ...(model !== undefined && model !== 'inherit' && { model }),
    };
  }
  return agents;
}

function serversOf(body: ControlBody): ReadonlyMap<string, ServerManifest | undefined> {
  const manifests = isFields(body.sdkMcpServerManifests) ? body.sdkMcpServerManifests : {};
  return new Map(
    textsOf(body.sdkMcpServers).map((name) => {
      const manifest = Object.hasOwn(manifests, name) ? manifests[name] : undefined;
      if (!isFields(manifest) || !isFields(manifest.initializeResult)) return [name, undefined];
      const { initializeResult, toolsListResult } = manifest;
      return [
        name,
        { initializeResult, ...(isFields(toolsListResult) && { toolsListResult }) },
      ] as const;
    }),
  );
}
