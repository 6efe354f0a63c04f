import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type InputLine, readAll, readLines } from '../../../src/cli/stdin-lines.ts';

async function* chunksOf(bytes: Buffer, sizes: readonly number[]) {
  let at = 0;
  for (const size of sizes) {
    yield bytes.subarray(at, at + size);
    at += size;
  }
  yield bytes.subarray(at);
}
async function linesOf(input: AsyncIterable<Uint8Array>, max?: number): Promise<InputLine[]> {
  const lines: InputLine[] = [];
  for await (const line of readLines(input, max)) lines.push(line);
  return lines;
}

it('gives the same lines however the bytes are cut', async () => {
  const line = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text.trim() !== '');
  const texts = fc.array(line.map((text) => text.replace(/\s+/g, ' ').trim()));
  await fc.assert(
    fc.asyncProperty(texts, fc.array(fc.nat(9)), fc.boolean(), async (lines, sizes, hasEnd) => {
      const bytes = Buffer.from(lines.join('\r\n\n') + (hasEnd ? '\n' : ''));
      const got = await linesOf(chunksOf(bytes, sizes));
      const expected = lines.map((text) => ({
        kind: 'line',
        text: text.replace(/^\uFEFF/, '').trim(),
      }));
      expect(got).toEqual(expected.filter(({ text }) => text !== ''));
    }),
  );
});

it('throws a line away that is too long, keeps its size only, and goes on behind it', async () => {
  const bytes = Buffer.from(`${'x'.repeat(50)}\nok\n${'y'.repeat(11)}`);
  expect(await linesOf(chunksOf(bytes, [7, 7, 7]), 10)).toEqual([
    { kind: 'tooLong', bytes: 50 },
    { kind: 'line', text: 'ok' },
    { kind: 'tooLong', bytes: 11 },
  ]);
});

it('skips a byte order mark', async () => {
  expect(await linesOf(chunksOf(Buffer.from('\uFEFF{}\n'), []))).toEqual([
    { kind: 'line', text: '{}' },
  ]);
});

it('reads a whole stream up to a bound', async () => {
  expect(await readAll(chunksOf(Buffer.from('äöü'), [1, 2]), 6)).toEqual({ text: 'äöü' });
  expect(await readAll(chunksOf(Buffer.from('äöü'), [1, 2]), 5)).toEqual({ tooLong: 6 });
});
