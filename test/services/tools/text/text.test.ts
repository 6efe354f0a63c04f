import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countOf, sizeOf } from '../../../../services/tools/text/amounts.ts';
import { cutLine } from '../../../../services/tools/text/cut-line.ts';
import { headAndTail } from '../../../../services/tools/text/head-and-tail.ts';
import { numberLines } from '../../../../services/tools/text/number-lines.ts';
import { oneLine } from '../../../../services/tools/text/one-line.ts';
import { wellFormed } from '../../../../services/well-formed.ts';
import { isWellFormed } from '../files/kit.ts';

describe('CONT-07 a cut is between graphemes', () => {
  const graphemes = ['🎉', '👩🏽‍💻', 'e\u0301', '🇩🇪', 'x', '각', '\r\n'];
  const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });
  const boundaries = (text: string) =>
    new Set([...segmenter.segment(text)].map(({ index }) => index).concat(text.length));

  test('of one line, for every offset', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...graphemes), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 0, max: 120 }),
        (parts, charsMax) => {
          const text = parts.join('');
          const cut = cutLine(text, charsMax);
          if (text.length <= charsMax) {
            expect(cut).toBe(text);
            return;
          }
          const kept = cut.slice(0, cut.lastIndexOf('… ['));
          expect(text.startsWith(kept) && kept.length <= charsMax).toBe(true);
          expect(boundaries(text).has(kept.length)).toBe(true);
          expect(cut).toContain(` [${text.length - kept.length} more`);
        },
      ),
    );
  });
  test('of head and tail', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...graphemes), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 0, max: 120 }),
        (parts, charsMax) => {
          const text = parts.join('');
          const cut = headAndTail(text, charsMax);
          expect(isWellFormed(cut)).toBe(true);
          if (text.length <= charsMax) {
            expect(cut).toBe(text);
            return;
          }
          const [head = '', tail = ''] = cut.split(/\n\[… \d+ characters left out …\]\n/);
          expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
          expect(head.length + tail.length).toBeLessThanOrEqual(charsMax);
          expect(boundaries(text).has(head.length)).toBe(true);
          expect(boundaries(text).has(text.length - tail.length)).toBe(true);
        },
      ),
    );
  });
});

test('halves of characters are replaced, whole ones stay', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('\ud83c', '\udf89', 'a', '🎉')), (parts) => {
      const text = parts.join('');
      const well = wellFormed(text);
      expect(isWellFormed(well)).toBe(true);
      expect(well.length).toBe(text.length);
      if (isWellFormed(text)) expect(well).toBe(text);
    }),
  );
});

test('a name is one line', () => {
  expect(oneLine('käse 🎉.txt')).toBe('käse 🎉.txt');
  expect(oneLine('a\nb')).toBe('"a\\nb"');
  expect(oneLine('a\u2028\u009bb')).toBe('"a\\u2028\\u009bb"');
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.constantFrom('\u2028', '\u0000', '\n', '\u009f', '\u007f', 'a', '\u{1f389}'),
      }),
      (name) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
        expect(oneLine(name)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
      },
    ),
  );
});

test('numbers, amounts, sizes', () => {
  expect(numberLines(['a', 'b'], 999_999)).toBe('999999\ta\n1000000\tb');
  expect([countOf(1, 'line'), countOf(1_234, 'entry', 'entries')]).toEqual([
    '1 line',
    '1,234 entries',
  ]);
  expect([0, 1, 1_023, 1_024, 3_900_000, 5e9].map(sizeOf)).toEqual([
    ...['0 bytes', '1 byte', '1,023 bytes', '1.0 KB', '3.7 MB', '4.7 GB'],
  ]);
});
