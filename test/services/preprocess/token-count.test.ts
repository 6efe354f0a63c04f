import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Cursor } from '../../../machines/state.ts';
import { emptyHistory, MessageLog } from '../../../services/message-log.ts';
import { createTokenCounter } from '../../../services/preprocess/token-count.ts';
import { messageSize } from '../../../services/preprocess/token-size.ts';
import type { Tool } from '../../../services/tools/tool.ts';
import { assistant, call, image, legalHistory, result, user } from './histories.ts';

const setup = (tools: readonly Tool[] = []) => {
  const log = new MessageLog();
  const counter = createTokenCounter({ log, fixed: () => ({ system: ['be good'], tools }) });
  return { log, counter };
};
const usage = (prompt: number, output = 0) => ({
  input_tokens: prompt - 100,
  cache_read_input_tokens: 60,
  cache_creation_input_tokens: 40,
  output_tokens: output,
});
const prose = (bytes: number) =>
  'some words and more '.repeat(Math.ceil(bytes / 20)).slice(0, bytes);

describe('the size of a prompt', () => {
  it('is the last usage and an estimate of what came since', () => {
    const { log, counter } = setup();
    const asked = log.append(emptyHistory, [user(prose(30_000))]);
    counter.noteUsage(asked.head, usage(12_345, 200));
    expect(counter.estimate(asked.head)).toBe(12_345);
    const answered = log.append(asked, [call('m1', 'a'), assistant('m1', prose(3_000))]);
    // the answer's own size is what the API said, not what its text looks like
    expect(counter.estimate(answered.head)).toBe(12_545);
    const heard = log.append(answered, [result('a', prose(3_000))]);
    const more = counter.estimate(heard.head) - 12_545;
    expect(more).toBeGreaterThan(900);
    expect(more).toBeLessThan(1_200);
  });

  it('CMP-06 includes what has just come: a prompt, a result', () => {
    const { log, counter } = setup();
    const asked = log.append(emptyHistory, [user(prose(30_000))]);
    counter.noteUsage(asked.head, usage(10_000));
    const huge = log.append(asked, [assistant('m1', 'ok'), user(prose(300_000))]);
    expect(counter.estimate(huge.head)).toBeGreaterThan(100_000);
  });

  it('CMP-03 is a finite number of at least 0 whatever usage says', () => {
    const number = fc.oneof(
      fc.constantFrom(null, undefined, 0, -5, Number.NaN, Number.POSITIVE_INFINITY),
      fc.nat({ max: 300_000 }),
    );
    const reported = fc.option(
      fc.record({
        input_tokens: number,
        output_tokens: number,
        cache_read_input_tokens: number,
        cache_creation_input_tokens: number,
      }),
      { nil: null },
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(legalHistory(), reported), { maxLength: 5 }), (steps) => {
        const { log, counter } = setup();
        let history: Cursor = emptyHistory;
        for (const [messages, said] of steps) {
          history = log.append(history, messages);
          counter.noteUsage(history.head, said as Parameters<typeof counter.noteUsage>[1]);
          const tokens = counter.estimate(history.head);
          expect(Number.isFinite(tokens) && tokens >= 0).toBe(true);
          expect(counter.covered(history.head)).toBeLessThanOrEqual(tokens);
        }
      }),
    );
  });

  it('a usage below half of the estimate is not trusted', () => {
    const { log, counter } = setup();
    const { head } = log.append(emptyHistory, [user(prose(30_000))]);
    const before = counter.estimate(head);
    counter.noteUsage(head, usage(1_000));
    expect(counter.estimate(head)).toBe(before);
    counter.noteUsage(head, { input_tokens: 0, output_tokens: 0 });
    expect(counter.estimate(head)).toBe(before);
  });

  it('a reported usage is never overruled downwards', () => {
    const { log, counter } = setup();
    const { head } = log.append(emptyHistory, [user('short')]);
    counter.noteUsage(head, usage(50_000));
    expect(counter.estimate(head)).toBe(50_000);
  });

  it('learns the ratio of a session from one usage to the next, within bounds', () => {
    const { log, counter } = setup();
    let history: Cursor = emptyHistory;
    let tokens = 20_000;
    for (let n = 0; n < 8; n += 1) {
      history = log.append(history, [user(prose(8_000)), assistant(`m${n}`, 'ok')]);
      tokens += 8_000 / 2; // two bytes a token, where three were expected
      counter.noteUsage(history.head, usage(tokens));
    }
    const estimate = counter.estimateMessages([user(prose(20_000))]);
    expect(estimate).toBeGreaterThan(9_000);
    expect(estimate).toBeLessThan(11_000);
    for (let n = 0; n < 20; n += 1) {
      history = log.append(history, [user(prose(4_000))]);
      tokens += 90_000; // nonsense
      counter.noteUsage(history.head, usage(tokens));
    }
    expect(counter.estimateMessages([user(prose(20_000))])).toBeLessThan(20_500);
  });

  it('carries what is known over a rewrite, less what it freed', () => {
    const { log, counter } = setup();
    const [a, b] = [user(prose(30_000)), user(prose(6_000))];
    const { head } = log.append(emptyHistory, [a, b]);
    counter.noteUsage(head, usage(40_000));
    const { head: shorter } = log.rewrite([a], 0);
    counter.noteRewrite(head, shorter);
    expect(counter.estimate(shorter)).toBeGreaterThan(30_000);
    expect(counter.estimate(shorter)).toBeLessThan(39_000);
    expect(counter.covered(shorter)).toBe(0);
  });

  it('counts tools and system prompt once, and says where tokens go', () => {
    const tool = { name: 'Big', description: prose(9_000), inputSchema: { type: 'object' } };
    const { log, counter } = setup([tool as unknown as Tool]);
    const history = [user([{ type: 'text', text: prose(3_000) }, image()]), call('m', 'a')];
    const { head } = log.append(emptyHistory, [...history, result('a', prose(6_000))]);
    const parts = counter.breakdown(head);
    expect(parts.fixed).toBeGreaterThan(2_900);
    expect(parts.results).toBeGreaterThan(1_900);
    expect(parts.media).toBeGreaterThan(0);
    const sum = Object.values(parts).reduce((a, b) => a + b, 0);
    expect(Math.abs(sum - counter.estimate(head))).toBeLessThan(20);
  });
});

describe('the size of a text', () => {
  const bytesOf = (text: string) => {
    const { proseBytes, denseBytes } = messageSize(user(text));
    return denseBytes > proseBytes ? 'dense' : 'prose';
  };
  it.each([
    ['prose', prose(2_000)],
    ['prose', '日本語の文章です。'.repeat(100)],
    ['prose', 'x'.repeat(2_000)],
    ['dense', JSON.stringify(Array.from({ length: 100 }, (_, n) => ({ id: n, v: n * n })))],
    [
      'dense',
      Buffer.from(Array.from({ length: 2_000 }, (_, n) => (n * 7919) % 256)).toString('base64'),
    ],
  ])('%s', (kind, text) => {
    expect(bytesOf(text)).toBe(kind);
  });
});
