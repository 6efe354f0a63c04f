import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseBatch, isTimeToStage } from '../../../services/collapse/choose-batch.ts';
import { mayCollapse, planSegments, portionsOf } from '../../../services/collapse/segments.ts';
import type { LogMessage } from '../../../services/messages.ts';
import { windows } from '../../../services/preprocess/windows.ts';
import { type Piece, piecesOf } from '../../../services/recovery/split-history.ts';
import { assistant, call, result, user } from '../preprocess/histories.ts';

const round = (n: number, text = 'done', name = 'Read'): readonly LogMessage[] => [
  call(`m${n}`, `c${n}`, name),
  result(`c${n}`, text),
];
const only = (messages: readonly LogMessage[]): Piece => piecesOf(messages)[0] as Piece;

describe('what may be collapsed', () => {
  it('a round with its results', () => {
    expect(mayCollapse(only(round(1)))).toBe(true);
    expect(mayCollapse(only([assistant('m1', 'a word')]))).toBe(true);
  });

  it.each([
    ['what a person said', [user('please')]],
    ['a round into which a person spoke', [...round(1).slice(0, 1), user('wait'), result('c1')]],
    ['a call without a result', [call('m1', 'c1')]],
    ['a summary', [user('(summary)', { origin: 'summary', isMeta: true })]],
    ['the text of a skill', round(1, 'how to do it', 'Skill')],
  ])('not %s', (_, messages) => {
    expect(mayCollapse(only(messages))).toBe(false);
  });
});

describe('portions', () => {
  const sizeOf = (messages: readonly LogMessage[]) => 10 * messages.length;
  const portions = { tail: 45, segment: 60, segmentMin: 15 };

  it('are closed when they are large enough; what is left waits for more', () => {
    const history = [user('go'), ...[1, 2, 3, 4, 5, 6, 7].flatMap((n) => round(n))];
    const { segments, decided } = planSegments(piecesOf(history), sizeOf, portions);
    // 7 rounds of 20: two are the tail, three a portion, two wait for the next.
    expect(segments.map(({ tokens }) => tokens)).toEqual([60]);
    expect(decided).toBe(4);
  });

  it('end where something stays word for word', () => {
    const history = [user('go'), ...round(1), user('and'), ...[2, 3, 4].flatMap((n) => round(n))];
    const { segments } = planSegments(piecesOf(history), sizeOf, portions);
    expect(segments.map(({ messages }) => messages.length)).toEqual([2]);
  });

  it('leave alone what would not be worth a summary', () => {
    const history = [
      user('go'),
      assistant('m1', 'yes'),
      user('and'),
      ...round(2),
      ...round(3),
      ...round(4),
    ];
    const { segments } = planSegments(piecesOf(history), sizeOf, portions);
    expect(segments).toEqual([]);
  });

  it('of a usual window: a protected tail of 20,000, portions of 10,000', () => {
    expect(portionsOf(windows(200_000, 64_000))).toEqual({
      tail: 20_000,
      segment: 10_000,
      segmentMin: 2_500,
    });
  });
});

describe('batches', () => {
  const numbers = windows(200_000, 64_000); // 180,000 to use, a summary above 167,000
  const prefix = 10_000;
  const ready = (count: number) => ({ freed: Array.from({ length: count }, () => 8_000), prefix });

  it('nothing is prepared below 60 %, nothing put in place below 75 %', () => {
    expect(isTimeToStage(108_000, numbers)).toBe(false);
    expect(isTimeToStage(108_001, numbers)).toBe(true);
    expect(chooseBatch(135_000, ready(8), numbers)).toBe(0);
  });

  it('goes below 65 %, and frees two thirds of what is written to the cache again', () => {
    // Three lead to 117,000, which is 65 %; but that makes the cache lose 101,000 … Seven free
    // 56,000 of the 79,001 that are left, 69,001 of them behind the first.
    expect(chooseBatch(135_001, ready(8), numbers)).toBe(7);
    // With more of the prompt in front of them, fewer are worth it; but three lead below 65 %.
    expect(chooseBatch(135_001, { ...ready(8), prefix: 50_000 }, numbers)).toBe(5);
    expect(chooseBatch(135_001, { ...ready(8), prefix: 90_000 }, numbers)).toBe(3);
  });

  it('is exact: what frees a token less than two thirds waits', () => {
    const ready = { freed: [60_000], prefix: 0 };
    expect(chooseBatch(150_000, ready, numbers)).toBe(1); // 60,000 of 90,000
    expect(chooseBatch(150_001, ready, numbers)).toBe(0);
  });

  it('what frees too little waits, until it can save a summary of everything', () => {
    expect(chooseBatch(140_000, ready(3), numbers)).toBe(0);
    expect(chooseBatch(168_000, ready(4), numbers)).toBe(0); // it would not
    expect(chooseBatch(168_000, ready(5), numbers)).toBe(5);
  });

  it('each is worth its cache miss and no larger than that takes, or saves a summary', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 30_000 }), { maxLength: 12 });
    const tokens = fc.integer({ min: 0, max: 200_000 });
    fc.assert(
      fc.property(tokens, sizes, fc.nat({ max: 60_000 }), (before, freed, prefix) => {
        const count = chooseBatch(before, { freed, prefix }, numbers);
        expect(count).toBeLessThanOrEqual(freed.length);
        if (count === 0) return;
        const leftBy = (n: number) => before - freed.slice(0, n).reduce((sum, one) => sum + one, 0);
        const isGood = (n: number) =>
          leftBy(n) <= 0.65 * numbers.effective &&
          before - leftBy(n) >= (2 / 3) * (leftBy(n) - prefix);
        expect(before).toBeGreaterThan(0.75 * numbers.effective);
        if (isGood(count)) expect(isGood(count - 1)).toBe(false);
        else {
          expect(before).toBeGreaterThan(numbers.autocompact);
          expect(leftBy(count)).toBeLessThanOrEqual(0.75 * numbers.effective);
        }
      }),
      { numRuns: 500 },
    );
  });
});
