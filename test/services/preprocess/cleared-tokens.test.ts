/** What the API leaves out of a prompt is sent, and is not in its usage: two different sizes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyHistory, MessageLog } from '../../../services/message-log.ts';
import { createTokenCounter } from '../../../services/preprocess/token-count.ts';
import { assistant, user } from './histories.ts';

const setup = () => {
  const log = new MessageLog();
  const counter = createTokenCounter({ log, fixed: () => ({ system: [], tools: [] }) });
  return { log, counter };
};
const prose = (bytes: number) =>
  'some words and more '.repeat(Math.ceil(bytes / 20)).slice(0, bytes);
const usage = (prompt: number) => ({ input_tokens: prompt, output_tokens: 0 });
/** A conversation that grows by a question and an answer. */
const growing = (log: MessageLog, rounds: number, bytes: number) => {
  const heads = [];
  let history = emptyHistory;
  for (let n = 0; n < rounds; n += 1) {
    history = log.append(history, [
      { ...user(prose(bytes)), uuid: `u${n}` },
      { ...assistant(`m${n}`, prose(bytes)), uuid: `a${n}` },
    ]);
    heads.push(history.head);
  }
  return heads;
};

describe('tokens that the API has left out', () => {
  it('are not in the next estimate', () => {
    const { log, counter } = setup();
    const [first = '', second = ''] = growing(log, 2, 60_000);
    counter.noteUsage(first, usage(10_000), 30_000);
    expect(counter.estimate(first)).toBe(10_000);
    // The round that came since, by its bytes.
    expect(counter.estimate(second) - 10_000).toBeGreaterThan(30_000);
    expect(counter.estimate(second) - 10_000).toBeLessThan(50_000);
  });

  it('make a small usage believable: without them it would be a mock’s', () => {
    const { log, counter } = setup();
    const [head = ''] = growing(log, 1, 60_000);
    const before = counter.estimate(head);
    counter.noteUsage(head, usage(1_000));
    expect(counter.estimate(head)).toBe(before);
    counter.noteUsage(head, usage(1_000), before);
    expect(counter.estimate(head)).toBe(1_000);
  });

  it('do not change what a byte is thought to weigh', () => {
    const share = fc.double({ min: 0, max: 0.95, noNaN: true });
    fc.assert(
      fc.property(fc.array(share, { minLength: 2, maxLength: 8 }), (shares) => {
        const [edited, whole] = [setup(), setup()];
        for (const { log } of [edited, whole]) growing(log, shares.length, 20_000);
        const heads = growing(edited.log, shares.length, 20_000);
        shares.forEach((cleared, n) => {
          const head = heads[n] ?? '';
          const sent = (n + 1) * 9_000;
          edited.counter.noteUsage(
            head,
            usage(sent - Math.floor(sent * cleared)),
            Math.floor(sent * cleared),
          );
          whole.counter.noteUsage(head, usage(sent));
        });
        const text = prose(100_000);
        expect(edited.counter.estimateText(text)).toBe(whole.counter.estimateText(text));
      }),
    );
  });

  it('free nothing when they go, and the rest is still known', () => {
    const { log, counter } = setup();
    const head = growing(log, 4, 30_000).at(-1) ?? '';
    counter.noteUsage(head, usage(30_000), 40_000);
    const messages = log.at(head);
    // A quarter of what was sent, all of it left out by the API already.
    const shorter = log.rewrite(messages.slice(2), 0);
    counter.noteRewrite(head, shorter.head);
    expect(counter.estimate(shorter.head)).toBe(30_000);
    // All but the last round: far more than was left out.
    const short = log.rewrite(messages.slice(-2), 0);
    counter.noteRewrite(shorter.head, short.head);
    expect(counter.estimate(short.head)).toBeLessThan(20_000);
    expect(counter.estimate(short.head)).toBeGreaterThan(5_000);
  });
});
