/**
 * What a host may say, and what it is told when it says something else: before anything is read,
 * begun or paid for.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ignoredOptions, refusedOptions } from '../../src/check-options.ts';
import type { QueryEngineConfig } from '../../src/config.ts';
import { configFromOptions, engineFromOptions, type Options } from '../../src/options.ts';
import { query } from '../../src/query.ts';
import { QueryEngine } from '../../src/query-engine.ts';
import { callTool, say, scriptedModel } from '../../src/testing/index.ts';
import { UsageError } from '../../src/usage-error.ts';
import type { SDKMessage } from '../../src/wire.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'escapement-options-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

/** As a host without TypeScript would: any value under any name. */
async function ask(given: Readonly<Record<string, unknown>>, prompt: unknown = 'hi') {
  const client = scriptedModel({ replies: [callTool('Bash', { command: 'echo ran' }), say('ok')] });
  const messages: SDKMessage[] = [];
  let thrown: unknown;
  const options = { client, settingSources: [], cwd: folder, ...given } as unknown as Options;
  const environment = { ESCAPEMENT_HOME: folder, HOME: folder };
  try {
    for await (const message of query({ prompt: prompt as string, options, environment })) {
      messages.push(message);
    }
  } catch (error) {
    thrown = error;
  }
  return { messages, thrown, requests: client.requests.length };
}

/** Nothing was asked and nothing was said but this. */
async function refused(given: Readonly<Record<string, unknown>>, words: string, prompt?: unknown) {
  const { messages, thrown, requests } = await ask(
    given,
    ...(prompt === undefined ? [] : [prompt]),
  );
  expect(thrown).toBeInstanceOf(UsageError);
  expect((thrown as Error).message).toContain(words);
  expect([messages.length, requests]).toEqual([0, 0]);
}

const fn = async () => ({});

describe('a bound that would bind nothing', () => {
  it.each(['maxTurns', 'maxBudgetUsd', 'maxDurationMs', 'tokenBudget', 'maxOutputTokens'])(
    '%s: only a number above 0 is one',
    async (name) => {
      for (const value of [Number.NaN, -1, 0, '5', null]) {
        const shown = typeof value === 'string' ? `"${value}"` : String(value);
        await refused({ [name]: value }, `${name}: expected a `);
        await refused({ [name]: value }, `, not ${shown}`);
      }
    },
  );

  it('of an engine that a host configures itself, too', async () => {
    const config = await configFromOptions(
      { client: scriptedModel({ replies: [] }), settingSources: [], cwd: folder },
      { ESCAPEMENT_HOME: folder, HOME: folder },
    );
    const make = (more: Partial<QueryEngineConfig>) => () =>
      new QueryEngine({ ...config, ...more });
    expect(make({ maxBudgetUsd: Number.NaN })).toThrow('config.maxBudgetUsd: expected a number');
    const { toolPermissionContext } = config.getAppState();
    const odd = { ...toolPermissionContext, mode: 'Plan' as 'plan' };
    const getAppState = () => ({ toolPermissionContext: odd, todos: [] });
    expect(make({ getAppState })).toThrow('permissionMode: expected one of');
  });

  it('is lifted by Infinity alone, said on purpose', async () => {
    const unbounded = Number.POSITIVE_INFINITY;
    const { thrown } = await ask({ maxTurns: unbounded, maxDurationMs: unbounded });
    expect(thrown).toBeUndefined();
    await refused({ tokenBudget: unbounded }, 'tokenBudget: expected a whole number');
  });

  it('an option that is undefined was not given', async () => {
    const { messages, thrown } = await ask({ maxTurns: undefined, nonsense: undefined });
    expect(thrown).toBeUndefined();
    expect(messages.at(-1)).toMatchObject({ type: 'result', terminal_reason: 'completed' });
  });
});

