import fc from 'fast-check';
import { expect, it } from 'vitest';
import { windows } from '../../../services/preprocess/windows.ts';

const window = fc.integer({ min: 1_000, max: 2_000_000 });
const outputMax = fc.integer({ min: 256, max: 200_000 });

it('the numbers of a window lie in order', () => {
  fc.assert(
    fc.property(window, outputMax, (w, o) => {
      const n = windows(w, o);
      expect(0 < n.autocompact && n.autocompact <= n.blocking).toBe(true);
      expect(n.blocking <= n.effective && n.effective < n.window).toBe(true);
      expect(n.effective + n.reserve).toBe(w);
      // what is kept must fit beside a summary, far below the threshold
      expect(n.kept + n.reserve).toBeLessThan(n.autocompact);
    }),
  );
});

it('a larger window never holds less', () => {
  fc.assert(
    fc.property(window, window, outputMax, (a, b, o) => {
      const [small, large] = [windows(Math.min(a, b), o), windows(Math.max(a, b), o)];
      expect(small.autocompact).toBeLessThanOrEqual(large.autocompact);
      expect(small.blocking).toBeLessThanOrEqual(large.blocking);
      expect(small.kept).toBeLessThanOrEqual(large.kept);
    }),
  );
});

it.each([
  [200_000, { reserve: 20_000, effective: 180_000, autocompact: 167_000, blocking: 177_000 }],
  [16_000, { reserve: 4_000, effective: 12_000, autocompact: 10_500, blocking: 11_680 }],
  [8_000, { reserve: 2_000, effective: 6_000, autocompact: 5_250, blocking: 5_840, kept: 1_500 }],
])('a window of %i tokens', (tokens, numbers) => {
  expect(windows(tokens, 64_000)).toMatchObject(numbers);
});
