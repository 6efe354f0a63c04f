/** What an edit changed, as lines for a person. */
import type pc from 'picocolors';
import { isRecord } from '../../services/is-record.ts';
import type { Hunk } from '../../services/tools/files/patch.ts';
import { clipCells } from './cells.ts';
import { printable } from './printable.ts';

/** More is read in the file; the number of lines that are left out is said. */
const DIFF_LINES_MAX = 24;

type Colors = ReturnType<typeof pc.createColors>;

/** Hunks in `tool_use_result.structuredPatch`, as far as they are well-formed. */
export function hunksOf(toolUseResult: unknown): readonly Hunk[] {
  if (!isRecord(toolUseResult) || !Array.isArray(toolUseResult.structuredPatch)) return [];
  return (toolUseResult.structuredPatch as readonly unknown[]).filter(isHunk);
}

const isHunk = (value: unknown): value is Hunk =>
  isRecord(value) &&
  typeof value.newStart === 'number' &&
  Array.isArray(value.lines) &&
  value.lines.every((line) => typeof line === 'string');

/** `+` green and `-` red with the line numbers of the new file; bounded. */
export function diffLines(
  hunks: readonly Hunk[],
  colors: Colors,
  cellsMax: number,
): readonly string[] {
  const all = hunks.flatMap((hunk, index) => [
    ...(index > 0 ? [colors.dim('      …')] : []),
    ...hunkLines(hunk, colors, cellsMax),
  ]);
  const more = all.length - DIFF_LINES_MAX;
  if (more <= 0) return all;
  return [...all.slice(0, DIFF_LINES_MAX), colors.dim(`      … ${more} more lines of changes`)];
}

function hunkLines(hunk: Hunk, colors: Colors, cellsMax: number): readonly string[] {
  let number = hunk.newStart;
  return hunk.lines.map((line) => {
    const mark = printable(line.charAt(0)).trim().padEnd(1);
    const text = printable(line.slice(1)).replaceAll('\n', '').replaceAll('\t', '  ');
    const shown = mark === '-' || mark === '\\' ? '' : String(number++);
    const row = clipCells(`${shown.padStart(5)} ${mark} ${text}`, cellsMax);
    if (mark === '+') return colors.green(row);
    return mark === '-' ? colors.red(row) : colors.dim(row);
  });
}
