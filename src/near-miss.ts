/** Typing errors in names that guard something must not pass for names that guard nothing. */

/** Two slips in a short word are another word. */
const slipsMax = (word: string) => (word.length > 4 ? 2 : 1);

/** @returns the known word that was probably meant; `undefined` for a known or a different word. */
export function nearMiss(word: string, known: readonly string[]): string | undefined {
  if (known.includes(word)) return undefined;
  const lower = word.toLowerCase();
  return known.find((one) => slips(lower, one.toLowerCase()) <= slipsMax(one));
}

/** Letters to add, leave out, change or swap with their neighbour. */
function slips(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= from.length; row++) {
    rows.push([row]);
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      rows[row]?.push(
        Math.min(
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          at(row - 1, column - 1) + (isSame ? 0 : 1),
          isSwapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(from.length, to.length);
}
