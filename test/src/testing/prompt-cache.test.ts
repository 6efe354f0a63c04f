/** All numbers by hand: a token is four characters of a text, rounded up. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type CacheUsage,
  callTools,
  PromptCache,
  say,
  startScriptedServer,
  tokensOfRequest,
} from '../../../src/testing/index.ts';
import { ask, assistant, BASE, eventsOf, user } from './client.ts';

const MINUTE = 60_000;
const mark = (ttl?: '1h') => ({ cache_control: { type: 'ephemeral', ...(ttl ? { ttl } : {}) } });
const words = (tokens: number, more = {}) => ({
  type: 'text',
  text: 'word'.repeat(tokens),
  ...more,
});
const short = ({
  cache_read_input_tokens: read,
  cache_creation_input_tokens: written,
  input_tokens: input,
}: CacheUsage) => ({ read, written, input });

describe('a conversation that grows', () => {
  const system = [words(2_000, mark())];
  const first = { ...BASE, system, messages: [user([words(100, mark())])] };
  const second = {
    ...BASE,
    system,
    messages: [user([words(100)]), assistant([words(200)]), user([words(100, mark())])],
  };

  test('reads what it wrote, writes what is new', () => {
    const cache = new PromptCache();
    expect(short(cache.account(first, 0))).toEqual({ read: 0, written: 2_100, input: 0 });
    expect(short(cache.account(second, 1))).toEqual({ read: 2_100, written: 300, input: 0 });
    const report = cache.report();
    // 2,100 × 1.25, then 2,100 × 0.1 and 300 × 1.25.
    expect(report.cost).toBeCloseTo(2_625 + 210 + 375);
    // The best client does not write the last 300, which nobody reads.
    expect(report.ideal).toBeCloseTo(2_625 + 210 + 300);
    expect(report).toMatchObject({ requests: 2, readTokens: 2_100, writtenTokens: 2_400 });
    expect(report.efficiency).toBeCloseTo(3_135 / 3_210);
  });

  test('an entry lives five minutes from its last use', () => {
    const cache = new PromptCache();
    cache.account(first, 0);
    expect(short(cache.account(first, 5 * MINUTE)).read).toBe(2_100);
    expect(short(cache.account(first, 10 * MINUTE)).read).toBe(2_100);
    expect(short(cache.account(first, 15 * MINUTE + 1))).toEqual({
      read: 0,
      written: 2_100,
      input: 0,
    });
  });

  test('one byte in front, another model, other thinking: nothing to read', () => {
    const cache = new PromptCache();
    cache.account(first, 0);
    const changed = {
      ...first,
      system: [{ ...words(2_000, mark()), text: `W${'word'.repeat(2_000).slice(1)}` }],
    };
    expect(short(cache.account(changed, 1)).read).toBe(0);
    expect(short(cache.account({ ...first, model: 'other' }, 1)).read).toBe(0);
    // Thinking changes how messages are read, not tools and system.
    expect(short(cache.account({ ...first, thinking: { type: 'adaptive' } }, 1)).read).toBe(2_000);
  });

  test('without marks all is plain input, and the ideal says what was lost', () => {
    const cache = new PromptCache();
    const bare = { ...BASE, messages: [user([words(3_000)])] };
    expect(short(cache.account(bare, 0))).toEqual({ read: 0, written: 0, input: 3_000 });
    expect(short(cache.account(bare, 1))).toEqual({ read: 0, written: 0, input: 3_000 });
    expect(cache.report()).toMatchObject({ cost: 6_000, ideal: 3_000 * 1.25 + 3_000 * 0.1 });
  });
});

describe('a wide round: 12 parallel calls', () => {
  // `Read{}` is 6 characters: 2 tokens a call. 12 calls and 12 results are 24 blocks.
  const calls = Array.from({ length: 12 }, (_, n) => ({
    type: 'tool_use',
    id: `t${n}`,
    name: 'Read',
    input: {},
  }));
  const results = (last = {}) =>
    calls.map(({ id }, n) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: 'x'.repeat(400),
      ...(n === 11 ? last : {}),
    }));
  const prompt = (more = {}) => user([words(1_900, more)]);
  const first = { ...BASE, messages: [prompt(mark())] };

  test('with one breakpoint at the end everything is paid again', () => {
    const cache = new PromptCache();
    cache.account(first, 0);
    const wide = { ...BASE, messages: [prompt(), assistant(calls), user(results(mark()))] };
    expect(short(cache.account(wide, 1))).toEqual({
      read: 0,
      written: 1_900 + 24 + 1_200,
      input: 0,
    });
    // 1,900 × 1.25 twice over, while once and a read would have done.
    expect(cache.report().cost).toBeCloseTo(2_375 + 3_905);
    expect(cache.report().ideal).toBeCloseTo(2_375 + 190 + 1_224);
  });

  test('with a breakpoint where the last request ended it is read', () => {
    const cache = new PromptCache();
    cache.account(first, 0);
    const wide = { ...BASE, messages: [prompt(mark()), assistant(calls), user(results(mark()))] };
    expect(short(cache.account(wide, 1))).toEqual({ read: 1_900, written: 1_224, input: 0 });
    expect(cache.report().efficiency).toBeGreaterThan(0.9);
  });

  test('the look-back ends at the twentieth place', () => {
    const filler = (count: number) => Array.from({ length: count }, () => words(1));
    const at = (count: number) => {
      const cache = new PromptCache();
      cache.account(first, 0);
      const more = filler(count - 1);
      return short(
        cache.account({ ...BASE, messages: [prompt(), user([...more, words(1, mark())])] }, 1),
      ).read;
    };
    expect(at(19)).toBe(1_900);
    expect(at(20)).toBe(0);
  });

  test('over HTTP, in the usage that the server reports', async () => {
    let nowMs = 0;
    const server = await startScriptedServer(
      { replies: [callTools(calls.map(() => ['Read', {}])), say('done'), say('late')] },
      { nowMs: () => nowMs },
    );
    const usage = async (body: unknown) => {
      const events = eventsOf((await ask(server.url, body)).body);
      return short(events.find(({ name }) => name === 'message_delta')?.data.usage as CacheUsage);
    };
    const wide = { ...BASE, messages: [prompt(mark()), assistant(calls), user(results(mark()))] };
    expect(await usage(first)).toEqual({ read: 0, written: 1_900, input: 0 });
    expect(await usage(wide)).toEqual({ read: 1_900, written: 1_224, input: 0 });
    nowMs = 5 * MINUTE + 1;
    expect(await usage(wide)).toEqual({ read: 0, written: 3_124, input: 0 });
    expect(server.billed()).toMatchObject({
      cache_read_input_tokens: 1_900,
      cache_creation_input_tokens: 6_248,
    });
    expect(server.cacheReport().requests).toBe(3);
    await server.close();
  });
});

describe('small print', () => {
  test('a prefix below the minimum is not cached', () => {
    const cache = new PromptCache();
    const request = { ...BASE, messages: [user([words(1_023, mark())])] };
    expect(short(cache.account(request, 0))).toEqual({ read: 0, written: 0, input: 1_023 });
    const low = new PromptCache({ cacheableTokensMin: 1_023 });
    expect(short(low.account(request, 0))).toEqual({ read: 0, written: 1_023, input: 0 });
  });

  test('an hour costs double and lives an hour', () => {
    const cache = new PromptCache();
    const request = {
      ...BASE,
      system: [words(2_000, mark('1h'))],
      messages: [user([words(500, mark())])],
    };
    expect(cache.account(request, 0).cache_creation).toEqual({
      ephemeral_1h_input_tokens: 2_000,
      ephemeral_5m_input_tokens: 500,
    });
    expect(cache.report().cost).toBe(2_000 * 2 + 500 * 1.25);
    expect(short(cache.account(request, 59 * MINUTE))).toEqual({
      read: 2_000,
      written: 500,
      input: 0,
    });
  });

  test('a mark on the request is one on its last block', () => {
    const cache = new PromptCache();
    const request = { ...BASE, ...mark(), messages: [user([words(2_000)])] };
    expect(short(cache.account(request, 0)).written).toBe(2_000);
    expect(short(cache.account(request, 1)).read).toBe(2_000);
  });

  test('nothing is lost or counted twice, and nobody beats the ideal', () => {
    const block = fc.record({
      tokens: fc.integer({ min: 1, max: 50 }),
      marked: fc.boolean(),
      id: fc.integer({ min: 0, max: 2 }),
    });
    const row = fc.array(block, { minLength: 1, maxLength: 30 });
    const gapMs = fc.integer({ min: 0, max: 7 * MINUTE });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(row, gapMs), { minLength: 1, maxLength: 8 }),
        fc.nat(40),
        (rows, min) => {
          const cache = new PromptCache({ cacheableTokensMin: min });
          let nowMs = 0;
          for (const [blocks, gap] of rows) {
            nowMs += gap;
            const content = blocks.map(({ tokens, marked, id }) => ({
              type: 'text',
              text: `${id}`.repeat(tokens * 4),
              ...(marked ? mark() : {}),
            }));
            const body = { ...BASE, messages: [user(content)] };
            const { read, written, input } = short(cache.account(body, nowMs));
            expect(read + written + input).toBe(tokensOfRequest(body));
            expect(Math.min(read, written, input)).toBeGreaterThanOrEqual(0);
          }
          const { ideal, cost } = cache.report();
          expect(ideal).toBeLessThanOrEqual(cost + 1e-6);
        },
      ),
    );
  });
});