describe('a guard that would guard nothing', () => {
  it.each<[Readonly<Record<string, unknown>>, string]>([
    [{ hooks: 5 }, 'hooks: expected an object, not 5'],
    [{ hooks: { PreToolUse: {} } }, 'hooks.PreToolUse: expected a list of matchers, not an empty'],
    [{ hooks: { PreToolUse: [fn] } }, 'hooks.PreToolUse[0]: expected an object, not a function'],
    [
      { hooks: { PreToolUse: [{ hooks: ['x'] }] } },
      'hooks.PreToolUse[0].hooks[0]: expected a function, not "x"',
    ],
    [{ hooks: { PreToolUse: [{ matcher: 5, hooks: [fn] }] } }, 'matcher: expected a text, not 5'],
    [{ hooks: { PreToolUse: [{ matcher: '(', hooks: [fn] }] } }, 'is no regular expression'],
    [
      { hooks: { PreToolUse: [{ hooks: [fn], onFailrue: 'block' }] } },
      'unknown "onFailrue", did you mean "onFailure"?',
    ],
    [{ hooks: { PreToolUze: [{ hooks: [fn] }] } }, 'did you mean "PreToolUse"?'],
    ...[
      ...['PermissionRequest', 'PermissionDenied', 'PreSkillShellCommand'],
      ...['UserPromptExpansion', 'ConfigChange'],
    ].map((event): [Readonly<Record<string, unknown>>, string] => [
      { hooks: { [event]: [{ hooks: [fn] }] } },
      `hooks.${event}: this event does not exist here, and its hooks would guard nothing`,
    ]),
    [
      { hooks: { SubagentStart: [{ hooks: [fn], onFailure: 'block' }] } },
      'hooks.SubagentStart: this event does not exist here',
    ],
    [{ permissionMode: 'Plan' }, 'not "Plan": did you mean "plan"?'],
    [{ permissionMode: 'x' }, 'permissionMode: expected one of "default", "acceptEdits", "plan"'],
    [{ canUseTool: 5 }, 'canUseTool: expected a function, not 5'],
    [{ tools: 'Bash' }, 'tools: expected a list of names, or the preset, not "Bash"'],
    [{ disallowedTools: 'Bash' }, 'disallowedTools: expected a list of rules, not "Bash"'],
    [{ allowedTools: [5] }, 'allowedTools[0]: expected a text that is not empty, not 5'],
    [{ settingSources: ['x'] }, 'settingSources[0]: expected one of "user", "project", "local"'],
    [{ settingSources: 'user' }, 'settingSources: expected a list of sources, not "user"'],
    [
      { agents: { a: { description: 'd', prompt: 'p', disallowdTools: ['Bash'] } } },
      'agents.a: unknown "disallowdTools", did you mean "disallowedTools"?',
    ],
  ])('%j', (given, words) => refused(given, words));
});

