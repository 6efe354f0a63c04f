import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Anthropic from '@anthropic-ai/sdk';
import { build } from 'vite';
import { afterEach, describe, expect, test } from 'vitest';
import {
  callTool,
  callTools,
  computed,
  createScriptedServer,
  cut,
  emptyBody,
  forever,
  message,
  overloaded,
  proxyError,
  rateLimited,
  type Script,
  type ScriptedServer,
  type ServerOptions,
  say,
  silent,
  startScriptedServer,
  text,
  thinking,
  tooLong,
  toolResults,
  toolUse,
} from '../../../src/testing/index.ts';
import { ask, assistant, BASE, errorOf, eventsOf, hello, namesOf, textOf, user } from './client.ts';

const running: ScriptedServer[] = [];
async function start(script: Script, options: ServerOptions = {}): Promise<ScriptedServer> {
  const server = await startScriptedServer(script, options);
  running.push(server);
  return server;
}
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()));
});

describe('a message', () => {
  test('is streamed as the API streams it', async () => {
    const server = await start({
      replies: [
        message([
          thinking('hm', { pieces: 2 }),
          text('hello', { pieces: 5 }),
          toolUse('Read', { a: 1 }),
        ]),
      ],
    });
    const { status, headers, body, end } = await ask(server.url, hello());
    expect(status).toBe(200);
    expect(headers['content-type']).toContain('text/event-stream');
    expect(headers['request-id']).toBe('req_scripted_0');
    expect(end).toBe('clean');
    expect(namesOf(body)).toEqual([
      'message_start',
      'content_block_start',
      ...Array(3).fill('content_block_delta'),
      'content_block_stop',
      'content_block_start',
      ...Array(5).fill('content_block_delta'),
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(textOf(body)).toBe('hello');
    const delta = eventsOf(body).find(({ name }) => name === 'message_delta')?.data;
    expect(delta).toMatchObject({ delta: { stop_reason: 'tool_use', stop_sequence: null } });
  });

  test('is read by the official SDK, streamed and not', async () => {
    const script = { replies: [callTool('Read', { file_path: 'ä🙂' }), say('whole')] };
    const server = await start(script);
    const client = new Anthropic({ apiKey: 'any', baseURL: server.url, maxRetries: 0 });
    const request = { ...BASE, messages: [{ role: 'user' as const, content: 'hi' }] };
    const streamed = await client.messages.stream(request).finalMessage();
    expect(streamed.content).toMatchObject([
      { type: 'tool_use', id: 'toolu_scripted_1', name: 'Read', input: { file_path: 'ä🙂' } },
    ]);
    expect(streamed.stop_reason).toBe('tool_use');
    const whole = await client.messages.create({ ...request, stream: false });
    expect(whole.content).toEqual([{ type: 'text', text: 'whole' }]);
    expect(whole.usage.output_tokens).toBe(2); // 5 characters
    expect(server.violations).toEqual([]);
  });

  test('has usage that can be worked out by hand, and overridden field by field', async () => {
    const server = await start({
      replies: [
        say('12345678'),
        say('x', { usage: { output_tokens: 77 }, startUsage: { input_tokens: null } }),
        say('x', { startUsage: null, finalUsage: null }),
      ],
    });
    const usages = async () => {
      const events = eventsOf((await ask(server.url, hello())).body);
      const first = events[0]?.data.message as { usage?: unknown };
      return [first.usage, events.find(({ name }) => name === 'message_delta')?.data.usage];
    };
    const [start1, final1] = await usages();
    // "hello" is 5 characters: 2 tokens.
    expect(start1).toMatchObject({ input_tokens: 2, output_tokens: 1, cache_read_input_tokens: 0 });
    expect(final1).toMatchObject({ input_tokens: 2, output_tokens: 2 });
    const [start2, final2] = await usages();
    expect(start2).toMatchObject({ input_tokens: null, output_tokens: 1 });
    expect(final2).toMatchObject({ input_tokens: 2, output_tokens: 77 });
    expect(await usages()).toEqual([undefined, undefined]);
    expect(server.billed()).toMatchObject({ input_tokens: 4, output_tokens: 79 });
  });

  test('can miss any of its frames, and have any more', async () => {
    const server = await start({
      replies: [
        say('a', { omit: ['message_start', 'message_stop'] }),
        message([text('a', { noStop: true })], { omit: ['message_delta'] }),
        say('ab', {
          pings: 2,
          inserts: [
            { after: { block: 0, delta: -1 }, event: { type: 'future_event', data: { x: 1 } } },
            { after: 'blocks', raw: ': a comment\r\n\r\n' },
          ],
        }),
        message([{ type: 'raw', start: { type: 'hologram' }, deltas: [{ type: 'beam_delta' }] }]),
      ],
    });
    const bodies = [];
    for (let n = 0; n < 4; n++) bodies.push((await ask(server.url, hello())).body);
    expect(namesOf(bodies[0] ?? '')).toEqual([
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
    ]);
    expect(namesOf(bodies[1] ?? '')).not.toContain('content_block_stop');
    expect(bodies[2]).toContain('event: ping\ndata: {"type":"ping"}\n\nevent: ping');
    expect(bodies[2]).toContain('data: {"type":"future_event","x":1}');
    expect(bodies[2]).toContain(': a comment\r\n\r\nevent: message_delta');
    expect(bodies[3]).toContain('"content_block":{"type":"hologram"}');
    expect(bodies[3]).toContain('"delta":{"type":"beam_delta"}');
  });
});

describe('faults of a stream', () => {
  const broken = (fault: NonNullable<Parameters<typeof say>[1]>['fault']) => ({
    replies: [message([text('one', { pieces: 3 }), text('two')], fault ? { fault } : {})],
  });

  test('cut after a block: whole events, then a broken connection', async () => {
    const server = await start(broken({ kind: 'cut', after: { block: 0 } }));
    const { body, end, errorCode } = await ask(server.url, hello());
    expect(end).toBe('broken');
    expect(errorCode).toBe('ECONNRESET');
    expect(namesOf(body).at(-1)).toBe('content_block_stop');
    expect(textOf(body)).toBe('one');
    await server.until(({ type }) => type === 'answered');
    expect(server.billed()).toMatchObject({ input_tokens: 0 });
    expect(server.billed({ includingBroken: true })).toMatchObject({ input_tokens: 2 });
  });

  test('cut in the middle of a block', async () => {
    const server = await start(broken({ kind: 'cut', after: { block: 0, delta: 1 } }));
    const { body, end } = await ask(server.url, hello());
    expect(end).toBe('broken');
    expect(textOf(body)).toBe('on');
  });

  test('cut after exactly so many bytes, which may be within an event', async () => {
    const server = await start(broken({ kind: 'cut', after: { bytes: 100 } }));
    const { body, end } = await ask(server.url, hello());
    expect(end).toBe('broken');
    expect(Buffer.byteLength(body)).toBe(100);
  });

  test('cut by RST', async () => {
    const server = await start(
      broken({ kind: 'cut', reset: true, after: 'message_start', delayMs: 50 }),
    );
    const { end, errorCode } = await ask(server.url, hello());
    expect([end, errorCode]).toEqual(['broken', 'ECONNRESET']);
  });

  test('clean end without message_stop', async () => {
    const server = await start(broken({ kind: 'end', after: { events: 4 } }));
    const { body, end } = await ask(server.url, hello());
    expect(end).toBe('clean');
    expect(namesOf(body)).toHaveLength(4);
  });

  test('error event, also as the very first', async () => {
    const error = { type: 'api_error', message: 'sorry' };
    const server = await start({
      replies: [
        say('x', { fault: { kind: 'error', after: 'headers', error } }),
        say('x', { fault: { kind: 'error', after: 'message_delta' } }),
      ],
    });
    const first = await ask(server.url, hello());
    expect([first.status, first.end]).toEqual([200, 'clean']);
    expect(eventsOf(first.body)).toEqual([{ name: 'error', data: { type: 'error', error } }]);
    const second = await ask(server.url, hello());
    expect(namesOf(second.body).slice(-2)).toEqual(['message_delta', 'error']);
    expect(second.body).toContain('overloaded_error');
  });

  test('a line that is no JSON', async () => {
    const server = await start(broken({ kind: 'garbage', after: 'blocks' }));
    const { body, end } = await ask(server.url, hello());
    expect(end).toBe('clean');
    expect(body.endsWith('data: {"type":"content_block_delta","index":0,"del\n\n')).toBe(true);
  });

  test('stall: nothing more, the connection stays; close() ends it', async () => {
    const server = await start(broken({ kind: 'stall', after: { block: 0 } }));
    let hasRead = false;
    const answer = ask(server.url, hello(), {
      leaveWhen: (body) => {
        hasRead = body.includes('content_block_stop');
        return false;
      },
    });
    await expect.poll(() => hasRead).toBe(true);
    expect(await server.until(({ type }) => type === 'fault')).toMatchObject({
      fault: { kind: 'stall' },
    });
    await server.close();
    const { body, end } = await answer;
    expect(end).toBe('broken');
    expect(textOf(body)).toBe('one');
  });

  test('stall with pings: alive, and nothing else', async () => {
    const server = await start(broken({ kind: 'stall', after: { block: 0 }, pingEveryMs: 1 }));
    const { body } = await ask(server.url, hello(), {
      leaveWhen: (body) => body.split('event: ping').length > 5,
    });
    const names = namesOf(body);
    expect(new Set(names.slice(names.indexOf('content_block_stop') + 1))).toEqual(
      new Set(['ping']),
    );
    expect(await server.until(({ type }) => type === 'client_closed')).toBeDefined();
  });

  test('drip: tiny deltas for ever, in a block of their own', async () => {
    const server = await start(
      broken({ kind: 'drip', after: { block: 1 }, everyMs: 1, text: '~' }),
    );
    const { body } = await ask(server.url, hello(), { leaveWhen: (body) => body.includes('~') });
    expect(body).toContain('"type":"content_block_start","index":2');
  });

  test('without streaming: a status for an error, half of the body for the rest', async () => {
    const server = await start({
      replies: [
        say('x', { fault: { kind: 'error', after: 'blocks' } }),
        say('x', { fault: { kind: 'cut', after: 'blocks' } }),
        say('x', { fault: { kind: 'end', after: 'blocks' } }),
      ],
    });
    const request = hello({ stream: false });
    expect((await ask(server.url, request)).status).toBe(529);
    const second = await ask(server.url, request);
    expect([second.status, second.end]).toEqual([200, 'broken']);
    const third = await ask(server.url, request);
    expect(third.end).toBe('clean');
    expect(() => JSON.parse(third.body) as unknown).toThrow();
  });

  test('a client that does not read an endless stream fills no memory', async () => {
    const server = await start({
      replies: [
        say('x', {
          fault: { kind: 'drip', after: 'blocks', everyMs: 1, text: 'x'.repeat(500_000) },
        }),
      ],
    });
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.pause();
    const body = JSON.stringify(hello());
    socket.write(
      `POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await server.until(({ type }) => type === 'fault');
    const deltas = () => server.log.filter(({ type }) => type === 'event').length;
    let before = -1;
    // The kernel's buffers take some megabytes; then the server waits for the client.
    for (let round = 0; round < 100 && before !== deltas(); round++) {
      before = deltas();
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    expect(deltas()).toBe(before);
    expect(deltas()).toBeLessThan(60);
    socket.destroy();
  });
});

describe('faults of a whole answer', () => {
  test('status, headers and the API error body', async () => {
    const server = await start({ replies: [overloaded(), rateLimited('7'), tooLong(9, 8)] });
    const first = await ask(server.url, hello());
    expect(first.status).toBe(529);
    expect(JSON.parse(first.body)).toEqual({
      type: 'error',
      error: { type: 'overloaded_error', message: 'Overloaded' },
      request_id: 'req_scripted_0',
    });
    const second = await ask(server.url, hello());
    expect([second.status, second.headers['retry-after']]).toEqual([429, '7']);
    expect(errorOf(await ask(server.url, hello())).message).toBe(
      'prompt is too long: 9 tokens > 8 maximum',
    );
  });

  test('cut before headers', async () => {
    const server = await start({ replies: [cut()] });
    await expect(ask(server.url, hello())).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  test('an HTML page of a proxy, and a 200 without a byte', async () => {
    const server = await start({ replies: [proxyError(413, 'Payload Too Large'), emptyBody()] });
    const page = await ask(server.url, hello());
    expect([page.status, page.headers['content-type']]).toEqual([413, 'text/html']);
    expect(page.body).toMatch(/^<html>/);
    const empty = await ask(server.url, hello());
    expect([empty.status, empty.body, empty.end]).toEqual([200, '', 'clean']);
  });

  test('silence, and headers that are late', async () => {
    const server = await start({ replies: [say('late', { headersDelayMs: 30 }), silent()] });
    const before = performance.now();
    expect(textOf((await ask(server.url, hello())).body)).toBe('late');
    expect(performance.now() - before).toBeGreaterThanOrEqual(29);
    const never = ask(server.url, hello());
    await server.until((entry) => entry.type === 'reply' && entry.verdict === 'silence');
    await server.close();
    await expect(never).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});

describe('which reply is taken', () => {
  test('in order, then a word that the script is over', async () => {
    const server = await start({ replies: ['a', say('b', { times: 2 }), 'c'] });
    expect(server.repliesLeft).toBe(4);
    const texts = [];
    for (let n = 0; n < 5; n++) texts.push(textOf((await ask(server.url, hello())).body));
    expect(texts).toEqual(['a', 'b', 'b', 'c', 'The script has no more replies.']);
    expect(server.repliesLeft).toBe(0);
  });

  test('a step with `when` in front is a branch', async () => {
    const server = await start({
      replies: [
        say('it failed', { when: { toolResultIncludes: 'FAIL' } }),
        say('it is fine', { when: { toolResultIncludes: 'PASS' } }),
        callTools([
          ['Bash', { command: 'a' }],
          ['Bash', { command: 'b' }],
        ]),
      ],
    });
    await ask(server.url, hello());
    const calls = ['1', '2'].map((n) => toolUse('Bash', {}, { id: `toolu_scripted_${n}` }));
    const results = ['ok', 'FAIL 3'].map((content, at) => ({
      type: 'tool_result',
      tool_use_id: `toolu_scripted_${at + 1}`,
      content: [{ type: 'text', text: content }],
    }));
    const next = { ...BASE, messages: [user('hello'), assistant(calls), user(results)] };
    expect(textOf((await ask(server.url, next)).body)).toBe('it failed');
  });

  test('by purpose: side calls have replies of their own and take none of the loop', async () => {
    const server = await start({
      replies: ['loop', say('picked', { when: { purpose: 'hook_agent' } })],
      compactions: ['first', 'second'],
    });
    const say1 = async (purpose: string) =>
      textOf((await ask(server.url, hello(), { purpose })).body);
    expect(await say1('compact')).toBe('first');
    expect(await say1('compact')).toBe('second');
    expect(await say1('compact')).toBe('second');
    expect(await say1('collapse')).toContain('FOLDED-1');
    expect(await say1('hook_agent')).toBe('picked');
    expect(await say1('hook_agent')).toBe('{"ok":true}');
    expect(await say1('subagent')).toBe('loop');
    expect(server.requestsOf('compact').map(({ n }) => n)).toEqual([0, 1, 2]);
    expect(server.requests.map(({ sequence }) => sequence)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  test('by model, first text, system prompt and a function', async () => {
    const server = await start({
      replies: [
        say('small', { when: { model: 'small' } }),
        say('child', { when: { firstTextIncludes: 'subtask' } }),
        say('pirate', { when: { systemIncludes: 'ahoy' } }),
        say('many', { when: { matches: ({ body }) => (body.messages as unknown[]).length > 2 } }),
        computed((request, n) => `n=${n} bytes=${request.bytes}`, { times: 'always' }),
      ],
    });
    const said = async (body: unknown) => textOf((await ask(server.url, body)).body);
    expect(await said(hello())).toMatch(/^n=0 bytes=\d+$/);
    expect(await said(hello({ model: 'small' }))).toBe('small');
    expect(await said(hello({ messages: [user('do the subtask')] }))).toBe('child');
    expect(await said(hello({ system: [{ type: 'text', text: 'ahoy!' }] }))).toBe('pirate');
    expect(await said(hello({ messages: [user('a'), assistant('b'), user('c')] }))).toBe('many');
  });

  test('forever falls silent after its limit', async () => {
    const server = await start({ replies: forever(overloaded(), 2) });
    expect((await ask(server.url, hello())).status).toBe(529);
    expect((await ask(server.url, hello())).status).toBe(529);
    void ask(server.url, hello()).catch(() => {});
    expect(
      await server.until((entry) => entry.type === 'reply' && entry.verdict === 'silence'),
    ).toBeDefined();
  });

  test('a mistake in the script is a 400 that says so, and is kept', async () => {
    const server = await start({
      replies: [
        say('x', { fault: { kind: 'cut', after: { block: 4 } } }),
        () => {
          throw new Error('no idea');
        },
      ],
    });
    const first = await ask(server.url, hello());
    expect(first.status).toBe(400);
    expect(errorOf(first).message).toContain('no place after {"block":4}');
    expect(errorOf(await ask(server.url, hello())).message).toContain('no idea');
    expect(server.scriptErrors).toHaveLength(2);
    expect(server.violations).toEqual([]);
  });
});

describe('strictness', () => {
  test('a request that breaks a rule is refused, kept, and takes no reply', async () => {
    const server = await start({ replies: ['the only one'] });
    const answer = await ask(server.url, hello({ messages: [user('')] }));
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toEqual({
      type: 'invalid_request_error',
      message: 'strict: S4 messages.0.content.0: text is empty or white space',
    });
    expect(server.violations).toMatchObject([{ rule: 'S4', request: 0 }]);
    expect(textOf((await ask(server.url, hello())).body)).toBe('the only one');
    expect(server.requests.map(({ n }) => n)).toEqual([0, 0]);
  });

  test('strict: false lets all pass but the window', async () => {
    const server = await start({ replies: ['fine'], window: 50 }, { strict: false });
    expect((await ask(server.url, hello({ messages: [assistant('')] }))).status).toBe(200);
    const long = await ask(server.url, hello({ messages: [user('x'.repeat(201))] }));
    expect(errorOf(long).message).toBe('prompt is too long: 51 tokens > 50 maximum');
  });

  test('a prompt above the window is refused and no violation', async () => {
    const server = await start({ replies: ['ok'], window: 50 });
    const request = (length: number) => hello({ messages: [user('x'.repeat(length))] });
    expect((await ask(server.url, request(204))).status).toBe(400);
    expect((await ask(server.url, request(200))).status).toBe(200);
    expect(server.violations).toEqual([]);
  });

  test('what is no JSON, or no UTF-8, is refused under S10', async () => {
    const server = await start({});
    for (const body of ['{', '[1]', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])]) {
      expect((await ask(server.url, body)).status).toBe(400);
    }
    expect(server.violations.map(({ rule }) => rule)).toEqual(['S10', 'S10', 'S10']);
  });

  test('S14 is a 413', async () => {
    const server = await start({});
    const answer = await ask(server.url, hello({ messages: [user('x'.repeat(33 * 1024 * 1024))] }));
    expect(answer.status).toBe(413);
    expect(errorOf(answer).type).toBe('request_too_large');
  });

  test('only a message that pause_turn ended may come back last, unchanged', async () => {
    const server = await start({
      replies: [message([text('working'), text('  ')], { stopReason: 'pause_turn' }), 'on it', 'x'],
    });
    await ask(server.url, hello());
    const resume = (words: string) =>
      hello({ messages: [user('hello'), assistant([{ type: 'text', text: words }])] });
    expect((await ask(server.url, resume('working hard'))).status).toBe(400);
    expect(textOf((await ask(server.url, resume('working'))).body)).toBe('on it');
  });

  test('keys are demanded if asked for, and never kept', async () => {
    const server = await start({ replies: ['a', 'b'] }, { requireKey: true });
    const secrets = {
      authorization: 'Bearer secret-token',
      cookie: 'secret-cookie',
      'proxy-authorization': 'secret-proxy',
    };
    await ask(server.url, hello(), { headers: secrets });
    expect(server.requests[0]?.hasKey).toBe(true);
    const response = await fetch(`${server.url}/v1/messages`, {
      method: 'POST',
      body: JSON.stringify(hello()),
    });
    expect(response.status).toBe(401);
    await response.text();
    expect(JSON.stringify([server.requests, server.log])).not.toContain('secret');
  });
});

describe('other endpoints', () => {
  test('count_tokens: the estimate, a number, or a fault', async () => {
    const path = '/v1/messages/count_tokens';
    const body = { model: 'm', system: 'four', messages: [user('12345678')] };
    const count = async (script: Script) => ask((await start(script)).url, body, { path });
    expect(JSON.parse((await count({})).body)).toEqual({ input_tokens: 3 });
    expect(JSON.parse((await count({ countTokens: 123 })).body)).toEqual({ input_tokens: 123 });
    expect((await count({ countTokens: overloaded() })).status).toBe(529);
  });

  test('models, HEAD, and what is not there', async () => {
    const server = await start({ window: 77 });
    const client = new Anthropic({ apiKey: 'any', baseURL: server.url, maxRetries: 0 });
    expect(await client.models.retrieve('some-model')).toMatchObject({
      id: 'some-model',
      max_input_tokens: 77,
    });
    expect((await fetch(server.url, { method: 'HEAD' })).status).toBe(200);
    expect((await ask(server.url, {}, { path: '/v1/nothing' })).status).toBe(404);
  });
});

describe('the socket', () => {
  test('is on loopback only', async () => {
    const server = await start({});
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const others = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ family, internal }) => family === 'IPv4' && !internal);
    for (const { address } of others) {
      const socket = connect(Number(new URL(server.url).port), address);
      const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
      expect(error.code).toBe('ECONNREFUSED');
    }
  });

  test('has no url before listen, and a taken port is an error', async () => {
    const server = await start({});
    const second = createScriptedServer({});
    expect(() => second.url).toThrow('listen');
    await expect(second.listen(Number(new URL(server.url).port))).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
  });

  test('nothing keeps a process alive after close()', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'scripted-server-'));
    const entry = fileURLToPath(
      new URL('../../../src/testing/scripted-server.ts', import.meta.url),
    );
    await build({
      configFile: false,
      logLevel: 'error',
      build: {
        ssr: entry,
        outDir: folder,
        rollupOptions: { output: { entryFileNames: 'server.mjs' } },
      },
    });
    const long = 600_000;
    const program = `
      import { request } from 'node:http';
      import { startScriptedServer } from './server.mjs';
      const stall = { kind: 'stall', after: 'headers', pingEveryMs: ${long} };
      const server = await startScriptedServer({ replies: [
        { kind: 'message', content: [], headersDelayMs: ${long} },
        { kind: 'silent' },
        { kind: 'message', content: [], fault: stall },
      ] });
      const body = JSON.stringify(${JSON.stringify(hello())});
      for (let n = 0; n < 3; n++) {
        request(server.url + '/v1/messages', { method: 'POST', agent: false })
          .on('response', (response) => response.on('error', () => {}).resume())
          .on('error', () => {})
          .end(body);
      }
      void server.until(() => false, ${long});
      await server.until((entry) => entry.type === 'fault');
      await server.close();
      console.log('closed');
    `;
    await writeFile(join(folder, 'main.mjs'), program);
    // It leaves by itself long before the timeout kills it, or the run rejects.
    const run = promisify(execFile)(process.execPath, [join(folder, 'main.mjs')], {
      timeout: 15_000,
    });
    expect((await run).stdout).toBe('closed\n');
    await rm(folder, { recursive: true });
  });
});

test('toolResults reads both forms of content', async () => {
  const body = {
    messages: [
      user([
        { type: 'tool_result', tool_use_id: 'a', content: 'plain' },
        {
          type: 'tool_result',
          tool_use_id: 'b',
          is_error: true,
          content: [text('in'), text('two')],
        },
      ]),
    ],
  };
  expect(toolResults({ body })).toEqual([
    { toolUseId: 'a', text: 'plain', isError: false },
    { toolUseId: 'b', text: 'in\ntwo', isError: true },
  ]);
});
