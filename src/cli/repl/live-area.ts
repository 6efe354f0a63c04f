/**
 * What stands below the lasting text and is drawn anew with every change: the line that is not
 * finished, what goes on, what waits, and the input. Pure: a view becomes rows and a cursor.
 */
import type pc from 'picocolors';
import { cellsOf, clipCells, wrapCells } from '../cells.ts';
import { visible } from '../printable.ts';
import type { EditorState } from './editor.ts';

export interface LiveView {
  /** What goes on, with its spinner; absent: nothing does. */
  readonly status?: string;
  /** Lines above the input: what waits, what the keys do. */
  readonly notes: readonly string[];
  /** Before the input: `> `. */
  readonly label: string;
  readonly editor: EditorState;
}

export interface LiveRows {
  readonly rows: readonly string[];
  /** Width of each row in cells: a terminal that becomes narrower wraps them. */
  readonly cells: readonly number[];
  readonly cursorRow: number;
  readonly cursorColumn: number;
}

export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  readonly colors: ReturnType<typeof pc.createColors>;
}

/** More rows of input are looked at in parts, around the cursor. */
const INPUT_ROWS_MAX = 10;
const NOTES_MAX = 5;
/** Below this nothing sensible can be drawn. */
const COLUMNS_MIN = 10;

/** @param openLine the last row of text that has no line feed yet. */
export function liveRows(view: LiveView, openLine: string, terminal: Terminal): LiveRows {
  const { colors } = terminal;
  const columns = Math.max(COLUMNS_MIN, terminal.columns);
  const more = view.notes.length - NOTES_MAX;
  const above = [
    ...(view.status === undefined ? [] : [{ text: view.status, paint: colors.cyan }]),
    ...view.notes.slice(0, NOTES_MAX).map((text) => ({ text, paint: colors.dim })),
    ...(more > 0 ? [{ text: `  … ${more} more`, paint: colors.dim }] : []),
  ].map(({ text, paint }) => ({ text: clipCells(text, columns - 1), paint }));
  const spare = terminal.rows - above.length - 4;
  const input = inputRows(view, columns, Math.max(1, Math.min(INPUT_ROWS_MAX, spare)));
  const plain = (text: string) => text;
  const all = [
    ...(openLine === '' ? [] : [{ text: openLine, paint: plain }]),
    ...above,
    ...input.rows.map(({ text, isHint }) => ({ text, paint: isHint ? colors.dim : plain })),
  ];
  return {
    rows: all.map(({ text, paint }) => paint(text)),
    cells: all.map(({ text }) => cellsOf(text)),
    cursorRow: all.length - input.rows.length + input.cursorRow,
    cursorColumn: input.cursorColumn,
  };
}

interface InputRow {
  readonly text: string;
  readonly isHint: boolean;
}

/** The rows around the cursor; the number of lines above and below is said. */
function inputRows(
  { label, editor }: LiveView,
  columns: number,
  rowsMax: number,
): { rows: readonly InputRow[]; cursorRow: number; cursorColumn: number } {
  const indent = ' '.repeat(cellsOf(label));
  // One cell stays free for the cursor behind the last character.
  const width = Math.max(1, columns - cellsOf(label) - 1);
  const head = editor.text.slice(0, editor.cursor);
  const lineStart = head.lastIndexOf('\n') + 1;
  const lines = editor.text.split('\n');
  const lineAt = countOf(head, '\n');
  const from = Math.max(0, lineAt - rowsMax);
  const shown = lines.slice(from, lineAt + rowsMax + 1);
  const rows: string[] = [];
  let cursorRow = 0;
  let cursorColumn = 0;
  shown.forEach((line, index) => {
    const isCurrent = from + index === lineAt;
    const column = isCurrent ? editor.cursor - lineStart : 0;
    const part = around(line, column, width * rowsMax);
    if (isCurrent) {
      const upToCursor = wrapCells(shownText(part.text.slice(0, part.column)), width);
      cursorRow = rows.length + upToCursor.length - 1;
      cursorColumn = cellsOf(label) + cellsOf(upToCursor.at(-1) ?? '');
    }
    rows.push(...wrapCells(shownText(part.text), width));
  });
  const first = Math.max(0, Math.min(cursorRow - Math.floor(rowsMax / 2), rows.length - rowsMax));
  const window = rows.slice(first, first + rowsMax);
  const withLabel = window.map((text, index) => ({
    text: `${index === 0 && first + from === 0 ? label : indent}${text}`,
    isHint: false,
  }));
  const hidden = lines.length - shown.length;
  const isAll = hidden === 0 && window.length === rows.length;
  const hint = { text: `${indent}… ${lines.length} lines in all`, isHint: true };
  return {
    rows: isAll ? withLabel : [...withLabel, hint],
    cursorRow: cursorRow - first,
    cursorColumn,
  };
}

/** A line of megabytes is shown in the part where the cursor is. */
function around(line: string, column: number, charsMax: number): { text: string; column: number } {
  if (line.length <= 2 * charsMax) return { text: line, column };
  const from = Math.max(0, column - charsMax);
  return { text: line.slice(from, column + charsMax), column: column - from };
}

const shownText = (text: string): string => visible(text).replaceAll('\t', '  ');

const countOf = (text: string, character: string): number => {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) count++;
  return count;
};
