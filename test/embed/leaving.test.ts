/** What a host that leaves, or aborts, can rely on. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { engineFromOptions, type Options, query, type SDKMessage } from 'escapement';
import { callTool, createScriptedServer, type Script, say, silent } from 'escapement/testing';
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

/** Waits for a message that never comes: the model is silent. */
async function atSilence(
  messages: AsyncIterator<SDKMessage>,
  server: Awaited<ReturnType<typeof place>>['server'],
): Promise<Promise<IteratorResult<SDKMessage>>[]> {
  const silence = server.until((entry) => entry.type === 'reply' && entry.verdict === 'silence');
  const pending: Promise<IteratorResult<SDKMessage>>[] = [];
  // More than the turn says before its request: the last of them wait for the model.
  for (let asked = 0; asked < 8; asked += 1) pending.push(messages.next());
  for (const one of pending) one.catch(() => {});
  await silence;
  return pending;
}

const ways = {
  return: (messages: ReturnType<typeof query>) => messages.return(undefined),
  throw: (messages: ReturnType<typeof query>) =>
    messages.throw(new Error('enough')).catch((error: Error) => error.message),
  'Symbol.asyncDispose': (messages: ReturnType<typeof query>) => messages[Symbol.asyncDispose](),
};
test.each(Object.entries(ways))('%s of a query that waits for the model', async (_, leave) => {
  const { server, options, environment } = await place({ replies: [silent(), say('free again')] });
  const sessionId = 'left-in-silence';
  const messages = query({ prompt: 'go', options: { ...options, sessionId }, environment });
  const pending = await atSilence(messages, server);
  await leave(messages);
  await Promise.all(pending);
  expect(await messages.next()).toEqual({ done: true, value: undefined });
  // The session was given up with it, its result is in the file, and its prompt is answered.
  const engine = await engineFromOptions({ ...options, resume: sessionId }, environment);
  cleanups.push(() => engine.close());
  expect(engine.interrupted).toBeUndefined();
});

test('a turn of an engine is left while it waits for the model; another one can begin', async () => {
  const { server, options, environment } = await place({ replies: [silent(), say('second')] });
  const engine = await engineFromOptions(options, environment);
  cleanups.push(() => engine.close());
  const turn = engine.submitMessage('first');
  const pending = await atSilence(turn, server);
  await turn.return(undefined);
  await Promise.all(pending);
  const results: SDKMessage[] = [];
  for await (const message of engine.submitMessage('again')) {
    if (message.type === 'result') results.push(message);
  }
  expect(results).toMatchObject([{ terminal_reason: 'completed', result: 'second' }]);
});

test('a turn that never began is left, and the one that runs goes on', async () => {
  const { options, environment } = await place({
    replies: [callTool('Bash', { command: 'echo a' }), say('to the end')],
  });
  const engine = await engineFromOptions(options, environment);
  cleanups.push(() => engine.close());
  const unused = engine.submitMessage('never asked');
  const reasons: string[] = [];
  for await (const message of engine.submitMessage('first')) {
    if (message.type === 'assistant') await unused.return(undefined);
    if (message.type === 'result') reasons.push(message.terminal_reason);
  }
  expect(reasons).toEqual(['completed']);
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

test('a query that was steered and never read lets its session go', async () => {
  const { options, environment } = await place({ replies: [say('one'), say('two')] });
  let resume = '';
  for await (const message of query({ prompt: 'go', options, environment })) {
    if (message.type === 'result') resume = message.session_id;
  }
  const unread = query({ prompt: 'go on', options: { ...options, resume }, environment });
  await unread.setPermissionMode('plan');
  await unread.return();
  const reasons: unknown[] = [];
  for await (const message of query({
    prompt: 'go on',
    options: { ...options, resume },
    environment,
  })) {
    if (message.type === 'result') reasons.push(message.terminal_reason);
  }
  expect(reasons).toEqual(['completed']);
});

test("a host's prompts are let go when it leaves, whatever their clean-up gives back", async () => {
  const { options, environment } = await place({ replies: [say('one'), say('two')] });
  let cleanedUp = 0;
  const prompts = {
    [Symbol.asyncIterator]: () => ({
      next: async () => ({
        done: false,
        value: { type: 'user', message: { role: 'user', content: 'go' } } as const,
      }),
      // by the types of the language this is no promise of what it should be
      return: () => {
        cleanedUp += 1;
        return { done: true, value: undefined } as never;
      },
    }),
  };
  for await (const message of query({ prompt: prompts, options, environment })) {
    if (message.type === 'assistant') break;
  }
  expect(cleanedUp).toBe(1);
});
