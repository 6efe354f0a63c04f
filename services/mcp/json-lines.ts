/** Messages out of a stream of bytes, one JSON object a line, whatever else a server prints. */

/** Larger than any result that is of use; a server that never ends its line must not fill memory. */
const LINE_BYTES_MAX = 64 << 20;
/** Of a line that is no message, for whoever looks for the fault. */
const NOISE_CHARS_MAX = 200;
const NEWLINE = 0x0a;

export interface JsonLinesOptions {
  readonly onMessage: (message: Readonly<Record<string, unknown>>) => void;
  /** A line that is no JSON-RPC message (a log line, garbage), cut. */
  readonly onNoise: (line: string) => void;
  readonly lineBytesMax?: number;
}

/** @returns takes bytes as they come. *Contract:* never throws on what they hold. */
export function createJsonLines(options: JsonLinesOptions): (bytes: Uint8Array) => void {
  const { onNoise, lineBytesMax = LINE_BYTES_MAX } = options;
  let parts: Uint8Array[] = [];
  let size = 0;
  let isTooLong = false;

  const add = (bytes: Uint8Array) => {
    if (isTooLong) return;
    size += bytes.length;
    if (size > lineBytesMax) {
      onNoise(`a line of more than ${lineBytesMax} bytes was dropped`);
      isTooLong = true;
      parts = [];
    } else {
      parts.push(bytes);
    }
  };
  const endLine = () => {
    // Decoded as a whole: a character may be cut between two chunks.
    if (!isTooLong) hear(Buffer.concat(parts).toString('utf8').trim(), options);
    parts = [];
    size = 0;
    isTooLong = false;
  };

  return (bytes) => {
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      add(bytes.subarray(from, end));
      endLine();
      from = end + 1;
    }
    if (from < bytes.length) add(bytes.subarray(from));
  };
}

function hear(line: string, { onMessage, onNoise }: JsonLinesOptions): void {
  if (line === '') return;
  const message = parsed(line);
  if (message?.jsonrpc === '2.0') onMessage(message);
  else onNoise(line.slice(0, NOISE_CHARS_MAX));
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const isRecord = value !== null && typeof value === 'object' && !Array.isArray(value);
    return isRecord ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
