import { getEventListeners } from 'node:events';
import net from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { createCallModel } from '../../../services/model/call-model.ts';
import { createClient } from '../../../services/model/client.ts';
import type { ModelClient, ModelEvent } from '../../../services/model/types.ts';
import { Answer, ask, counter, modelAt, prompt, requestFor } from './ask.ts';
import {
  begin,
  call,
  delta,
  end,
  fixture,
  openCall,
  ping,
  type Reply,
  refuse,
  type Step,
  serve,
  sse,
  start,
  stop,
  stream,
  text,
} from './sse-server.ts';

const answerTo = async (...steps: Step[]) => ask((await serve(stream(...steps))).url);

/** Where nobody listens any more. */
async function closedUrl(): Promise<string> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

describe('a whole answer', () => {
  it('comes as blocks, with the usage of the last report (USE-01)', async () => {
    const { url } = await serve(fixture('text'));
    const answer = await ask(url);
    expect(answer.kinds).toEqual(['opened', 'block', 'ended']);
    expect(answer.messages).toMatchObject([
      {
        uuid: 'u1',
        role: 'assistant',
        kind: 'text',
        origin: 'model',
        apiId: 'msg_text',
        model: 'claude-sonnet-5-5',
        timestamp: '2026-11-30T12:00:00.000Z',
        content: [{ type: 'text', text: 'Hello, world' }],
      },
    ]);
    expect(answer.ended).toEqual({
      type: 'ended',
      stopReason: 'end_turn',
      usage: {
        input_tokens: 27,
        output_tokens: 47,
        cache_read_input_tokens: 1000,
        cache_creation_input_tokens: 50,
      },
    });
  });

  it('names on its raw events the message that a block will become', async () => {
    const { url } = await serve(fixture('text'));
    const answer = await ask(url);
    const raw = answer.of('raw').map((e) => [e.event.type, e.messageUuid]);
    expect(raw).toEqual([
      ['message_start', undefined],
      ['content_block_start', 'u1'],
      ['content_block_delta', 'u1'],
      ['content_block_delta', 'u1'],
      ['content_block_stop', 'u1'],
      ['message_delta', undefined],
      ['message_delta', undefined],
      ['message_stop', undefined],
    ]);
    expect(answer.messages[0]?.uuid).toBe('u1');
  });

  it('keeps interleaved thinking as it came, calls as soon as they are whole (CONT-04)', async () => {
    const { url } = await serve(fixture('interleaved-thinking'));
    const answer = await ask(url);
    expect(answer.messages.flatMap(({ content }) => content)).toEqual([
      { type: 'thinking', thinking: 'one', signature: 's1' },
      { type: 'tool_use', id: 't1', name: 'Read', input: { file_path: '/w/a' } },
      { type: 'redacted_thinking', data: 'ZZZ' },
      { type: 'thinking', thinking: ' two ', signature: 's2' },
      { type: 'tool_use', id: 't2', name: 'Read', input: { file_path: '/w/b' } },
    ]);
    expect(answer.messages.map(({ kind }) => kind)).toEqual([
      'thinking',
      'tool_use',
      'thinking',
      'thinking',
      'tool_use',
    ]);
    expect(new Set(answer.messages.map(({ apiId }) => apiId))).toEqual(new Set(['msg_think']));
    // The empty text was begun, and is taken back.
    expect(answer.of('dropped').map((e) => e.messageUuid)).toEqual(['u2']);
  });

  it('hands a call over while the stream goes on', async () => {
    const { url, received } = await serve(
      stream(start(), call(0, 't1', '{"command":"ls"}'), { waitMs: 5_000 }, end('tool_use')),
    );
    const controller = new AbortController();
    const events = modelAt(url)(requestFor({ signal: controller.signal }));
    for await (const event of events) if (event.type === 'toolUse') break;
    expect(received[0]?.written).toBe(2);
    await vi.waitFor(() => expect(received[0]?.isHungUp).toBe(true));
  });

  it('calls a tool without arguments with {} (CONT-11)', async () => {
    const answer = await answerTo(start(), call(0, 't1', ''), call(1, 't2'), end('tool_use'));
    expect(answer.of('toolUse').map((e) => e.block.input)).toEqual([{}, {}]);
    expect(answer.messages.every(({ unreadable }) => unreadable === undefined)).toBe(true);
  });

  it('takes an input that comes whole with the start of its block', async () => {
    const given = { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } };
    const answer = await answerTo(start(), begin(0, given), stop(0), end('tool_use'));
    expect(answer.of('toolUse')[0]?.block.input).toEqual({ command: 'ls' });
  });

  it('passes unknown events, blocks and deltas through', async () => {
    const { url } = await serve(fixture('unknown-kinds'));
    const answer = await ask(url);
    expect(answer.messages.map(({ kind, content }) => [kind, content[0]])).toEqual([
      [
        'other',
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
      ],
      ['other', { type: 'hologram', frames: [1, 2], of: { deep: true } }],
      ['text', { type: 'text', text: 'seen' }],
    ]);
    expect(answer.of('raw').map((e) => e.event.type as string)).toContain('weather_report');
    expect(answer.ended).toMatchObject({ stopReason: 'end_turn', stopDetails: { type: 'later' } });
    expect(answer.warnings).toEqual([]);
  });

  it('is not waited for beyond its end', async () => {
    const { url, received } = await serve(stream(start(), text(0, 'a'), end(), 'stall'));
    const answer = await ask(url);
    expect(answer.kinds).toEqual(['opened', 'block', 'ended']);
    await vi.waitFor(() => expect(received[0]?.isHungUp).toBe(true));
  });

  it('reuses the connection', async () => {
    const { url, received } = await serve(fixture('text'));
    const model = modelAt(url);
    for (const _ of [1, 2]) for await (const _event of model(requestFor())) void _event;
    expect(received.map(({ isHungUp }) => isHungUp)).toEqual([false, false]);
  });

  it.each([
    ['stop_sequence'],
    ['pause_turn'],
    ['refusal'],
    ['model_context_window_exceeded'],
    ['max_tokens'],
  ])('ends with stop reason %s (LIM-05, LIM-07)', async (reason) => {
    const answer = await answerTo(start(), text(0, 'a'), end(reason));
    expect(answer.ended?.stopReason).toBe(reason);
    expect(answer.warnings).toEqual([]);
  });

  it.each([[null], ['tired'], [7]])(
    'takes the stop reason %s as end_turn, and says so',
    async (r) => {
      const answer = await answerTo(start(), text(0, 'a'), end(r));
      expect(answer.ended?.stopReason).toBe('end_turn');
      expect(answer.warnings).toHaveLength(1);
    },
  );
});

