/** Cuts text where a reader would: never inside of a character, whatever it is made of. */

/** No grapheme that people write is longer (family emoji: 11, stacked accents: some 20). */
const GRAPHEME_CHARS_MAX = 64;
let segmenter: Intl.Segmenter | undefined;

const isLowSurrogate = (text: string, index: number): boolean =>
  (text.charCodeAt(index) & 0xfc00) === 0xdc00;

/**
 * The nearest place at or before `index` that is between two graphemes.
 * @param index in UTF-16 units; what comes after it decides, too, so cut late and not in pieces.
 */
export const graphemeBoundary = (text: string, index: number): number => {
  if (index <= 0) return 0;
  if (index >= text.length) return text.length;
  let start = Math.max(0, index - 4 * GRAPHEME_CHARS_MAX);
  if (start > 0 && isLowSurrogate(text, start)) start += 1;
  const near = text.slice(start, index + GRAPHEME_CHARS_MAX);
  segmenter ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
  const at = segmenter.segment(near).containing(index - start);
  const boundary = start + (at?.index ?? index - start);
  if (index - boundary <= GRAPHEME_CHARS_MAX) return boundary;
  return isLowSurrogate(text, index) ? index - 1 : index; // an endless heap of accents
};

/** The first characters, at most so many UTF-16 units. */
export const clipEnd = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : text.slice(0, graphemeBoundary(text, charsMax));

/** The last characters, at most so many UTF-16 units. */
export const clipStart = (text: string, charsMax: number): string => {
  if (text.length <= charsMax) return text;
  const index = text.length - charsMax;
  const boundary = graphemeBoundary(text, index);
  if (boundary === index) return text.slice(index);
  // The grapheme at the cut begins earlier: leave all of it out.
  for (let next = index + 1; next <= Math.min(index + GRAPHEME_CHARS_MAX, text.length); next += 1) {
    if (graphemeBoundary(text, next) === next) return text.slice(next);
  }
  return text.slice(isLowSurrogate(text, index) ? index + 1 : index);
};
