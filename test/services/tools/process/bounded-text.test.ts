import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BoundedText } from '../../../../services/tools/process/bounded-text.ts';

/** Bytes cut into pieces at any place. */
const pieces = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...places, bytes.length].map((end, i) => bytes.subarray(i ? places[i - 1] : 0, end));
};
const some = fc.string({ unit: 'grapheme', maxLength: 400 });

describe('BoundedText', () => {
  it('gives back what fits, wherever the reads were cut', () => {
    fc.assert(
      fc.property(some, fc.array(fc.nat(), { maxLength: 20 }), (whole, cuts) => {
        const text = new BoundedText(100_000);
        for (const piece of pieces(Buffer.from(whole), cuts)) text.push('stdout', piece);
        text.end();
        expect(text.read().head).toBe(Buffer.from(whole).toString());
        expect(text.read().droppedBytes).toBe(0);
      }),
    );
  });

  it('otherwise head and tail of it, within the bound, and says how much is missing', () => {
    fc.assert(
      fc.property(
        some,
        fc.array(fc.nat(), { maxLength: 20 }),
        fc.nat(120),
        (raw, cuts, charsMax) => {
          const whole = Buffer.from(raw).toString();
          const text = new BoundedText(charsMax);
          for (const piece of pieces(Buffer.from(whole), cuts)) text.push('stdout', piece);
          text.end();
          const { head, tail, droppedBytes, totalBytes } = text.read();
          expect(whole.startsWith(head)).toBe(true);
          expect(whole.endsWith(tail)).toBe(true);
          expect(head.length + tail.length).toBeLessThanOrEqual(charsMax);
          expect(totalBytes).toBe(Buffer.byteLength(whole));
          expect(droppedBytes + Buffer.byteLength(head) + Buffer.byteLength(tail)).toBe(totalBytes);
          expect(/\p{Surrogate}/u.test(head + tail)).toBe(false);
        },
      ),
    );
  });

  it('two pipes do not break the characters of each other', () => {
    const text = new BoundedText(100);
    const [a, b] = [Buffer.from('日'), Buffer.from('本')];
    for (let i = 0; i < 3; i += 1) {
      text.push('stdout', a.subarray(i, i + 1));
      text.push('stderr', b.subarray(i, i + 1));
    }
    expect(text.read().head).toBe('日本');
  });

  it('taken in parts it gives the same as in one', () => {
    fc.assert(
      fc.property(some, fc.array(fc.nat(), { maxLength: 20 }), (whole, cuts) => {
        const text = new BoundedText(100_000);
        let said = '';
        for (const piece of pieces(Buffer.from(whole), cuts)) {
          text.push('stdout', piece);
          said += text.take().head;
        }
        text.end();
        expect(said + text.take().head).toBe(Buffer.from(whole).toString());
      }),
    );
  });
});
