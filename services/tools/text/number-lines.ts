/** Width of `cat -n`; a longer number pushes its line to the right. */
const NUMBER_WIDTH_CHARS = 6;

/** `     7\ttext`, as `cat -n` writes it. */
export const numberedLine = (line: string, lineNumber: number): string =>
  `${String(lineNumber).padStart(NUMBER_WIDTH_CHARS)}\t${line}`;

/** Lines with their numbers, the first of them `startLine`. */
export const numberLines = (lines: readonly string[], startLine: number): string =>
  lines.map((line, index) => numberedLine(line, startLine + index)).join('\n');
