/** Cuts what the host sends into lines, without trusting it to send any. */

/**
 * 64 MB: twice the largest request that the API takes (32 MB), for base64 inside of JSON inside of
 * a line. Without a bound a host that forgets its newlines fills our memory.
 */
export const LINE_BYTES_MAX = 64 * 1024 * 1024;

/** A whole line without its end, or the size of one that was thrown away. */
export type InputLine =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'tooLong'; readonly bytes: number };

const NEWLINE = 0x0a;

/**
 * Lines of a byte stream. Decoded line by line, so a character that is split over two chunks stays
 * whole. The last line counts without a newline, too; empty lines are skipped.
 */
export async function* readLines(
  input: AsyncIterable<Uint8Array>,
  lineBytesMax = LINE_BYTES_MAX,
): AsyncGenerator<InputLine, void, void> {
  let parts: Uint8Array[] = [];
  let size = 0;
  const take = (end: Uint8Array): InputLine | undefined => {
    const bytes = size + end.length;
    const line = bytes > lineBytesMax ? undefined : Buffer.concat([...parts, end]).toString('utf8');
    parts = [];
    size = 0;
    if (line === undefined) return { kind: 'tooLong', bytes };
    const text = line.replace(/^\uFEFF/, '').trim();
    return text === '' ? undefined : { kind: 'line', text };
  };
  for await (const chunk of input) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      const line = take(chunk.subarray(from, at));
      from = at + 1;
      if (line) yield line;
    }
    const rest = chunk.subarray(from);
    size += rest.length;
    // Beyond the bound only the size is kept.
    if (size <= lineBytesMax) parts.push(rest);
    else parts = [];
  }
  const last = take(new Uint8Array());
  if (last) yield last;
}

/**
 * All of a byte stream, or the size at which it was given up.
 * @param bytesMax more than this is not kept.
 */
export async function readAll(
  input: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<{ readonly text: string } | { readonly tooLong: number }> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of input) {
    size += chunk.length;
    if (size > bytesMax) return { tooLong: size };
    parts.push(chunk);
  }
  return { text: Buffer.concat(parts).toString('utf8') };
}
