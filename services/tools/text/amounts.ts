/** Amounts as a reader wants them. English, as all texts for the model. */
const number = new Intl.NumberFormat('en-US');

/** `12,345`. */
export const amount = (value: number): string => number.format(value);

/** `1 line`, `2 lines`, `2 matches`. */
export const countOf = (value: number, noun: string, plural = `${noun}s`): string =>
  `${amount(value)} ${value === 1 ? noun : plural}`;

const UNITS = ['KB', 'MB', 'GB', 'TB'] as const;
/** `999 bytes`, `3.7 MB`: powers of 1,024. */
export const sizeOf = (bytes: number): string => {
  if (bytes < 1024) return countOf(bytes, 'byte');
  let rest = bytes / 1024;
  let unit = 0;
  while (rest >= 1024 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${rest < 10 ? rest.toFixed(1) : amount(Math.round(rest))} ${UNITS[unit]}`;
};
