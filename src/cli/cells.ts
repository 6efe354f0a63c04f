/** How wide text is in a terminal: in cells, of which a wide character or an emoji takes two. */

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const PLAIN = /^[\u0020-\u007e]*$/;
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]+$/u;
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u;
/** East Asian wide and fullwidth characters (UAX 11), by block. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]/u;

/** What a person counts as one character. */
export const graphemesOf = (text: string): readonly string[] =>
  PLAIN.test(text) ? [...text] : Array.from(segmenter.segment(text), ({ segment }) => segment);

/** Of one grapheme. */
function cellsOfGrapheme(grapheme: string): number {
  if (ZERO_WIDTH.test(grapheme)) return 0;
  return EMOJI.test(grapheme) || WIDE.test(grapheme) ? 2 : 1;
}

/** Of text in one line, without escape sequences. */
export const cellsOf = (text: string): number =>
  PLAIN.test(text)
    ? text.length
    : graphemesOf(text).reduce((sum, grapheme) => sum + cellsOfGrapheme(grapheme), 0);

/** Cut to so many cells, the last of them `…`; never within a character. */
export function clipCells(line: string, cellsMax: number): string {
  // A character that is not plain may take two cells, so half of the bound is always safe.
  if (line.length * 2 <= cellsMax || (line.length <= cellsMax && PLAIN.test(line))) return line;
  let cells = 0;
  let kept = '';
  let isCut = false;
  for (const grapheme of graphemesOf(line.slice(0, cellsMax * GRAPHEME_CHARS))) {
    const width = cellsOfGrapheme(grapheme);
    if (cells + width > cellsMax) {
      isCut = true;
      break;
    }
    cells += width;
    kept += grapheme;
  }
  if (!isCut && kept.length === line.length) return line;
  const room = [...graphemesOf(kept)];
  while (cells > cellsMax - 1 && room.length > 0) cells -= cellsOfGrapheme(room.pop() ?? '');
  return `${room.join('')}…`;
}

/** More than any grapheme of normal text has; so a line of megabytes is not read to its end. */
const GRAPHEME_CHARS = 16;

/** One line as the rows of a terminal. At least one row; only the last may be shorter. */
export function wrapCells(line: string, columns: number): readonly string[] {
  if (PLAIN.test(line)) {
    const rows: string[] = [];
    for (let at = 0; at < line.length; at += columns) rows.push(line.slice(at, at + columns));
    return rows.length === 0 ? [''] : rows;
  }
  const rows: string[] = [];
  let row = '';
  let cells = 0;
  for (const grapheme of graphemesOf(line)) {
    const width = cellsOfGrapheme(grapheme);
    if (cells + width > columns && row !== '') {
      rows.push(row);
      row = '';
      cells = 0;
    }
    row += grapheme;
    cells += width;
  }
  return [...rows, row];
}
