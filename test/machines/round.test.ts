import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { roundWith } from '../../machines/round.ts';

const roundOf = (calls: readonly string[]) => calls.reduce(roundWith, '');

describe('roundWith', () => {
  it('does not care for the order in which calls were answered', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (calls) => {
        expect(roundOf([...calls].reverse())).toBe(roundOf(calls));
      }),
    );
  });
  it('tells other calls, and other numbers of them, apart', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.string(), (calls, one) => {
        expect(roundOf([...calls, one])).not.toBe(roundOf(calls));
        expect(roundOf([...calls, `${one}x`])).not.toBe(roundOf([...calls, one]));
      }),
    );
  });
  it('stays short', () => {
    expect(roundOf(Array.from({ length: 1_000 }, (_, i) => `call ${i}`)).length).toBeLessThan(17);
  });
});
