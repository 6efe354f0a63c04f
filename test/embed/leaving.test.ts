/** What a host that leaves, or aborts, can rely on. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { engineFromOptions, type Options, query, type SDKMessage } from 'escapement';
import { callTool, createScriptedServer, type Script, say } from 'escapement/testing';
import { afterEach, expect, test } from 'vitest';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

async function place(script: Script) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'escapement-embed-')));
  const server = createScriptedServer(script);
  const url = await server.listen();
  cleanups.push(
    () => server.close(),
    () => rmSync(root, { recursive: true, force: true, maxRetries: 3 }),
  );
  const options: Options = {
    cwd: root,
    model: 'claude-sonnet-4-5',
    permissionMode: 'bypassPermissions',
    allowDangerouslySkipPermissions: true,
    settingSources: [],
  };
  const environment = {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'of no value',
    ESCAPEMENT_HOME: join(root, 'home'),
    PATH: process.env.PATH,
  };
  return { server, options, environment };
}

test('what was done before the host left stands in the next request', async () => {
  const { server, options, environment } = await place({
    replies: [callTool('Bash', { command: 'echo effect' }), say('next')],
  });
  const engine = await engineFromOptions(options, environment);
  for await (const message of engine.submitMessage('first')) {
    if (message.type === 'user') break; // the result of the call was shown
  }
  for await (const message of engine.submitMessage('second')) void message;
  await engine.close();
  const sent = JSON.stringify(server.requests.at(-1)?.body);
  expect(sent).toContain('tool_use');
  expect(sent).toContain('effect');
  expect(server.violations).toEqual([]);
});

test("a host's controller that was aborted before sends nothing, and is not used up by us", async () => {
  const { server, options, environment } = await place({ replies: [say('never')] });
  const abortController = new AbortController();
  abortController.abort();
  const results: SDKMessage[] = [];
  for await (const message of query({
    prompt: 'go',
    options: { ...options, abortController },
    environment,
  })) {
    if (message.type === 'result') results.push(message);
  }
  expect(results.map((m) => m.type === 'result' && m.terminal_reason)).toEqual([
    'aborted_streaming',
  ]);
  expect(server.requests).toEqual([]);
});

test("interrupt ends the turn and leaves the host's controller alone", async () => {
  const { options, environment } = await place({
    replies: [callTool('Bash', { command: 'sleep 30' }), say('second answer')],
  });
  const abortController = new AbortController();
  const engine = await engineFromOptions({ ...options, abortController }, environment);
  const reasons: string[] = [];
  for await (const message of engine.submitMessage('first')) {
    if (message.type === 'assistant') engine.interrupt();
    if (message.type === 'result') reasons.push(message.terminal_reason);
  }
  expect(abortController.signal.aborted).toBe(false);
  for await (const message of engine.submitMessage('second')) {
    if (message.type === 'result') reasons.push(message.terminal_reason);
  }
  await engine.close();
  expect(reasons).toEqual(['aborted_tools', 'completed']);
});

test('a query whose prompts never come can be left', async () => {
  const { options, environment } = await place({ replies: [say('one')] });
  async function* prompts() {
    yield { type: 'user' as const, message: { role: 'user' as const, content: 'first' } };
    await new Promise(() => {}); // a person who went home
  }
  const messages = query({ prompt: prompts(), options, environment });
  for await (const message of messages) if (message.type === 'result') break;
  expect(await messages.next()).toEqual({ done: true, value: undefined });
});

test('a budget that could not be held, and a schema that is none, are refused at once', async () => {
  const { options, environment } = await place({ replies: [] });
  await expect(
    engineFromOptions({ ...options, model: 'my-own-model', maxBudgetUsd: 1 }, environment),
  ).rejects.toThrow(/price of my-own-model is not known/);
  const outputFormat = { type: 'json_schema' as const, schema: { type: 'no such type' } };
  await expect(engineFromOptions({ ...options, outputFormat }, environment)).rejects.toThrow(
    /output schema cannot be used/,
  );
});

test('a shape that is no object is asked for inside of one, and given back as it is', async () => {
  const { options, environment } = await place({
    replies: [callTool('StructuredOutput', { value: ['a', 'b'] })],
  });
  const schema = { type: 'array', items: { type: 'string' } };
  for await (const message of query({
    prompt: 'list',
    options: { ...options, outputFormat: { type: 'json_schema', schema } },
    environment,
  })) {
    if (message.type === 'result') expect(message.structured_output).toEqual(['a', 'b']);
  }
});
