/** Messages out of a stream of bytes, one JSON object a line, whatever else a server prints. */

/** Larger than any result that is of use; a server that never ends its line must not fill memory. */
export const LINE_BYTES_MAX = 64 << 20;
/** Of a line that is no message, for whoever looks for the fault. */
const NOISE_CHARS_MAX = 200;
/** Of a line that is too long: its begin and its end, where the id of an answer stands. */
const EDGE_BYTES = 200;
const NEWLINE = 0x0a;

export interface JsonLinesOptions {
  /** An answer that is too long comes as an error under its id: somebody waits for it. */
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
  /** Begin and end of a line that is too long. */
  let edges: { readonly begin: string; end: Buffer } | undefined;

  const add = (bytes: Uint8Array) => {
    size += bytes.length;
    if (edges) {
      edges.end = lastOf([edges.end, bytes]);
    } else if (size > lineBytesMax) {
      onNoise(`a line of more than ${lineBytesMax} bytes was dropped`);
      const whole = [...parts, bytes];
      edges = { begin: firstOf(whole), end: lastOf(whole) };
      parts = [];
    } else {
      parts.push(bytes);
    }
  };
  const endLine = () => {
    // Decoded as a whole: a character may be cut between two chunks.
    if (!edges) hear(Buffer.concat(parts).toString('utf8').trim(), options);
    const id = edges && idOf(edges.begin, edges.end.toString('latin1'));
    if (id !== undefined) options.onMessage(tooLong(id, size, lineBytesMax));
    parts = [];
    size = 0;
    edges = undefined;
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

function firstOf(parts: readonly Uint8Array[]): string {
  const [first, second = Buffer.of()] = parts;
  const begin = Buffer.concat([first ?? second, second]).subarray(0, EDGE_BYTES);
  return begin.toString('latin1');
}

const lastOf = (parts: readonly Uint8Array[]): Buffer => {
  const ends = parts.slice(-EDGE_BYTES).map((part) => part.subarray(-EDGE_BYTES));
  return Buffer.from(Buffer.concat(ends).subarray(-EDGE_BYTES));
};

/** Of an answer, whichever end its id stands at: SDKs differ. A question of a server has none here. */
function idOf(begin: string, end: string): number | undefined {
  if (/^\s*\{[^{[]*"method"/.test(begin)) return undefined;
  const found =
    /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,/.exec(begin) ??
    /,\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(end);
  return found ? Number(found[1]) : undefined;
}

const tooLong = (id: number, bytes: number, bytesMax: number) => ({
  ...{ jsonrpc: '2.0', id },
  error: {
    code: -32_000,
    message: `the answer has ${bytes} bytes, and more than ${bytesMax} are not taken: ask for less`,
  },
});

function hear(line: string, { onMessage, onNoise }: JsonLinesOptions): void {
  if (line === '') return;
  const message = parsed(line);
  if (message?.jsonrpc === '2.0') onMessage(legalAnswer(message));
  else onNoise(line.slice(0, NOISE_CHARS_MAX));
}

/**
 * An answer of a wrong shape as an error: the SDK passes over it, and whoever waits for it would
 * wait for the deadline.
 */
function legalAnswer(
  message: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { id, method, result, error } = message;
  if (id === undefined || method !== undefined) return message;
  if (error === undefined) {
    const isRecord = result !== null && typeof result === 'object' && !Array.isArray(result);
    return isRecord ? message : refusal(id, 'the answer is no object');
  }
  const { code, message: words } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (Number.isInteger(code) && typeof words === 'string') return message;
  return refusal(id, typeof words === 'string' ? words : 'the server failed without a word');
}

const refusal = (id: unknown, message: string) => ({
  ...{ jsonrpc: '2.0', id, error: { code: -32_603, message } },
});

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const isRecord = value !== null && typeof value === 'object' && !Array.isArray(value);
    return isRecord ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