it('what the API has left out is not forgotten for a second message_delta', async () => {
  const edit = { type: 'clear_tool_uses_20250919', cleared_input_tokens: 7, cleared_tool_uses: 2 };
  const first = sse('message_delta', {
    delta: { stop_reason: 'end_turn' },
    context_management: { applied_edits: [edit] },
  });
  const answer = await answerTo(start(), text(0, 'hello'), first, end());
  expect(answer.ended).toMatchObject({ edited: { clearedTokens: 7, clearedUses: 2 } });
});

describe('usage that is none', () => {
  it.each([
    ['missing', {}, {}, [0, 0]],
    ['null', null, null, [0, 0]],
    ['negative', { input_tokens: -5, output_tokens: -1 }, { output_tokens: -9 }, [69, 1]],
    ['text', { input_tokens: '12', output_tokens: 'NaN' }, { output_tokens: {} }, [69, 1]],
    [
      'null by field',
      { input_tokens: 9, output_tokens: 1 },
      { input_tokens: null, output_tokens: 4 },
      [9, 4],
    ],
    [
      'zero in the second report',
      { input_tokens: 9 },
      { input_tokens: 0, output_tokens: 4 },
      [9, 4],
    ],
  ])('%s', async (_, first, second, [input, output]) => {
    const answer = await answerTo(start(first), text(0, 'a'), end('end_turn', second));
    expect(answer.ended?.usage).toEqual({
      input_tokens: input,
      output_tokens: output,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    });
  });
});

