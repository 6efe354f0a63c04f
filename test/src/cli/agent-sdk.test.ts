/** Our executable in the hands of the official Agent SDK. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callTool, say, toolNames, toolResults } from '../../../src/testing/index.ts';
import { odd } from '../../services/mcp/kit.ts';
import { type AgentQuery, type AgentSdk, loadAgentSdk } from '../../tools/agent-sdk.ts';
import { type CliBox, cliPath, openCliBox, userLine } from '../../tools/cli.ts';

let sdk: AgentSdk;
let box: CliBox;
beforeAll(async () => {
  sdk = await loadAgentSdk();
}, 120_000);
afterEach(() => box?.close());

const start = (prompt: string | AsyncIterable<unknown>, options: Record<string, unknown> = {}) =>
  sdk.query({
    prompt,
    options: {
      cwd: box.cwd,
      env: box.env,
      pathToClaudeCodeExecutable: cliPath(),
      mcpServersDelivery: 'argv',
      model: 'claude-sonnet-5-5',
      settingSources: [],
      ...options,
    },
  });
type Message = Record<string, unknown>;
/** An exit code that is not 0 is thrown by the SDK after the last message. */
async function collect(query: AgentQuery) {
  const messages: Message[] = [];
  let thrown = '';
  try {
    for await (const message of query) messages.push(message);
  } catch (error) {
    thrown = String(error);
  }
  return { messages, last: messages.at(-1) ?? {}, thrown };
}
const bypass = { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true };

it('a prompt, an answer', async () => {
  box = await openCliBox({ replies: [say('hello back')] });
  const { messages, last } = await collect(start('hello'));
  expect(messages[0]).toMatchObject({ type: 'system', subtype: 'init' });
  expect(last).toMatchObject({ type: 'result', subtype: 'success', result: 'hello back' });
  expect(box.server.violations).toEqual([]);
});

it('a server of tools asks the person: onElicitation answers', async () => {
  box = await openCliBox({ replies: [callTool('mcp__srv__ask', {}), say('done')] });
  const asked: Message[] = [];
  const { last } = await collect(
    start('go', {
      ...{ ...bypass, mcpServers: { srv: odd() } },
      onElicitation: async (question: Message) => {
        asked.push(question);
        return { action: 'accept', content: { which: 'the blue one' } };
      },
    }),
  );
  expect(last).toMatchObject({ type: 'result', subtype: 'success', result: 'done' });
  expect(asked).toMatchObject([{ serverName: 'srv', message: 'Which one?', mode: 'form' }]);
  const [, second] = box.server.requests;
  const answer = '{"action":"accept","content":{"which":"the blue one"}}';
  expect(second && toolResults(second)[0]?.text).toBe(answer);
});

it('an in-process MCP server: offered in the first request, called, answered', async () => {
  box = await openCliBox({ replies: [callTool('mcp__probe__echo', { say: 'hi' }), say('done')] });
  const heard: unknown[] = [];
  const echo = sdk.tool('echo', 'says it back', { say: sdk.z.string() }, async (input) => {
    heard.push(input);
    return { content: [{ type: 'text', text: `echo ${String(input.say)}` }] };
  });
  const probe = sdk.createSdkMcpServer({ name: 'probe', version: '1.0.0', tools: [echo] });
  const { messages, last } = await collect(start('go', { ...bypass, mcpServers: { probe } }));
  const [first, second] = box.server.requests;
  expect(first && toolNames(first)).toContain('mcp__probe__echo');
  expect((messages[0]?.tools as string[]) ?? []).toContain('mcp__probe__echo');
  expect(messages[0]?.mcp_servers).toEqual([{ name: 'probe', status: 'connected' }]);
  expect(heard).toEqual([{ say: 'hi' }]);
  expect(second && toolResults(second)).toMatchObject([{ text: 'echo hi', isError: false }]);
  expect(last).toMatchObject({ result: 'done' });
});

