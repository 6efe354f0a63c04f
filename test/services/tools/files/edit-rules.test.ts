/** Rules of editing that hold for any file, on the pure functions. */
import { applyPatch } from 'diff';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyEdit } from '../../../../services/tools/files/apply-edit.ts';
import { decodeText, encodeText } from '../../../../services/tools/files/encoding.ts';
import { patchOf } from '../../../../services/tools/files/patch.ts';

const utf16 = (order: 'le' | 'be') => (bytes: Uint8Array) =>
  Buffer.concat([Buffer.from(order === 'le' ? [0xff, 0xfe] : [0xfe, 0xff]), bytes]);

test('bytes that are decoded and not changed are the same bytes again', () => {
  const any = fc.uint8Array({ maxLength: 60 });
  const bytes = fc.oneof(
    any.map((each) => Buffer.from(each)),
    any.map(utf16('le')),
    any.map(utf16('be')),
    any.map((each) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), each])),
    fc.string({ unit: 'grapheme' }).map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(bytes, (before) => {
      const decoded = decodeText(before);
      if (!decoded.ok) {
        expect(before.length % 2).toBe(1); // UTF-16 that is cut
        return;
      }
      const encoded = encodeText(decoded.value.text, decoded.value.format);
      expect(encoded.ok && encoded.value.equals(before)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

const endings = fc.array(fc.constantFrom('\n', '\r\n'), { minLength: 1, maxLength: 12 });

test('every line that an edit does not touch keeps its ending', () => {
  const place = fc.nat({ max: 11 });
  fc.assert(
    fc.property(endings, place, place, place, fc.boolean(), (ends, a, z, at, isRemoved) => {
      const lines = ends.map((_, index) => `line ${String(index).padStart(2, '0')}`);
      const [from, to] = [a % ends.length, z % ends.length].sort((x, y) => x - y) as [
        number,
        number,
      ];
      const chosen = lines.slice(from, to + 1);
      const inner = at % chosen.length;
      const wish = isRemoved
        ? chosen.filter((_, index) => index !== inner)
        : [...chosen.slice(0, inner), 'new', ...chosen.slice(inner)];
      const edited = applyEdit(lines.map((line, index) => line + ends[index]).join(''), {
        old_string: `${chosen.join('\n')}\n`,
        new_string: wish.map((line) => `${line}\n`).join(''),
      });
      if (!edited.ok) throw new Error(edited.message);
      for (const [index, line] of lines.entries()) {
        if (isRemoved && index === from + inner) continue;
        expect(edited.value.text).toContain(line + ends[index]);
      }
      expect(edited.value.text.replaceAll('\r\n', '\n')).toBe(
        [...lines.slice(0, from), ...wish, ...lines.slice(to + 1)].map((l) => `${l}\n`).join(''),
      );
    }),
    { numRuns: 500 },
  );
});

test('a replacement is literal, whatever it looks like', () => {
  const tricky = fc.constantFrom(
    '$&',
    '$$',
    '$1',
    '$`',
    "$'",
    '$<a>',
    '\\n',
    '\\u0041',
    '.',
    '*',
    '"',
    '’',
  );
  const text = fc.array(fc.oneof(tricky, fc.constantFrom('a', ' ', '\n')), { maxLength: 12 });
  fc.assert(
    fc.property(text, text, text, (before, wish, after) => {
      const mark = '<<here>>';
      const raw = `${before.join('')}${mark}${after.join('')}`;
      const edited = applyEdit(raw, { old_string: mark, new_string: wish.join('') });
      expect(edited).toEqual({
        ok: true,
        value: { text: `${before.join('')}${wish.join('')}${after.join('')}`, count: 1 },
      });
    }),
  );
});

const asPatch = (hunks: readonly object[]) => ({
  ...{ oldFileName: '', newFileName: '', oldHeader: '', newHeader: '', index: '' },
  hunks: hunks as never[],
});

test('the hunks lead from the old text to the new one', async () => {
  const text = fc
    .array(fc.constantFrom('a\n', 'b\n', 'c\r\n', '\n', 'd'), { maxLength: 12 })
    .map((lines) => lines.join(''));
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      const { structuredPatch } = await patchOf(before, after);
      expect(applyPatch(before, asPatch(structuredPatch))).toBe(after);
    }),
  );
});

test('a file that is too large for a diff has one hunk, or a summary', async () => {
  const lines = Array.from(
    { length: 200_000 },
    (_, index) => `line ${index} of many, many lines\n`,
  );
  const before = lines.join('');
  const after = before.replace('line 100000 of many, many lines\n', 'other\nlines\n');
  const small = await patchOf(before, after);
  expect(small.structuredPatch).toEqual([
    {
      ...{ oldStart: 100_001, oldLines: 1, newStart: 100_001, newLines: 2 },
      lines: ['-line 100000 of many, many lines', '+other', '+lines'],
    },
  ]);
  const large = await patchOf(before, before.replaceAll('many lines', 'few'));
  expect(large.structuredPatch).toEqual([]);
  expect(large.summary).toContain('200000 lines');
});