describe('a call that cannot be read', () => {
  it.each([
    ['broken', '{"tag": "A", oops', /no valid JSON/],
    ['a string', '"rm -rf"', /a string, not a JSON object/],
    ['an array', '["ls"]', /an array, not/],
    ['a number', '42', /a number, not/],
    ['null', 'null', /null, not/],
    ['too deep', `${'{"a":'.repeat(300)}1${'}'.repeat(300)}`, /deeper than 200/],
  ])('%s: is unparsable', async (_, json, detail) => {
    const answer = await answerTo(start(), call(0, 't1', json), end('tool_use'));
    const [event] = answer.of('toolUse');
    expect(event?.block).toEqual({ type: 'tool_use', id: 't1', name: 'Bash', input: {} });
    expect(event?.message.unreadable).toMatchObject({ cause: 'unparsable', raw: json });
    expect(event?.message.unreadable?.detail).toMatch(detail);
    expect(answer.kinds).toEqual(['opened', 'toolUse', 'ended']);
  });

  it('comes in its place when another block begins', async () => {
    const answer = await answerTo(
      start(),
      call(0, 't1', '{"a'),
      text(1, 'x'),
      call(2, 't2', '{}'),
      end('max_tokens'),
    );
    expect(answer.messages.map((m) => m.toolUseId ?? m.kind)).toEqual(['t1', 'text', 't2']);
    expect(answer.messages[0]?.unreadable?.cause).toBe('unparsable');
  });

  it('is dropped when the output limit cut it and nothing was called before (LIM-01)', async () => {
    const answer = await answerTo(
      start(),
      text(0, 'I write'),
      call(1, 't1', '{"file_path":"/w/big.md"'),
      end('max_tokens'),
    );
    expect(answer.kinds).toEqual(['opened', 'block', 'dropped', 'ended']);
    expect(answer.of('dropped')[0]?.messageUuid).toBe('u2');
    expect(answer.ended?.stopReason).toBe('max_tokens');
  });

  it.each([
    ['closed', call(1, 't2', '{"file_path":"/w')],
    ['never closed', openCall(1, 't2', '{"file_path":"/w')],
  ])('is handed over as cut after a whole call (%s)', async (_, second) => {
    const answer = await answerTo(start(), call(0, 't1', '{}'), second, end('max_tokens'));
    expect(answer.kinds).toEqual(['opened', 'toolUse', 'toolUse', 'ended']);
    expect(answer.messages[1]).toMatchObject({
      toolUseId: 't2',
      content: [{ type: 'tool_use', id: 't2', input: {} }],
      unreadable: { cause: 'cut', raw: '{"file_path":"/w' },
    });
  });

  it('is run when it is whole, also at the output limit', async () => {
    const answer = await answerTo(start(), call(0, 't1', '{"command":"ls"}'), end('max_tokens'));
    expect(answer.of('toolUse')[0]?.message.unreadable).toBeUndefined();
  });

  it('is dropped when its block never stopped', async () => {
    const answer = await answerTo(start(), openCall(0, 't1', '{}'), end('tool_use'));
    expect(answer.kinds).toEqual(['opened', 'dropped', 'ended']);
  });

  it.each([
    ['never closed', openCall(1, 't1', '{"a":1')],
    ['closed and broken', call(1, 't1', '{"a":1')],
    ['closed in JSON only', openCall(1, 't1', '{"a":1}')],
  ])('is dropped when the stream dies (%s)', async (_, cutCall) => {
    const answer = await answerTo(start(), text(0, 'a'), cutCall, 'cut');
    expect(answer.kinds).toEqual(['opened', 'block', 'dropped', 'failed']);
  });
});

