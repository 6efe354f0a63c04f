/**
 * A model API that sends what it should not: each time a clear outcome, a legal history (the strict
 * server looks at the next request), and a session that goes on.
 */
import { describe, expect, it } from 'vitest';
import { isWellFormed } from '../../../services/well-formed.ts';
import {
  createScriptedServer,
  type MessageReply,
  message,
  type RawBlock,
  type ScriptedBlock,
  say,
  text,
  toolUse,
} from '../../../src/testing/index.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { heard, tell } from '../../tools/story.ts';

const raw = (start: object, ...deltas: object[]): RawBlock => ({
  type: 'raw',
  start: start as RawBlock['start'],
  deltas: deltas as NonNullable<RawBlock['deltas']>,
});

/** Answers with this, then `ok`; then one more turn, which must be legal, too. */
const answered = async (content: readonly ScriptedBlock[], more = {}, calls: unknown[] = []) =>
  tell({
    script: { replies: [message(content, more), say('ok'), say('ok again')] },
    prompts: ['do it', 'again'],
    config: () => ({
      tools: [
        hostTool('Look', (input) => {
          calls.push(input);
          return 'seen';
        }),
      ],
    }),
  });

describe('blocks, deltas and events of later days', () => {
  it('an unknown block stands beside the answer and goes back as it came', async () => {
    const told = await answered([raw({ type: 'hologram', data: 'x' }), text('Here.')]);
    expect(told.results[0]).toMatchObject({ terminal_reason: 'completed', result: 'Here.' });
    expect(told.requests.map(heard)[1]?.[1]).toBe('assistant: [hologram] + Here.');
  });

  it('an unknown delta changes nothing', async () => {
    const told = await answered([
      raw(
        { type: 'text', text: '' },
        { type: 'text_delta', text: 'Here' },
        { type: 'shimmer_delta', shimmer: 7 },
        { type: 'text_delta', text: '.' },
      ),
    ]);
    expect(told.results[0]?.result).toBe('Here.');
  });

  it('unknown events, comments and pings change nothing', async () => {
    const told = await answered([text('Here.')], {
      inserts: [
        { after: 'message_start', event: { type: 'weather', data: { rain: true } } },
        { after: { block: 0, delta: -1 }, event: { type: 'ping' } },
        { after: { block: 0 }, raw: ': a comment\n\n' },
      ],
    });
    expect(told.results[0]).toMatchObject({ terminal_reason: 'completed', result: 'Here.' });
    expect(told.lines.filter((line) => /^(retry|warning|error)/.test(line))).toEqual([]);
  });

  it('a stop reason that nobody knows is taken for the end, with a warning', async () => {
    const told = await answered([text('Here.')], { stopReason: 'satisfied' });
    expect(told.lines).toContain(
      'warning the answer ended with the unknown stop reason satisfied: taken as end_turn',
    );
    expect(told.results[0]).toMatchObject({ terminal_reason: 'completed', result: 'Here.' });
  });

  it('deltas and ends of blocks that never began are ignored', async () => {
    const told = await answered([text('Here.')], {
      inserts: [
        {
          after: 'message_start',
          event: {
            type: 'content_block_delta',
            data: { index: 9, delta: { type: 'text_delta', text: 'ghost' } },
          },
        },
        { after: 'message_start', event: { type: 'content_block_stop', data: { index: 7 } } },
      ],
    });
    expect(told.results[0]?.result).toBe('Here.');
  });
});

