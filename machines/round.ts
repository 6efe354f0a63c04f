/** What a round of tool calls was and gave, as one short word: equal rounds have equal words. */

const PRIME = 0x100000001b3n;
const OFFSET = 0xcbf29ce484222325n;
const MASK = 0xffffffffffffffffn;
/** FNV-1a with 64 bits: not safe against malice, which is of no use here. */
const hash = (text: string) => {
  let value = OFFSET;
  for (let i = 0; i < text.length; i += 1) {
    value = ((value ^ BigInt(text.charCodeAt(i))) * PRIME) & MASK;
  }
  return value;
};

/**
 * The round with one more answered call. The order in which the calls were answered does not count
 * (they run side by side), how often each was made does. Short whatever the number of calls, since
 * it lies in the state.
 * @param round '' for a round without calls.
 * @param fingerprint of the tool, its input and its result.
 */
export const roundWith = (round: string, fingerprint: string): string => {
  const sum = round === '' ? 0n : BigInt(`0x${round}`);
  return ((sum + hash(fingerprint)) & MASK).toString(16);
};