describe('a mistake names the option, the value and what is expected', () => {
  it.each<[Readonly<Record<string, unknown>>, string]>([
    [{ model: 5 }, 'model: expected a text that is not empty, not 5'],
    [{ cwd: 5 }, 'cwd: expected a text'],
    [{ agents: { a: {} } }, 'agents.a.description: expected a text'],
    [{ agents: 5 }, 'agents: expected an object of agents by name, not 5'],
    [{ plugins: [{}] }, 'plugins[0].type: expected one of "local", not undefined'],
    [{ mcpServers: 5 }, 'mcpServers: expected an object of servers by name, not 5'],
    [{ mcpServers: { a: {} } }, 'a.command is missing'],
    [{ mcpClients: [{}] }, 'mcpClients[0].name: expected a text'],
    [{ mcpClients: 5 }, 'mcpClients: expected a list of connections, not 5'],
    [{ abortController: {} }, 'abortController: expected an AbortController, not an empty object'],
    [{ client: {} }, 'client: expected a client with messages.create()'],
    [{ client: { messages: { create: 5 } } }, 'client: expected a client with messages.create()'],
    [{ systemPrompt: 5 }, 'systemPrompt: expected a text, or the preset, not 5'],
    [{ resume: 5 }, 'resume: expected a text'],
    [{ sessionId: '' }, 'sessionId: expected a text that is not empty, not ""'],
    [{ thinking: 5 }, 'thinking: expected an object, not 5'],
    [{ thinking: { type: 'on' } }, 'thinking.type: expected one of "adaptive"'],
    [{ maxThinkingTokens: Number.NaN }, 'maxThinkingTokens: expected a whole number'],
    [{ settings: 5 }, 'settings: expected a path, a JSON text or an object, not 5'],
    [{ additionalDirectories: 'x' }, 'additionalDirectories: expected a list of folders'],
    [{ outputFormat: 5 }, 'outputFormat: expected an object, not 5'],
    [{ fallbackModel: 5 }, 'fallbackModel: expected a text'],
    [{ env: 5 }, 'env: expected an object of texts by name, not 5'],
    [{ env: { PORT: 80 } }, 'env.PORT: expected a text, not 80'],
    [{ onElicitation: 5 }, 'onElicitation: expected a function, not 5'],
    [{ journal: {} }, 'journal: expected a store of sessions'],
    [{ persistSession: 'false' }, 'persistSession: expected true or false, not "false"'],
    [{ historySnip: 5 }, 'historySnip: expected an object, not 5'],
    [{ onUnknownOutcome: 'again' }, 'onUnknownOutcome: expected one of "tell_model"'],
  ])('%j', (given, words) => refused(given, words));

  it('several at once, and what opens a door is not shown', async () => {
    await refused({ model: 5, cwd: 5, resume: 5, bare: 5 }, '; and 1 more');
    const { thrown } = await ask({ client: 'sk-ant-secret' });
    expect(String(thrown)).toContain('begins with "sk-"');
    expect(String(thrown)).not.toContain('secret');
  });

  it.each([null, undefined, 5, {}, []].map((prompt) => [prompt]))(
    'the prompt %j',
    async (prompt) => {
      const { thrown, messages } = await promptOnly(prompt);
      expect(thrown).toBeInstanceOf(UsageError);
      expect(String(thrown)).toContain('prompt: expected a text, or an async iterable');
      expect(messages).toEqual([]);
    },
  );

  it.each([5, { type: 'user' }, { message: { content: 5 } }, null].map((one) => [one]))(
    'one of several prompts: %j',
    async (one) => {
      const { thrown } = await promptOnly(several(one));
      expect(thrown).toBeInstanceOf(UsageError);
      expect(String(thrown)).toContain('prompt: ');
    },
  );

  it.each([[null], [5], ['x']])('options that are %j', async (options) => {
    const messages = query({ prompt: 'hi', options: options as unknown as Options });
    await expect(messages.next()).rejects.toThrow('options: expected an object');
  });
});

const promptOnly = (prompt: unknown) =>
  prompt === undefined ? undefinedPrompt() : ask({}, prompt);
async function undefinedPrompt() {
  const options = { client: scriptedModel({ replies: [say('no')] }), settingSources: [] };
  const messages = query({ prompt: undefined as unknown as string, options, environment: {} });
  const thrown: unknown = await messages.next().catch((error: unknown) => error);
  return { thrown, messages: [] };
}
async function* several(one: unknown) {
  yield one;
}

describe('options that there are not', () => {
  it.each([
    ['maxturns', 'did you mean "maxTurns"?'],
    ['alowedTools', 'did you mean "allowedTools"?'],
    ['bogusOption', 'there is no option "bogusOption": remove it, or see docs/options.md'],
  ])('%s', (name, words) => refused({ [name]: 3 }, words));

  it.each(Object.keys(refusedOptions))('%s of the official SDK: what to do instead', (name) =>
    refused({ [name]: 'x' }, `the option ${name} is not supported: `),
  );

  it('hints of the official SDK are told once, and change nothing', async () => {
    const { messages, thrown } = await ask(
      Object.fromEntries(ignoredOptions.map((name) => [name, 'x'])),
    );
    expect(thrown).toBeUndefined();
    const told = messages.filter((m) => m.type === 'system' && m.subtype === 'informational');
    expect(told).toMatchObject([
      { level: 'warning', content: expect.stringContaining('change nothing here: agentProgress') },
    ]);
    expect(messages.at(-1)).toMatchObject({ terminal_reason: 'completed' });
  });
});