describe('ids of calls', () => {
  it('drops the second call of one id before it is shown (PAIR-08)', async () => {
    const json = '{"command":"echo x >> /w/log"}';
    const answer = await answerTo(
      start(),
      call(0, 't1', json),
      call(1, 't1', json),
      end('tool_use'),
    );
    expect(answer.kinds).toEqual(['opened', 'toolUse', 'warning', 'ended']);
    expect(answer.warnings[0]).toContain('t1');
    const shown = answer.of('raw').map((e) => ('index' in e.event ? e.event.index : -1));
    expect(shown).not.toContain(1);
    expect(answer.shown).toEqual(new Set(['u1']));
  });

  it('gives a call of an id that history has one of its own', async () => {
    const { url } = await serve(stream(start(), call(0, 't1', '{}'), text(1, 'a'), end()));
    const messages = [
      prompt,
      {
        ...prompt,
        uuid: 'old',
        role: 'assistant',
        kind: 'tool_use',
        toolUseId: 't1',
        content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: {} }],
      },
      {
        ...prompt,
        uuid: 'result',
        kind: 'tool_result',
        toolUseId: 't1',
        content: [{ type: 'tool_result', tool_use_id: 't1', content: 'x' }],
      },
    ] as const;
    const answer = await ask(url, { request: { messages } });
    expect(answer.kinds).toEqual(['opened', 'warning', 'toolUse', 'block', 'ended']);
  });

  it.each([
    ['empty', ''],
    ['missing', undefined],
    ['odd', 'functions.Bash:0'],
    ['with a lone surrogate', 'a\ud83d'],
  ])('replaces an id that is %s, in the raw event too', async (_, id) => {
    const answer = await answerTo(start(), call(0, id, '{}'), end('tool_use'));
    const [event] = answer.of('toolUse');
    expect(event?.block.id).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(event?.message.toolUseId).toBe(event?.block.id);
    const shown = answer.of('raw').find((e) => e.event.type === 'content_block_start')?.event;
    expect(shown).toMatchObject({ content_block: { id: event?.block.id } });
    expect(answer.warnings).toHaveLength(1);
  });

  it('takes two empty ids for two calls', async () => {
    const answer = await answerTo(start(), call(0, '', '{}'), call(1, '', '{}'), end('tool_use'));
    const ids = answer.of('toolUse').map((e) => e.block.id);
    expect(new Set(ids).size).toBe(2);
  });

  it('gives a call a name that the API takes back', async () => {
    const given = { type: 'tool_use', id: 't1', name: 'my tool!', input: {} };
    const answer = await answerTo(start(), begin(0, given), stop(0), end('tool_use'));
    expect(answer.of('toolUse')[0]?.block.name).toBe('my_tool_');
  });

  it('gives an answer an id of its own when the gateway gives all the same', async () => {
    const { url } = await serve(stream(start({}, 'chatcmpl-1'), text(0, 'a'), end()));
    const before = { ...prompt, uuid: 'a', role: 'assistant', apiId: 'chatcmpl-1' } as const;
    const answer = await ask(url, { request: { messages: [prompt, before, prompt] } });
    expect(answer.messages[0]?.apiId).toMatch(/^msg_/);
  });
});

describe('characters', () => {
  it('puts a pair together that came in two deltas', async () => {
    const answer = await answerTo(start(), text(0, 'x\ud83d', '\ude00y'), end());
    expect(answer.messages[0]?.content[0]).toMatchObject({ text: 'x😀y' });
  });

  it('replaces lone surrogates in text; an input that has one is not run, keys too (S10)', async () => {
    const answer = await answerTo(
      start(),
      text(0, 'cut \ud83d'),
      call(1, 't1', '{"a\\ud83d":["\\ude00"]}'),
      end('tool_use'),
    );
    expect(answer.messages[0]?.content[0]).toMatchObject({ text: 'cut \ufffd' });
    expect(answer.of('toolUse')[0]?.message.unreadable).toMatchObject({
      cause: 'unparsable',
      detail: expect.stringContaining('half of a character'),
    });
  });

  it('lets thinking that had to be mended go back to no model', async () => {
    const thinking = (thought: string) =>
      begin(0, { type: 'thinking', thinking: '', signature: '' }) +
      delta(0, { type: 'thinking_delta', thinking: thought }) +
      delta(0, { type: 'signature_delta', signature: 's' }) +
      stop(0);
    const mended = await answerTo(start(), thinking('a\ud83d'), end());
    expect(mended.messages[0]).not.toHaveProperty('model');
    const whole = await answerTo(start(), thinking('a😀'), end());
    expect(whole.messages[0]?.model).toBe('claude-sonnet-5-5');
  });
});

