/** Each script in docs/examples/scripts does what it says. */
import { readdir, readFile } from 'node:fs/promises';
import { afterEach, expect, test } from 'vitest';
import {
  callTool,
  overloaded,
  parseScriptText,
  type ScriptedServer,
  startScriptedServer,
} from '../../../src/testing/index.ts';
import {
  type AskOptions,
  ask,
  assistant,
  BASE,
  errorOf,
  eventsOf,
  hello,
  namesOf,
  textOf,
  user,
} from './client.ts';

const FOLDER = new URL('../../../docs/examples/scripts/', import.meta.url);
let server: ScriptedServer | undefined;
afterEach(() => server?.close());

type Go = (body?: unknown, options?: AskOptions) => ReturnType<typeof ask>;
type Check = (go: Go, running: ScriptedServer) => Promise<void>;

const say = async (go: Go, body?: unknown, options?: AskOptions) =>
  textOf((await go(body, options)).body);
const status = async (go: Go) => (await go()).status;
const breaks = async (go: Go, words: string) => {
  const { end, body } = await go();
  expect([end, textOf(body)]).toEqual(['broken', words]);
};
/** Leaves when it has seen enough of a stream that does not end. */
const enough = (mark: string, times: number): AskOptions => ({
  leaveWhen: (body) => body.split(mark).length > times,
});
const resultOf = (id: string, content: string) =>
  user([{ type: 'tool_result', tool_use_id: id, content }]);
const finalUsage = async (go: Go) =>
  eventsOf((await go()).body).find(({ name }) => name === 'message_delta')?.data.usage;