describe('what hosts of the official SDK give', () => {
  const [one, two, boundary] = ['Be brief.', 'Be kind.', '__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__'];
  it.each<[unknown]>([
    [[one, boundary, two]],
    [{ type: 'custom', prompt: [one, two], snapshot: true }],
    [{ type: 'custom', prompt: `${one}\n\n${two}` }],
  ])('the system prompt %j', async (systemPrompt) => {
    const client = scriptedModel({ replies: [say('ok')] });
    const { thrown } = await ask({ client, systemPrompt });
    expect(thrown).toBeUndefined();
    const system = JSON.stringify(client.requests[0]?.body.system);
    expect(system).toContain('Be brief.\\n\\nBe kind.');
    expect(system).not.toContain(boundary);
  });

  it.each<[unknown, string]>([
    [[5], 'systemPrompt[0]: expected a text, not 5'],
    [{ type: 'custom' }, 'systemPrompt.prompt: expected a list of texts, not undefined'],
    [{ type: 'own' }, 'systemPrompt.type: expected one of "preset", "custom"'],
  ])('no system prompt: %j', (systemPrompt, words) => refused({ systemPrompt }, words));

  it.each([
    { extraArgs: {} },
    { extraArgs: null },
    { sandbox: { enabled: false } },
    { sandbox: null },
    { agents: { a: { description: 'd', prompt: 'p', hooks: {}, mode: 'x', color: 'red' } } },
  ])('what asks for nothing: %j', async (given) => {
    const { thrown, messages } = await ask(given);
    expect(thrown).toBeUndefined();
    expect(JSON.stringify(messages)).not.toContain('change nothing here');
  });

  it('hooks of events that only listen are told of, and the others are called', async () => {
    const called: string[] = [];
    const listen = (event: string) => [{ hooks: [async () => void called.push(event)] }];
    const hooks = { SubagentStart: listen('SubagentStart'), Stop: listen('Stop'), Setup: [] };
    const { thrown, messages } = await ask({ hooks });
    expect(thrown).toBeUndefined();
    expect(called).toEqual(['Stop']);
    const told = messages.flatMap((m) =>
      m.type === 'system' && m.subtype === 'informational' ? [m.content] : [],
    );
    expect(told).toEqual([expect.stringMatching(/hooks of SubagentStart are never called/)]);
    const nothing = await ask({ hooks: { PermissionRequest: [], ConfigChange: undefined } });
    expect(nothing.thrown).toBeUndefined();
  });

  it('what asks for something is refused, and the mode that is not here says so', async () => {
    await refused({ extraArgs: { debug: null } }, 'the option extraArgs is not supported');
    await refused({ sandbox: { enabled: true } }, 'the option sandbox is not supported');
    await refused({ permissionMode: 'auto' }, 'permissionMode: "auto" is not supported');
  });
});

it('whatever is given under whatever name: a UsageError in one line, or an engine', async () => {
  const names = ['hooks', 'tools', 'mcpClients', 'thinking', 'systemPrompt', 'agents', 'plugins'];
  const name = fc.oneof(fc.constantFrom(...names, 'maxTurns', 'client', 'env', 'x'), fc.string());
  const value = fc.anything({ maxDepth: 3, withNullPrototype: true, withBigInt: true });
  const client = scriptedModel({ replies: [] });
  await fc.assert(
    fc.asyncProperty(fc.dictionary(name, value, { maxKeys: 3 }), async (given) => {
      const options = { client, settingSources: [], cwd: folder, ...given } as unknown as Options;
      try {
        await (await engineFromOptions(options, { ESCAPEMENT_HOME: folder, HOME: folder })).close();
      } catch (error) {
        expect(error).toBeInstanceOf(UsageError);
      }
    }),
    { numRuns: 200 },
  );
});

describe('said while a session runs', () => {
  it('a mode or a model that there is not is refused, and nothing changes', async () => {
    const client = scriptedModel({ replies: [say('ok')] });
    const engine = await engineFromOptions(
      { client, settingSources: [], cwd: folder, permissionMode: 'plan' },
      { ESCAPEMENT_HOME: folder, HOME: folder },
    );
    expect(() => engine.setPermissionMode('Default' as 'default')).toThrow(UsageError);
    expect(() => engine.setModel(5 as unknown as string)).toThrow('setModel: expected a text');
    expect(() => engine.setModel('')).toThrow(UsageError);
    const modes: unknown[] = [];
    for await (const message of engine.submitMessage('hi')) {
      if (message.type === 'system' && message.subtype === 'init')
        modes.push(message.permissionMode);
    }
    expect(modes).toEqual(['plan']);
    await engine.close();
  });
});
