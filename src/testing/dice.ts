/** Chance that can be repeated: the same seed gives the same throws. */

/** Where everything random of a test comes from. */
export interface Dice {
  /** Whole, both included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  /** One of them. @throws when there is none. */
  pick<T>(choices: readonly T[]): T;
  /** One of the keys, as often as its weight says. @throws when all weights are 0. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K;
  uuid(): string;
}

/**
 * Mulberry32: 32 bits of state, good enough to choose faults and moments; never for a secret.
 *
 * @example
 * const dice = diceOf(7);
 * const retries = dice.between(0, 3); // the same in each run
 */
export function diceOf(seed: number): Dice {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  const hex = (digits: number) =>
    Array.from({ length: digits }, () => Math.floor(next() * 16).toString(16)).join('');
  return {
    between,
    chance: (probability) => next() < probability,
    pick: (choices) => {
      if (choices.length === 0) throw new RangeError('there is nothing to pick from');
      return choices[between(0, choices.length - 1)] as (typeof choices)[number];
    },
    weighted: (weights) => keyAt(weights, next()),
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
  };
}

function keyAt<K extends string>(weights: Readonly<Record<K, number>>, share: number): K {
  const entries = (Object.entries(weights) as [K, number][]).filter(([, weight]) => weight > 0);
  const last = entries.at(-1);
  if (!last) throw new RangeError('there is nothing to pick from');
  let left = share * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [key, weight] of entries) {
    left -= weight;
    if (left < 0) return key;
  }
  return last[0];
}
