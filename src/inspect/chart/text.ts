/**
 * How wide a text will be, before there is a browser to ask. Fonts differ: wide enough for DejaVu
 * Sans, the widest of the families that the page names.
 */

/** Sizes of letters on the chart, px. The style sheet says the same. */
export const sizes = { name: 17, row: 13 } as const;

const narrow = /[iljtfrI.,:;|[\]()'!· ]/;
const wide = /[mwMW@%—]/;
const capital = /[A-Z]/;
/** Parts of an em. */
function widthOfLetter(letter: string): number {
  if (letter.charCodeAt(0) > 0x2e80) return 1.02; // CJK and pictures: a whole square
  if (wide.test(letter)) return 0.9;
  if (narrow.test(letter)) return 0.38;
  return capital.test(letter) ? 0.7 : 0.6;
}

/** @returns px, rounded up. */
export const widthOf = (text: string, size: number): number =>
  Math.ceil([...text].reduce((sum, letter) => sum + widthOfLetter(letter) * size, 0));

/** Longer than this, a label is cut in two: an edge that runs down then costs half the width. */
const LINE_LETTERS = 15;
/** @returns one or two lines; together they are the text. */
export function linesOf(text: string): readonly string[] {
  if (text.length <= LINE_LETTERS) return [text];
  const breaks = [...text.matchAll(/[_ ·.]+|[a-z](?=[A-Z])/g)].map(
    ({ index, 0: found }) => index + found.length,
  );
  const [first, ...others] = breaks;
  if (first === undefined) return [text];
  const middle = text.length / 2;
  const cut = others.reduce(
    (best, at) => (Math.abs(at - middle) < Math.abs(best - middle) ? at : best),
    first,
  );
  return [text.slice(0, cut).trimEnd(), text.slice(cut)];
}
