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
  const freed = Array.from({ length: 8 }, () => 8_000);

  it('nothing is prepared below 60 %, nothing put in place below 75 %', () => {
    expect(isTimeToStage(108_000, numbers)).toBe(false);
    expect(isTimeToStage(108_001, numbers)).toBe(true);
    expect(chooseBatch(135_000, freed, numbers)).toBe(0);
    expect(chooseBatch(135_001, freed, numbers)).toBe(3); // to 117,000, which is 65 %
  });

  it('what frees too little waits, until it can save a summary of everything', () => {
    expect(chooseBatch(140_000, [8_000], numbers)).toBe(0);
    expect(chooseBatch(168_000, freed.slice(0, 4), numbers)).toBe(0); // it would not
    expect(chooseBatch(168_000, freed.slice(0, 5), numbers)).toBe(5);
  });

  it('each makes room for a tenth of the window, or saves a summary', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 30_000 }), { maxLength: 12 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 200_000 }), sizes, (tokens, each) => {
        const count = chooseBatch(tokens, each, numbers);
        expect(count).toBeLessThanOrEqual(each.length);
        if (count === 0) return;
        const left = tokens - each.slice(0, count).reduce((sum, one) => sum + one, 0);
        expect(tokens).toBeGreaterThan(0.75 * numbers.effective);
        if (left > 0.65 * numbers.effective) {
          expect(tokens).toBeGreaterThan(numbers.autocompact);
          expect(left).toBeLessThanOrEqual(0.75 * numbers.effective);
        } else {
          // Not one more than is needed.
          const oneLess = left + (each[count - 1] ?? 0);
          expect(oneLess).toBeGreaterThan(0.65 * numbers.effective);
        }
      }),
      { numRuns: 500 },
    );
  });
});
