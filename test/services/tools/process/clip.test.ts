import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clipEnd, clipStart, graphemeBoundary } from '../../../../services/tools/process/clip.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 200 });
const family = '👨‍👩‍👧‍👦';

describe('clipping', () => {
  it('keeps the bound, the text before (or after) the cut, and whole characters', () => {
    fc.assert(
      fc.property(text, fc.nat(220), (whole, charsMax) => {
        const head = clipEnd(whole, charsMax);
        const tail = clipStart(whole, charsMax);
        expect(head.length).toBeLessThanOrEqual(charsMax);
        expect(tail.length).toBeLessThanOrEqual(charsMax);
        expect(whole.startsWith(head)).toBe(true);
        expect(whole.endsWith(tail)).toBe(true);
        expect(/\p{Surrogate}/u.test(head + tail)).toBe(/\p{Surrogate}/u.test(whole));
      }),
    );
  });

  it('a text that fits is returned as it is', () => {
    fc.assert(
      fc.property(text, (whole) => {
        expect(clipEnd(whole, whole.length)).toBe(whole);
        expect(clipStart(whole, whole.length)).toBe(whole);
      }),
    );
  });

  it.each([1, 2, 5, 10])('never cuts a family after %i units', (charsMax) => {
    expect(clipEnd(`ab${family}`, 2 + charsMax)).toBe('ab');
    expect(clipStart(`${family}ab`, 2 + charsMax)).toBe('ab');
  });

  it('an endless grapheme is cut between code points', () => {
    const heap = `e${'\u0301'.repeat(5_000)}`;
    expect(clipEnd(heap, 1_000).length).toBe(1_000);
    expect(clipStart(heap, 1_000).length).toBe(1_000);
    const flags = '🇩🇪'.repeat(5_000);
    expect(/\p{Surrogate}/u.test(clipEnd(flags, 1_001))).toBe(false);
  });

  it('looks only near the cut: a text of 50 MB costs nothing', () => {
    // a look at all of it takes a second: a thousand of them would outlast the test
    const text = '日'.repeat(25_000_000);
    for (let n = 0; n < 1_000; n += 1) {
      expect(graphemeBoundary(text, 12_345_678 + n)).toBe(12_345_678 + n);
    }
  });
});