describe('canUseTool', () => {
  const script = { replies: [callTool('Bash', { command: 'touch asked' }), say('end')] };

  it('edits the input that runs', async () => {
    box = await openCliBox(script);
    const canUseTool = async () => ({
      behavior: 'allow',
      updatedInput: { command: 'touch edited' },
    });
    const { last } = await collect(start('go', { canUseTool }));
    expect(last).toMatchObject({ result: 'end', is_error: false });
    expect(existsSync(path.join(box.cwd, 'edited'))).toBe(true);
    expect(existsSync(path.join(box.cwd, 'asked'))).toBe(false);
  });

  it('denies, and the model reads why', async () => {
    box = await openCliBox(script);
    const canUseTool = async () => ({ behavior: 'deny', message: 'not on a Monday' });
    const { last } = await collect(start('go', { canUseTool }));
    const [, second] = box.server.requests;
    expect(second && toolResults(second)[0]?.text).toContain('not on a Monday');
    expect(last.permission_denials).toMatchObject([{ tool_name: 'Bash' }]);
  });

  it('an interrupt takes the question back from the host', async () => {
    box = await openCliBox(script);
    let isTakenBack = false;
    let query: AgentQuery | undefined;
    const canUseTool = (_name: string, _input: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise(() => {
        signal.addEventListener('abort', () => {
          isTakenBack = true;
        });
        void query?.interrupt();
      });
    const prompts = (async function* () {
      yield userLine('go');
    })();
    query = start(prompts, { canUseTool });
    const { last } = await collect(query);
    expect(last).toMatchObject({ type: 'result', terminal_reason: 'aborted_tools' });
    expect(isTakenBack).toBe(true);
    expect(existsSync(path.join(box.cwd, 'asked'))).toBe(false);
  });
});

it('hooks of the host are called with their input, and what they say counts', async () => {
  box = await openCliBox({ replies: [callTool('Bash', { command: 'touch x' }), say('end')] });
  const seen: string[] = [];
  const hook = (output: unknown) => async (input: { hook_event_name: string }) => {
    seen.push(input.hook_event_name);
    return output;
  };
  const deny = {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'deny',
      permissionDecisionReason: 'the hook said no',
    },
  };
  const hooks = {
    UserPromptSubmit: [{ hooks: [hook({})] }],
    PreToolUse: [{ matcher: 'Bash', hooks: [hook(deny)] }],
    Stop: [{ hooks: [hook({})] }],
  };
  await collect(start('go', { ...bypass, hooks }));
  expect(seen).toEqual(['UserPromptSubmit', 'PreToolUse', 'Stop']);
  const [, second] = box.server.requests;
  expect(second && toolResults(second)[0]?.text).toContain('the hook said no');
});

it('a session of several turns: model and mode change between them', async () => {
  box = await openCliBox({ replies: [say('one'), say('two')] });
  let next: () => void = () => {};
  const prompts = (async function* () {
    yield userLine('first');
    await new Promise<void>((resolve) => {
      next = resolve;
    });
    yield userLine('second');
  })();
  const query = start(prompts);
  const results: unknown[] = [];
  const modes: unknown[] = [];
  for await (const message of query) {
    if (message.subtype === 'init') modes.push(message.permissionMode);
    if (message.type !== 'result') continue;
    results.push(message.result);
    if (results.length > 1) continue;
    await query.setModel('claude-haiku-4-5');
    await query.setPermissionMode('acceptEdits');
    await expect(query.setPermissionMode('bypassPermissions')).rejects.toThrow(/not allowed/);
    next();
  }
  expect(results).toEqual(['one', 'two']);
  expect(modes).toEqual(['default', 'acceptEdits']);
  expect(box.server.requests.map(({ body }) => body.model)).toEqual([
    'claude-sonnet-5-5',
    'claude-haiku-4-5',
  ]);
});

it('what initialize answers reaches the host', async () => {
  box = await openCliBox({ replies: [say('x')] });
  const query = start('hi', { agents: { helper: { description: 'helps', prompt: 'help' } } });
  const [answer] = await Promise.all([query.initializationResult(), collect(query)]);
  expect(answer).toMatchObject({
    commands: [{ name: 'compact', description: expect.any(String) }],
    agents: [{ name: 'helper', description: 'helps' }],
    account: { apiKeySource: 'ANTHROPIC_API_KEY' },
  });
  expect(answer.models).not.toEqual([]);
});

it('wrong usage reaches the host as an error with our words', async () => {
  box = await openCliBox({ replies: [] });
  const { messages, thrown } = await collect(start('hi', { model: 'no such model' }));
  expect(thrown).toMatch(/no such model/);
  expect(messages).toEqual([]);
});

it('HEAD-05 a host that leaves: no child, no further request', async () => {
  box = await openCliBox({
    replies: [callTool('Bash', { command: 'sleep 4; touch survived' }), say('never')],
  });
  const query = start('go', bypass);
  for await (const message of query) {
    if (message.type === 'assistant') break;
  }
  await new Promise((resolve) => setTimeout(resolve, 4_500));
  expect(existsSync(path.join(box.cwd, 'survived'))).toBe(false);
  expect(box.server.requests).toHaveLength(1);
});
