/** Lines of a file from its end, in bounded memory: what is old need not be read to go on. */
import { openSessionFile } from './session-file.ts';

/** Large enough that a disk does not mind, small enough that a recent boundary is soon found. */
const CHUNK_BYTES = 256 << 10;
const NEWLINE = 0x0a;

/**
 * The lines, last first, without their ends. A last line that is not ended is a line, too. Only
 * what was there at the begin is read. A file that is not there has no lines.
 */
export async function* linesBack(path: string): AsyncGenerator<Buffer, void, undefined> {
  const file = await openSessionFile(path);
  if (!file) return;
  try {
    let at = (await file.stat()).size;
    /** Parts of the line whose begin was not seen yet, in order. */
    let parts: Buffer[] = [];
    while (at > 0) {
      const length = Math.min(CHUNK_BYTES, at);
      at -= length;
      const chunk = Buffer.allocUnsafe(length);
      const { bytesRead } = await file.read(chunk, 0, length, at);
      let end = bytesRead;
      for (;;) {
        const newline = end === 0 ? -1 : chunk.lastIndexOf(NEWLINE, end - 1);
        if (newline < 0) break;
        const line = [chunk.subarray(newline + 1, end), ...parts];
        parts = [];
        end = newline;
        if (line.some((part) => part.length > 0)) yield Buffer.concat(line);
      }
      if (end > 0) parts.unshift(chunk.subarray(0, end));
    }
    if (parts.length > 0) yield Buffer.concat(parts);
  } finally {
    await file.close();
  }
}