describe('usage', () => {
  it.each<[string, Partial<MessageReply>]>([
    ['missing at all', { startUsage: null, finalUsage: null }],
    ['negative', { usage: { input_tokens: -5, output_tokens: -1 } }],
    ['null', { usage: { input_tokens: null, output_tokens: null } }],
    ['no numbers', { usage: { input_tokens: 'many' as unknown as number } }],
  ])('%s: the turn completes, and no sum becomes negative or no number', async (_, more) => {
    const told = await tell({
      script: { replies: [message([text('Here.')], more), say('ok')] },
      prompts: ['do it', 'again'],
      except: ['usage'],
    });
    for (const { terminal_reason, usage, total_cost_usd } of told.results) {
      expect(terminal_reason).toBe('completed');
      for (const tokens of Object.values(usage)) expect(tokens).toBeGreaterThanOrEqual(0);
      expect(total_cost_usd).toBeGreaterThanOrEqual(0);
    }
  });

  it('USE-01 of an answer is its last report, and of a session their sum', async () => {
    const start = {
      input_tokens: 27,
      cache_read_input_tokens: 1_000,
      cache_creation_input_tokens: 50,
    };
    const reply = message([text('Here.')], {
      startUsage: { ...start, output_tokens: 3 },
      inserts: [
        {
          after: 'blocks',
          event: { type: 'message_delta', data: { delta: {}, usage: { output_tokens: 20 } } },
        },
      ],
      finalUsage: { ...start, output_tokens: 47 },
    });
    const told = await tell({ script: { replies: [reply, reply] }, prompts: ['1', '2'] });
    for (const { usage } of told.results) expect(usage).toEqual({ ...start, output_tokens: 47 });
    // 3, 0.30, 3.75 and 15 dollars a million.
    const one = (27 * 3 + 1_000 * 0.3 + 50 * 3.75 + 47 * 15) / 1e6;
    expect(told.results[0]?.total_cost_usd).toBeCloseTo(one, 12);
    expect(told.results[1]?.total_cost_usd).toBeCloseTo(2 * one, 12);
    expect(told.last.modelUsage['claude-sonnet-4-5']).toMatchObject({ outputTokens: 94 });
  });
});

describe('ids and names of calls', () => {
  it.each(['', 'a b/ü', 'x'.repeat(300), '🎉'])('the id %j', async (id) => {
    const told = await answered([toolUse('Look', { n: 1 }, { id })]);
    expect(told.results.map((r) => r.terminal_reason)).toEqual(['completed', 'completed']);
    expect(told.requests.map(heard)[1]?.at(-1)).toBe('user: result seen');
  });

  it('an id that an earlier answer had already', async () => {
    const call = toolUse('Look', { n: 1 }, { id: 't1' });
    const told = await tell({
      script: { replies: [message([call]), message([call]), say('ok')] },
      config: () => ({ tools: [hostTool('Look', () => 'seen')] }),
    });
    expect(told.lines.filter((line) => line.startsWith('warning'))[0]).toContain('of an older one');
    expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'ok' });
    expect(told.lines.filter((line) => line === 'result "seen"')).toHaveLength(2);
  });

  it.each(['', 'no such tool!', 'x'.repeat(200)])('the name %j', async (name) => {
    const told = await answered([toolUse(name, { n: 1 })]);
    expect(told.results.map((r) => r.terminal_reason)).toEqual(['completed', 'completed']);
    expect(told.requests.map(heard)[1]?.at(-1)).toMatch(/^user: error /);
  });
});

describe('inputs of calls', () => {
  it.each([
    ['a string', '"ls"'],
    ['an array', '[1, 2]'],
    ['null', 'null'],
    ['broken', '{"n": 1'],
    ['two objects', '{"n": 1}{"n": 2}'],
    ['no JSON', 'ls -la'],
  ])('%s is not run, and the model is told', async (_, rawJson) => {
    const calls: unknown[] = [];
    const told = await answered([toolUse('Look', {}, { rawJson })], {}, calls);
    expect(calls).toEqual([]);
    expect(told.results.map((r) => r.terminal_reason)).toEqual(['completed', 'completed']);
    expect(told.requests.map(heard)[1]?.slice(-2)).toEqual([
      'assistant: Look({})',
      expect.stringMatching(/^user: error .*(JSON|object)/s),
    ]);
  });

  it('a lone surrogate is mended before it goes anywhere', async () => {
    const calls: unknown[] = [];
    const told = await answered(
      [toolUse('Look', {}, { rawJson: '{"\\ud800": "\\udfff!"}' }), text('and \ud83c')],
      {},
      calls,
    );
    expect(JSON.stringify(calls)).not.toMatch(/\\ud[89a-f]/i);
    for (const request of told.requests) {
      for (const line of heard(request)) expect(isWellFormed(line)).toBe(true);
    }
  });

  it('the keys of Object.prototype are only keys', async () => {
    const calls: unknown[] = [];
    await answered([toolUse('Look', {}, { rawJson: '{"__proto__": {"admin": true}}' })], {}, calls);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
    expect(calls.length).toBe(1);
  });
});

