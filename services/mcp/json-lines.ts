/** Messages out of a stream of bytes, one JSON object a line, whatever else a server prints. */

/** Larger than any result that is of use; a server that never ends its line must not fill memory. */
export const LINE_BYTES_MAX = 64 << 20;
/**
 * Between two messages, within `NOISE_WINDOW_MS`. A server that logs on stdout breaks the protocol, and may live; one that
 * does nothing else (`yes`, a file of a gigabyte) would have our whole processor.
 */
const NOISE_BYTES_MAX = 32 << 20;
/** Ten lines a second are no flood, however long nobody calls the server. */
const NOISE_WINDOW_MS = 60_000;
/** What a line costs us beside its bytes: many short ones are more work than few long ones. */
const LINE_COST_BYTES = 256;
/** Of a line that is no message, for whoever looks for the fault. */
const NOISE_CHARS_MAX = 200;
/** Of a line that is too long: its begin and its end, where the id of an answer stands. */
const EDGE_BYTES = 200;
const NEWLINE = 0x0a;
const BRACE = 0x7b;
const SPACE = 0x20;
/** Some programs put it before their first line. */
const BYTE_ORDER_MARK: readonly number[] = [0xef, 0xbb, 0xbf];

export interface JsonLinesOptions {
  /** An answer that is too long comes as an error under its id: somebody waits for it. */
  readonly onMessage: (message: Readonly<Record<string, unknown>>) => void;
  /** A line that is no JSON-RPC message (a log line, garbage), cut. */
  readonly onNoise: (line: string) => void;
  /** Once, when too much came that is no message, with that in words. Nothing is read after it. */
  readonly onFlood: (why: string) => void;
  readonly lineBytesMax?: number;
  readonly noiseBytesMax?: number;
  /** ms on any clock that goes on. */
  readonly now?: () => number;
}

/** @returns takes bytes as they come. *Contract:* never throws on what they hold. */
export function createJsonLines(options: JsonLinesOptions): (bytes: Uint8Array) => void {
  const reader = new LineReader(options);
  return (bytes) => reader.take(bytes);
}

/** What is known of the line that is being read. */
type Line =
  | { readonly is: 'blank' }
  /** Begins like a message: kept whole. */
  | { readonly is: 'whole'; readonly parts: Uint8Array[] }
  /** Begins like one, and is too long: its begin and its end. */
  | { readonly is: 'tooLong'; readonly begin: string; end: Buffer }
  /** Cannot be one, which its first letter says: only what is shown of it is kept. */
  | { readonly is: 'noise'; readonly begin: Buffer };

const blank: Line = { is: 'blank' };

class LineReader {
  readonly #options: JsonLinesOptions;
  readonly #lineBytesMax: number;
  readonly #noiseBytesMax: number;
  #line: Line = blank;
  #size = 0;
  #noiseBytes = 0;
  #noiseLines = 0;
  #noiseSinceMs = 0;
  #isFlooded = false;

  constructor(options: JsonLinesOptions) {
    this.#options = options;
    this.#lineBytesMax = options.lineBytesMax ?? LINE_BYTES_MAX;
    this.#noiseBytesMax = options.noiseBytesMax ?? NOISE_BYTES_MAX;
  }

  take(bytes: Uint8Array): void {
    let from = 0;
    while (!this.#isFlooded && from < bytes.length) {
      const end = bytes.indexOf(NEWLINE, from);
      if (end !== from) this.#add(bytes.subarray(from, end < 0 ? bytes.length : end));
      if (end < 0) return;
      this.#endLine();
      from = end + 1;
    }
  }

  #add(bytes: Uint8Array): void {
    this.#size += bytes.length;
    const line = this.#line;
    switch (line.is) {
      case 'blank':
        this.#line = begun(bytes);
        if (this.#line.is !== 'whole') this.#hasNoise(bytes.length);
        else if (this.#size > this.#lineBytesMax) this.#isTooLong(this.#line.parts);
        return;
      case 'whole':
        line.parts.push(bytes);
        if (this.#size > this.#lineBytesMax) this.#isTooLong(line.parts);
        return;
      case 'tooLong':
        line.end = lastOf([line.end, bytes]);
        this.#hasNoise(bytes.length);
        return;
      case 'noise':
        this.#hasNoise(bytes.length);
        return;
    }
  }

  #isTooLong(parts: readonly Uint8Array[]): void {
    this.#options.onNoise(`a line of more than ${this.#lineBytesMax} bytes was dropped`);
    this.#line = { is: 'tooLong', begin: firstOf(parts), end: lastOf(parts) };
    this.#hasNoise(this.#size - this.#lineBytesMax);
  }

  #endLine(): void {
    const line = this.#line;
    const size = this.#size;
    this.#line = blank;
    this.#size = 0;
    switch (line.is) {
      case 'blank':
        this.#hasNoiseLine();
        return;
      case 'noise':
        this.#options.onNoise(shown(line.begin.toString('utf8').trim()));
        this.#hasNoiseLine();
        return;
      case 'tooLong': {
        const id = idOf(line.begin, line.end.toString('latin1'));
        if (id === undefined) this.#hasNoiseLine();
        else this.#hasMessage(tooLong(id, size, this.#lineBytesMax));
        return;
      }
      case 'whole':
        // Decoded as a whole: a character may be cut between two chunks.
        this.#hear(Buffer.concat(line.parts).toString('utf8').trim(), size);
    }
  }

  #hear(text: string, size: number): void {
    // The mark may stand there, too; `trim` takes it for a space.
    const message = parsed(text);
    if (message && isSound(message)) {
      this.#hasMessage(legalAnswer(message));
      return;
    }
    this.#options.onNoise(shown(text));
    this.#hasNoise(size);
    this.#hasNoiseLine();
  }

  #hasMessage(message: Readonly<Record<string, unknown>>): void {
    this.#forgetNoise();
    this.#options.onMessage(message);
  }

  #forgetNoise(): void {
    this.#noiseBytes = 0;
    this.#noiseLines = 0;
  }

  #hasNoise(bytes: number): void {
    const nowMs = this.#options.now?.() ?? performance.now();
    if (nowMs - this.#noiseSinceMs > NOISE_WINDOW_MS) {
      this.#forgetNoise();
      this.#noiseSinceMs = nowMs;
    }
    this.#noiseBytes += bytes;
    const cost = this.#noiseBytes + this.#noiseLines * LINE_COST_BYTES;
    if (cost <= this.#noiseBytesMax || this.#isFlooded) return;
    this.#isFlooded = true;
    this.#line = blank;
    const much = `${this.#noiseLines} lines (${Math.round(this.#noiseBytes / 1024)} KiB)`;
    this.#options.onFlood(`it has printed ${much} without a message (logs belong on stderr)`);
  }

  #hasNoiseLine(): void {
    this.#noiseLines += 1;
    this.#hasNoise(0);
  }
}

/** What a line is by its first letter. */
function begun(bytes: Uint8Array): Line {
  const first = bytes.find((byte) => byte > SPACE && !BYTE_ORDER_MARK.includes(byte));
  if (first === undefined) return blank;
  if (first === BRACE) return { is: 'whole', parts: [bytes] };
  // Copied: a part of a chunk would keep all of it in memory.
  return { is: 'noise', begin: Buffer.from(bytes.subarray(0, NOISE_CHARS_MAX * 4)) };
}

const shown = (line: string): string => line.slice(0, NOISE_CHARS_MAX);

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

/** It says or answers something. */
const isSound = ({ jsonrpc, id, method }: Readonly<Record<string, unknown>>): boolean =>
  jsonrpc === '2.0' && (id !== undefined || method !== undefined);

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
