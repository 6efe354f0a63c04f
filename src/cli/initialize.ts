/** The host's first word: what its `initialize` request means in terms of our options. */

import type { HookCallbackMatcher } from '../../services/hooks/callbacks.ts';
import { type HookEvent, hookEvents } from '../../services/hooks/types.ts';
import { isRecord } from '../../services/is-record.ts';
import { agent, checkValue } from '../check-options.ts';
import {
  anObject,
  type Check,
  either,
  fieldsOf,
  isText,
  listOf,
  positive,
  recordOf,
  text,
} from '../checks.ts';
import type { AgentDefinition } from '../config.ts';
import { hooksOf, neverCalled, strangeEvents } from '../hook-events.ts';
import { joinedPrompt } from '../option-fields.ts';
import type { Options } from '../options.ts';
import type { ControlBody, Fields } from './control.ts';

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

const texts = listOf('texts', text);
/** JSON of a host may say `null` for what it does not say. */
const orNothing =
  (check: Check): Check =>
  (value, place) =>
    value === null ? [] : check(value, place);
const matcher = fieldsOf(
  { hookCallbackIds: texts },
  { matcher: orNothing(text), timeout: orNothing(positive), onFailure: orNothing(text) },
);
/** What we read of it. Anything else is left alone: a host may be newer than we are. */
const initializeRequest = fieldsOf(
  {},
  {
    hooks: hooksOf(matcher),
    systemPrompt: either(isText, text, texts),
    appendSystemPrompt: text,
    agents: recordOf('agents', agent),
    jsonSchema: anObject,
    settings: anObject,
    disallowedTools: texts,
    mcpServers: recordOf('servers', anObject),
    sdkMcpServers: texts,
    sdkMcpServerManifests: anObject,
  },
);

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;
const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];

const stated = (value: Fields): Fields =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null));

/** The request without its `null`s; those of a schema or of settings are values, and stay. */
function statedIn(body: Fields): Fields {
  const { hooks, agents, ...others } = stated(body);
  return {
    ...others,
    ...(hooks !== undefined && { hooks: isRecord(hooks) ? stated(hooks) : hooks }),
    ...(agents !== undefined && { agents: isRecord(agents) ? statedAgents(agents) : agents }),
  };
}

const statedAgents = (agents: Fields): Fields =>
  Object.fromEntries(
    Object.entries(stated(agents)).map(([name, agent]) => [
      name,
      isRecord(agent) ? stated(agent) : agent,
    ]),
  );

/**
 * Does it say how the session is to be? One that does and comes when the session has begun must not
 * look obeyed: its hooks would guard nothing.
 */
export const configures = (body: ControlBody): boolean =>
  Object.entries(statedIn(body)).some(([name, value]) => {
    if (name === 'subtype' || value === null || value === undefined) return false;
    return typeof value === 'object' ? Object.keys(value).length > 0 : value !== '';
  });

/**
 * Reads the request.
 * @throws UsageError when what it says of the session has the wrong shape: a session with fewer
 * guards than its host has asked for never begins.
 */
export function readInitialize(request: ControlBody, callHook: CallHook): InitializeRequest {
  const body = statedIn(request);
  checkValue(initializeRequest, body, 'initialize');
  const silent = strangeEvents(body.hooks);
  const hooks = calledHooks(body.hooks, callHook);
  const { jsonSchema: schema, settings, disallowedTools: disallowed } = body;
  const systemPrompt = textOf(body.systemPrompt) ?? body.systemPrompt;
  const append = textOf(body.appendSystemPrompt);
  const mcpServers = isRecord(body.mcpServers) ? body.mcpServers : undefined;
  const options: Partial<Options> = {
    ...(hooks && { hooks }),
    ...((isText(systemPrompt) || Array.isArray(systemPrompt)) && {
      systemPrompt: joinedPrompt(systemPrompt).trim() || MINIMAL_PROMPT,
    }),
    ...(append !== undefined && { appendSystemPrompt: append }),
    ...(isRecord(body.agents) && { agents: agentsOf(body.agents) }),
    ...(isRecord(schema) && { outputFormat: { type: 'json_schema', schema } }),
    ...(isRecord(settings) && { settings }),
    ...(Array.isArray(disallowed) && { disallowedTools: textsOf(disallowed) }),
  };
  return {
    options,
    servers: serversOf(body),
    mcpServers,
    confirmations: {
      // `onFailure` of a matcher is honoured: a host that blocks on failure may rely on it.
      hook_on_failure_supported: true,
      // Of all of them, or it is no confirmation.
      ...(hooks && { hooks_applied: silent.length === 0 }),
      ...(isRecord(settings) && { settings_applied: true }),
      ...(Array.isArray(disallowed) && { disallowed_tools_applied: true }),
      ...(mcpServers && { mcp_servers_applied: true }),
      ...(body.managedSettings !== undefined && { managed_settings_applied: false }),
      ...(Array.isArray(body.plugins) && { plugins_applied: false }),
    },
    warnings: silent.map(neverCalled),
  };
}

function calledHooks(
  value: unknown,
  callHook: CallHook,
): NonNullable<Options['hooks']> | undefined {
  if (!isRecord(value)) return undefined;
  const hooks: Partial<Record<HookEvent, readonly HookCallbackMatcher[]>> = {};
  for (const event of hookEvents) {
    const matchers = value[event];
    if (!Array.isArray(matchers)) continue;
    hooks[event] = matchers.filter(isRecord).map((matcher) => matcherOf(matcher, callHook));
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

function agentsOf(value: Fields): NonNullable<Options['agents']> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, agent]) =>
      isRecord(agent) ? [[name, agentOf(agent)]] : [],
    ),
  );
}

function agentOf(agent: Fields): Omit<AgentDefinition, 'name'> {
  const { tools, disallowedTools, maxTurns } = agent;
  const model = textOf(agent.model);
  return {
    description: textOf(agent.description) ?? '',
    prompt: textOf(agent.prompt) ?? '',
    ...(Array.isArray(tools) && { tools: textsOf(tools) }),
    ...(Array.isArray(disallowedTools) && { disallowedTools: textsOf(disallowedTools) }),
    ...(typeof maxTurns === 'number' && { maxTurns }),
    ...(model !== undefined && model !== 'inherit' && { model }),
  };
}

function serversOf(body: Fields): ReadonlyMap<string, ServerManifest | undefined> {
  const manifests = isRecord(body.sdkMcpServerManifests) ? body.sdkMcpServerManifests : {};
  return new Map(
    textsOf(body.sdkMcpServers).map((name) => {
      const manifest = Object.hasOwn(manifests, name) ? manifests[name] : undefined;
      if (!isRecord(manifest) || !isRecord(manifest.initializeResult)) return [name, undefined];
      const { initializeResult, toolsListResult } = manifest;
      return [
        name,
        { initializeResult, ...(isRecord(toolsListResult) && { toolsListResult }) },
      ] as const;
    }),
  );
}