// The table "What you really get" of the SDK's fact sheet, and what servers do beyond it.
describe('what ends a request', () => {
  it.each([
    [
      '413 JSON',
      refuse(413, 'request_too_large', 'Request exceeds the maximum size'),
      'request_too_large',
    ],
    ['401', refuse(401, 'authentication_error', 'invalid x-api-key'), 'auth'],
    ['402', refuse(402, 'billing_error', 'pay'), 'auth'],
    ['403', refuse(403, 'permission_error', 'no'), 'auth'],
    ['404', refuse(404, 'not_found_error', 'model: claude-x'), 'not_found'],
    ['422', refuse(422, 'invalid_request_error', 'tools.0: wrong'), 'bad_request'],
    ['429', refuse(429, 'rate_limit_error', 'slow down'), 'rate_limited'],
    ['500', refuse(500, 'api_error', 'Internal server error'), 'server'],
    ['529', refuse(529, 'overloaded_error', 'Overloaded'), 'overloaded'],
    [
      '400 prompt',
      refuse(400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
      'prompt_too_long',
    ],
  ])('%s', async (_, reply, expected) => {
    const { url, received } = await serve(reply);
    const answer = await ask(url);
    expect(answer.kinds).toEqual(['failed']);
    expect(answer.failure).toMatchObject({ class: expected, status: reply.status, jitter: 0.25 });
    // One owner of retries, and it is not the SDK.
    expect(received).toHaveLength(1);
  });

  it('413 with the HTML of a proxy', async () => {
    const html =
      '<!doctype html><html><head><title>413 Request Entity Too Large</title></head></html>';
    const { url } = await serve({
      status: 413,
      headers: { 'content-type': 'text/html' },
      steps: [html],
    });
    const { failure } = await ask(url);
    expect(failure).toMatchObject({ class: 'request_too_large', status: 413 });
    expect(failure?.detail).toBe('413: an HTML page, "413 Request Entity Too Large"');
  });

  it('an error event in the stream has no status (RTY-01)', async () => {
    const error = sse('error', { error: { type: 'overloaded_error', message: 'Overloaded' } });
    const answer = await answerTo(start(), begin(0, { type: 'text', text: '' }), error);
    expect(answer.kinds).toEqual(['opened', 'dropped', 'failed']);
    expect(answer.failure).toMatchObject({
      class: 'overloaded',
      detail: 'overloaded_error: Overloaded',
    });
    expect(answer.failure).not.toHaveProperty('status');
    // What was reported of a broken stream counts.
    expect(answer.of('failed')[0]?.usage).toMatchObject({ input_tokens: 10, output_tokens: 1 });
  });

  it.each([
    ['overloaded_error', 'overloaded'],
    ['rate_limit_error', 'rate_limited'],
    ['api_error', 'server'],
    ['timeout_error', 'server'],
    ['invalid_request_error', 'bad_request'],
    ['some_new_error', 'server'],
  ])('an error event as the first event: %s', async (type, expected) => {
    const answer = await answerTo(sse('error', { error: { type, message: 'm' } }));
    expect(answer.failure?.class).toBe(expected);
  });

  it('a connection cut before the headers', async () => {
    const answer = await ask(await closedUrl());
    expect(answer.kinds).toEqual(['failed']);
    expect(answer.failure).toMatchObject({
      class: 'connection',
      detail: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('a connection cut in the stream', async () => {
    const answer = await answerTo(
      start(),
      text(0, 'whole'),
      begin(1, { type: 'text', text: '' }),
      'cut',
    );
    expect(answer.kinds).toEqual(['opened', 'block', 'dropped', 'failed']);
    expect(answer.failure?.class).toBe('connection');
  });

  it('a clean end without message_stop (RTY-09)', async () => {
    const answer = await answerTo(start(), begin(0, { type: 'text', text: 'The answer is ' }));
    expect(answer.kinds).toEqual(['opened', 'dropped', 'failed']);
    expect(answer.failure?.class).toBe('truncated');
  });

  it('a clean end after message_delta', async () => {
    const [almost = ''] = end().split('event: message_stop');
    const answer = await answerTo(start(), text(0, 'a'), almost);
    expect(answer.kinds).toEqual(['opened', 'block', 'failed']);
    expect(answer.of('failed')[0]?.usage?.output_tokens).toBe(5);
  });

  it('an empty 200', async () => {
    const answer = await answerTo();
    expect(answer.kinds).toEqual(['opened', 'failed']);
    expect(answer.failure?.class).toBe('truncated');
    expect(answer.of('failed')[0]?.usage).toBeUndefined();
  });

  it('garbage in a data line', async () => {
    const garbage = 'event: content_block_delta\ndata: {"type":"content_bl\n\n';
    const answer = await answerTo(start(), garbage, text(0, 'never'), end());
    expect(answer.kinds).toEqual(['opened', 'failed']);
    expect(answer.failure?.class).toBe('protocol');
  });

  it.each([['null'], ['7'], ['[]'], ['{}'], ['{"type":"content_block_start","index":0}']])(
    'a data line that is JSON and no event: %s',
    async (data) => {
      const odd = `event: content_block_start\ndata: ${data}\n\n`;
      const answer = await answerTo(start(), odd, text(0, 'a'), end());
      expect(answer.messages).toHaveLength(1);
      expect(answer.ended?.stopReason).toBe('end_turn');
    },
  );
});

describe('silence', () => {
  it('no bytes: stalled, and the socket is closed (RTY-02)', async () => {
    const { url, received } = await serve(
      stream(start(), begin(0, { type: 'text', text: '' }), 'stall'),
    );
    const answer = await ask(url, { limits: { idleMs: 100 } });
    expect(answer.kinds).toEqual(['opened', 'dropped', 'failed']);
    expect(answer.failure?.class).toBe('stalled');
    await vi.waitFor(() => expect(received[0]?.isHungUp).toBe(true));
  });

  it('headers and then nothing: stalled', async () => {
    const { url } = await serve(stream('stall'));
    expect((await ask(url, { limits: { idleMs: 100 } })).failure?.class).toBe('stalled');
  });

  it('no headers: timeout', async () => {
    const { url, received } = await serve({ headDelayMs: 10_000, steps: [] });
    const answer = await ask(url, { limits: { headersMs: 100 } });
    expect(answer.kinds).toEqual(['failed']);
    expect(answer.failure?.class).toBe('timeout');
    await vi.waitFor(() => expect(received[0]?.isHungUp).toBe(true));
  });

  it('pings keep a thinking model alive', async () => {
    const pings = Array.from({ length: 8 }, () => [{ waitMs: 50 }, ping] as const).flat();
    const { url } = await serve(stream(start(), ...pings, text(0, 'a'), end()));
    const answer = await ask(url, { limits: { idleMs: 250 } });
    expect(answer.ended?.stopReason).toBe('end_turn');
  });

  it('only pings: stalled in the end', async () => {
    const pings = Array.from({ length: 100 }, () => [{ waitMs: 30 }, ping] as const).flat();
    const { url } = await serve(stream(start(), ...pings));
    const answer = await ask(url, { limits: { idleMs: 1_000, quietMs: 200 } });
    expect(answer.failure).toMatchObject({
      class: 'stalled',
      detail: expect.stringContaining('signs of life'),
    });
  });

  it('a drip: the whole request has a limit', async () => {
    const drips = Array.from(
      { length: 200 },
      () => [{ waitMs: 20 }, delta(0, { type: 'text_delta', text: 'a' })] as const,
    ).flat();
    const { url, received } = await serve(
      stream(start(), begin(0, { type: 'text', text: '' }), ...drips),
    );
    const answer = await ask(url, { limits: { requestMs: 300 } });
    expect(answer.kinds).toEqual(['opened', 'dropped', 'failed']);
    expect(answer.failure?.class).toBe('timeout');
    await vi.waitFor(() => expect(received[0]?.isHungUp).toBe(true));
  });

  it('idleMs 0 switches both off', async () => {
    const { url } = await serve(stream(start(), { waitMs: 300 }, text(0, 'a'), end()));
    const answer = await ask(url, { limits: { idleMs: 0, quietMs: 50 } });
    expect(answer.ended?.stopReason).toBe('end_turn');
  });

  it('a slow consumer is no dead server', async () => {
    const { url } = await serve(stream(start(), text(0, 'a'), end()));
    const kinds: string[] = [];
    for await (const event of modelAt(url, { idleMs: 60, quietMs: 60 })(requestFor())) {
      kinds.push(event.type);
      if (event.type === 'opened') await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(kinds.at(-1)).toBe('ended');
  });
});

describe('an abort', () => {
  const aborting = async (...replies: Reply[]) => {
    const server = await serve(...replies);
    const controller = new AbortController();
    return { ...server, controller, model: modelAt(server.url) };
  };

  it('before the request costs none', async () => {
    const { received, controller, model } = await aborting(fixture('text'));
    controller.abort();
    const events: ModelEvent[] = [];
    for await (const event of model(requestFor({ signal: controller.signal }))) events.push(event);
    expect(events).toMatchObject([{ type: 'failed', isAborted: true }]);
    expect(received).toHaveLength(0);
  });

  it('before the headers', async () => {
    const { received, controller, model } = await aborting({ headDelayMs: 10_000, steps: [] });
    setTimeout(() => controller.abort(new Error('the user left')), 50);
    const events: ModelEvent[] = [];
    for await (const event of model(requestFor({ signal: controller.signal }))) events.push(event);
    expect(events).toMatchObject([{ type: 'failed', isAborted: true }]);
    await vi.waitFor(() => expect(received[0]?.isHungUp).toBe(true));
  });

  it('in the stream takes back what was begun (raw streams end quietly)', async () => {
    const { received, controller, model } = await aborting(
      stream(start(), text(0, 'whole'), begin(1, { type: 'text', text: 'part' }), 'stall'),
    );
    const events: ModelEvent[] = [];
    for await (const event of model(requestFor({ signal: controller.signal }))) {
      events.push(event);
      if (event.type === 'raw' && event.messageUuid === 'u2')
        setTimeout(() => controller.abort(), 20);
    }
    const answer = new Answer(events);
    expect(answer.kinds).toEqual(['opened', 'block', 'dropped', 'failed']);
    expect(answer.of('dropped')[0]?.messageUuid).toBe('u2');
    expect(answer.of('failed')[0]).toMatchObject({ isAborted: true, usage: { input_tokens: 10 } });
    await vi.waitFor(() => expect(received[0]?.isHungUp).toBe(true));
  });

  it('leaves no listener behind (TOOL-08)', async () => {
    const { controller, model } = await aborting(fixture('text'));
    for (let n = 0; n < 20; n++) {
      for await (const event of model(requestFor({ signal: controller.signal }))) void event;
    }
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  });
});

describe('a consumer', () => {
  const unfinished = stream(
    start(),
    text(0, 'whole'),
    begin(1, { type: 'text', text: '' }),
    'stall',
  );

  it('that leaves early is let go at once, and the socket is closed (HEAD-05)', async () => {
    const { url, received } = await serve(unfinished);
    const events = modelAt(url)(requestFor());
    for (;;) {
      const { value } = await events.next();
      if (value?.type === 'raw' && value.messageUuid === 'u2') break;
    }
    expect(await events.return()).toEqual({ done: true, value: undefined });
    expect(await events.next()).toEqual({ done: true, value: undefined });
    await vi.waitFor(() => expect(received[0]?.isHungUp).toBe(true));
  });

  it('is not read ahead of', async () => {
    const many = Array.from({ length: 2_000 }, (_, n) =>
      delta(0, { type: 'text_delta', text: `${n} `.repeat(2_000) }),
    );
    const { url, received } = await serve(
      stream(start(), begin(0, { type: 'text', text: '' }), ...many, stop(0), end()),
    );
    const events = modelAt(url)(requestFor());
    for (let n = 0; n < 5; n++) await events.next();
    await new Promise((resolve) => setTimeout(resolve, 300));
    // 2,000 × 10 KB were to come: sockets hold some of it, we none.
    expect(received[0]?.written).toBeLessThan(1_500);
    await events.return();
  });
});

describe('a client that a host injects', () => {
  const injected = (create: ModelClient['messages']['create'], quietMs = 1_000) =>
    createCallModel({
      client: createClient({ client: { messages: { create } } }),
      limits: { quietMs },
      uuid: counter(),
    });
  const listen = async (model: ReturnType<typeof injected>) => {
    const events: ModelEvent[] = [];
    for await (const event of model(requestFor())) events.push(event);
    return new Answer(events);
  };

  it('may throw what it likes', async () => {
    const answer = await listen(
      injected(() => {
        throw new TypeError('no such method');
      }),
    );
    expect(answer.failure).toMatchObject({ class: 'bug', detail: 'no such method' });
  });

  it('may hang for ever, deaf to its signal', async () => {
    const forever = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }),
    };
    const answer = await listen(injected(async () => forever, 50));
    expect(answer.failure?.class).toBe('stalled');
  });

  it('may hand an error over as an event', async () => {
    const event = { type: 'error', error: { type: 'overloaded_error', message: 'busy' } };
    const answer = await listen(
      injected(async () =>
        (async function* () {
          yield event as never;
        })(),
      ),
    );
    expect(answer.failure).toMatchObject({ class: 'overloaded', detail: 'overloaded_error: busy' });
  });

  it('may abort by itself: that is a failure, no abort of ours', async () => {
    const answer = await listen(
      injected(async () => {
        throw new DOMException('timed out inside', 'AbortError');
      }),
    );
    expect(answer.of('failed')[0]).not.toHaveProperty('isAborted');
    expect(answer.failure?.class).toBe('connection');
  });
});