describe('answers that are no stream', () => {
  it.each([
    ['an empty body', { 'content-type': 'text/event-stream' }, ''],
    ['a list', { 'content-type': 'text/event-stream' }, 'event: message_start\ndata: []\n\n'],
    ['null', { 'content-type': 'text/event-stream' }, 'event: message_start\ndata: null\n\n'],
  ])('%s: bounded tries, then a reason', async (_, headers, body) => {
    const told = await tell({
      script: {
        replies: [{ kind: 'raw', status: 200, headers, body, times: 2 }, say('back')],
      },
      limits: { retriesMax: 1 },
      prompts: ['do it', 'again'],
    });
    expect(told.results.map((r) => r.terminal_reason)).toEqual(['model_error', 'completed']);
  });
});

describe('an address that is not that of the API', () => {
  it.each([
    [200, { 'content-type': 'text/html; charset=utf-8' }, '<html>hi</html>', 'answered text/html'],
    [200, { 'content-type': 'application/json' }, '{"hello": 1}', 'answered application/json'],
    [204, {}, '', 'answered 204 without a body'],
    [302, { location: '/login' }, '', 'answered 302, a redirect to another path'],
  ])('answers %i %j: told at once, with the cure', async (status, headers, body, words) => {
    const told = await tell({
      script: { replies: [{ kind: 'raw', status, headers, body }, say('never asked')] },
      except: ['script'],
    });
    expect(told.requests).toHaveLength(1);
    expect(told.last).toMatchObject({ is_error: true, terminal_reason: 'api_error' });
    expect(told.last.errors.join()).toContain(words);
    expect(told.last.errors.join()).toContain('check ANTHROPIC_BASE_URL');
  });

  it('a stream that calls itself JSON is a stream', async () => {
    const inner = createScriptedServer({ replies: [say('all the same')] });
    const base = await inner.listen();
    const told = await tell({
      script: { replies: [] },
      options: {
        fetch: async (url, init) => {
          const { body, status } = await fetch(new URL(new URL(String(url)).pathname, base), init);
          return new Response(body, { status, headers: { 'content-type': 'application/json' } });
        },
      },
      except: ['script', 'usage'],
    });
    await inner.close();
    expect(told.last.result).toBe('all the same');
  });

  it('a redirect to the same server is followed, twice at most', async () => {
    const location = '/v1/messages';
    const moved = { kind: 'raw', status: 307, headers: { location }, body: '' } as const;
    const told = await tell({ script: { replies: [moved, moved, say('found')] } });
    expect(told.last.result).toBe('found');
    const round = await tell({
      script: { replies: [moved, moved, moved, say('never asked')] },
      except: ['script'],
    });
    expect(round.last.errors.join()).toContain('answered 307, a redirect to another path');
  });

  it('a redirect to somebody else does not take the conversation there', async () => {
    const other = createScriptedServer({ replies: [say('give it to me')] });
    const location = `${await other.listen()}/v1/messages?token=secret`;
    const told = await tell({
      script: { replies: [{ kind: 'raw', status: 307, headers: { location }, body: '' }] },
    });
    await other.close();
    expect(other.requests).toEqual([]);
    expect(told.last.errors.join()).toContain(`a redirect to ${new URL(location).origin}, which`);
    expect(told.last.errors.join()).not.toContain('secret');
  });
});