const checks: Record<string, Check> = {
  hello: async (go) => expect([await say(go), await say(go)]).toEqual(['Hello.', 'Hello again.']),
  'tool-round': async (go) => {
    const { body } = await go();
    expect(body).toContain('"stop_reason":"tool_use"');
    expect(namesOf(body).filter((name) => name === 'content_block_start')).toHaveLength(3);
  },
  branch: async (go) => {
    await go();
    const call = { type: 'tool_use', id: 'toolu_scripted_1', name: 'Bash', input: {} };
    const messages = [user('hello'), assistant([call]), resultOf(call.id, 'all OK')];
    expect(await say(go, { ...BASE, messages })).toBe('The command worked.');
  },
  purposes: async (go) => {
    expect(await say(go)).toBe('An answer of the loop.');
    expect(await say(go)).toBe('Only the second request gets this.');
    expect(await say(go, hello({ messages: [user('your subtask')] }))).toBe('For a subagent.');
    expect(await say(go, hello(), { purpose: 'compact' })).toContain('First');
    expect(await say(go, hello(), { purpose: 'compact' })).toContain('later');
    expect(await say(go, hello(), { purpose: 'compact' })).toContain('later');
    expect(await say(go, hello(), { purpose: 'hook_agent' })).toContain('not today');
  },
  thinking: async (go, running) => {
    await go();
    const thought = { type: 'thinking', thinking: 'Which file?', signature: 'c2lnbmVk' };
    const call = { type: 'tool_use', id: 'toolu_first', name: 'Read', input: {} };
    const back = (words: string) => ({
      ...BASE,
      messages: [
        user('x'),
        assistant([{ ...thought, thinking: words }, call]),
        resultOf(call.id, 'y'),
      ],
    });
    expect((await go(back('which file?'))).status).toBe(400);
    expect(running.violations.map(({ rule }) => rule)).toEqual(['S8']);
    expect(await say(go, back('Which file?'))).toBe('Read it.');
  },
  'overloaded-then-fine': async (go) => {
    expect([await status(go), await status(go), await say(go)]).toEqual([529, 529, 'Better now.']);
  },
  'overloaded-forever': async (go) => {
    for (let n = 0; n < 5; n++) expect(await status(go)).toBe(529);
  },
  'rate-limited': async (go) => {
    const { status: code, headers } = await go();
    expect([code, headers['retry-after']]).toEqual([429, '1']);
  },
  'do-not-retry': async (go) => {
    const { status: code, headers } = await go();
    expect([code, headers['x-should-retry']]).toEqual([500, 'false']);
  },
  'prompt-too-long': async (go) => {
    expect(errorOf(await go()).message).toContain('prompt is too long');
    expect(await say(go)).toBe('It fits now.');
  },
  'small-window': async (go, running) => {
    expect((await go(hello({ messages: [user('x'.repeat(241))] }))).status).toBe(400);
    expect(await say(go)).toBe('It fits.');
    expect(running.violations).toEqual([]);
  },
  'proxy-page': async (go) => {
    const { status: code, body } = await go();
    expect([code, body.slice(0, 6)]).toEqual([413, '<html>']);
  },
  'empty-body': async (go) =>
    expect(await go()).toMatchObject({ status: 200, body: '', end: 'clean' }),
  'cut-before-headers': async (go) => {
    await expect(go()).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(await say(go)).toBe('Second try.');
  },
  'cut-mid-block': async (go) => {
    await breaks(go, 'One two th');
    expect(await say(go)).toBe('Second try.');
  },
  'cut-after-block': async (go) => {
    const { end, body } = await go();
    expect([end, namesOf(body).at(-1)]).toEqual(['broken', 'content_block_stop']);
  },
  'cut-after-bytes': async (go) => {
    const { end, body } = await go();
    expect([end, body.length]).toEqual(['broken', 200]);
  },
  reset: async (go) => expect(await go()).toMatchObject({ end: 'broken', errorCode: 'ECONNRESET' }),
  'clean-end': async (go) => {
    const { end, body } = await go();
    expect([end, namesOf(body).at(-1)]).toEqual(['clean', 'content_block_stop']);
  },
  'error-event': async (go) => {
    expect(namesOf((await go()).body).slice(-2)).toEqual(['content_block_stop', 'error']);
    expect(namesOf((await go()).body)).toEqual(['error']);
    expect(await say(go)).toBe('Third try.');
  },
  'garbage-line': async (go) => {
    const { end, body } = await go();
    expect(end).toBe('clean');
    expect(body.endsWith('data: {"type":"content_blo\n\n')).toBe(true);
  },
  stall: async (go, running) => {
    const { body } = await go(hello(), enough('content_block_stop', 1));
    expect(textOf(body)).toBe('One two three four.');
    expect(await running.until(({ type }) => type === 'fault')).toBeDefined();
  },
  'only-pings': async (go) => {
    expect(namesOf((await go(hello(), enough('event: ping', 3))).body).at(-1)).toBe('ping');
  },
  drip: async (go) => {
    expect(textOf((await go(hello(), enough('"text":"."', 3))).body)).toContain('...');
  },
  silent: async (go, running) => {
    void go().catch(() => {});
    await running.until((entry) => entry.type === 'reply');
    expect(await say(go)).toBe('Second try.');
  },
  slow: async (go) => {
    const { body, end } = await go();
    expect([end, textOf(body)]).toEqual(['clean', 'Slow and steady.']);
    expect(namesOf(body).slice(0, 3)).toEqual(['message_start', 'ping', 'ping']);
  },
  'missing-message-stop': async (go) => {
    expect(namesOf((await go()).body).at(-1)).toBe('message_delta');
  },
  'missing-message-start': async (go) => {
    expect(namesOf((await go()).body)[0]).toBe('content_block_start');
  },
  'odd-usage': async (go) => {
    await go();
    expect(await finalUsage(go)).toBeUndefined();
    expect(await finalUsage(go)).toMatchObject({ input_tokens: 0, service_tier: 'spare' });
    expect(await finalUsage(go)).toMatchObject({ input_tokens: 27, output_tokens: 47 });
  },
  'unknown-events': async (go) => {
    const { body } = await go();
    expect(body).toContain('event: weather_report\ndata: {"type":"weather_report","sky":"blue"}');
    expect(body).toContain(': a comment\r\n\r\n');
    expect(body).toContain('"delta":{"type":"beam_delta","beam":"x"}');
  },
  'output-limit': async (go) => {
    const { body } = await go();
    expect(body).toContain('"stop_reason":"max_tokens"');
    const json = eventsOf(body).map(
      ({ data }) => (data.delta as { partial_json?: string })?.partial_json,
    );
    expect(() => JSON.parse(json.join('')) as unknown).toThrow();
  },
  'broken-tool-json': async (go) => {
    expect((await go()).body).toContain('{\\"command\\": ls}');
    expect((await go()).body).toContain('"stop_reason":"tool_use"');
  },
  'pause-turn': async (go) => {
    expect((await go()).body).toContain('"stop_reason":"pause_turn"');
    const back = [user('hello'), assistant([{ type: 'text', text: 'Searching the web.' }])];
    expect(await say(go, { ...BASE, messages: back })).toBe('Found it.');
  },
  refusal: async (go) => {
    expect((await go()).body).toContain('"stop_reason":"refusal"');
  },
  'empty-answer': async (go) => {
    expect(namesOf((await go()).body)).toEqual(['message_start', 'message_delta', 'message_stop']);
    expect(await say(go)).toBe('Now I speak.');
  },
  'count-tokens': async (go) => {
    const { body } = await go(hello(), { path: '/v1/messages/count_tokens' });
    expect(JSON.parse(body)).toEqual({ input_tokens: 150_000 });
  },
  'count-tokens-fails': async (go) => {
    expect((await go(hello(), { path: '/v1/messages/count_tokens' })).status).toBe(529);
    expect(await say(go)).toBe('Uncounted.');
  },
  'not-strict': async (go) => {
    expect(await say(go, hello({ messages: [] }))).toBe('I take anything.');
  },
};

test('the page in docs names every example, and its own script is one', async () => {
  const page = await readFile(new URL('../../testing-server.md', FOLDER), 'utf8');
  const shown = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
  expect(await parseScriptText(shown)).toMatchObject({ ok: true });
  const basic = ['hello', 'tool-round', 'branch', 'purposes', 'thinking', 'not-strict'];
  for (const name of Object.keys(checks).filter((name) => !basic.includes(name))) {
    expect(page).toContain(`\`${name}\``);
  }
  server = await startScriptedServer({
    replies: [overloaded(), callTool('Read', { file_path: '/tmp/notes' }), 'All read.'],
  });
  for (let n = 0; n < 3; n++) await ask(server.url, hello());
  expect(page).toContain(`billed().output_tokens, ${server.billed().output_tokens})`);
});

test('every example has its check', async () => {
  const files = (await readdir(FOLDER)).map((name) => name.replace('.json', ''));
  expect(Object.keys(checks).sort()).toEqual(files.sort());
});

test.each(Object.entries(checks))('%s', async (name, check) => {
  const parsed = await parseScriptText(await readFile(new URL(`${name}.json`, FOLDER), 'utf8'));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  expect(parsed.script.description).toMatch(/\.$/);
  const running = await startScriptedServer(parsed.script);
  server = running;
  await check((body = hello(), options) => ask(running.url, body, options), running);
  expect(running.scriptErrors).toEqual([]);
});
