/**
 * Text of unknown length in bounded memory: the beginning and the end are kept, what lies between
 * is counted. A command may print 90 GB; the first and the last lines say what happened.
 */
import { StringDecoder } from 'node:string_decoder';
import { clipEnd, clipStart } from './clip.ts';

/** Kept beyond the bounds, so that a cut can see the whole grapheme that it is in. */
const LOOK_AROUND_CHARS = 64;
/** Many small pieces are joined, so that a byte-wise writer costs no long list. */
const PIECES_MAX = 512;

export interface BoundedResult {
  /** All of it when nothing was dropped. */
  readonly head: string;
  /** Empty when nothing was dropped. */
  readonly tail: string;
  /** UTF-8 bytes that are in neither. */
  readonly droppedBytes: number;
  readonly totalBytes: number;
}

export class BoundedText {
  readonly #headCharsMax: number;
  readonly #tailCharsMax: number;
  /** One for each pipe: a character may be split over two reads, with another pipe's between. */
  readonly #decoders = new Map<string, StringDecoder>();
  #head = '';
  #pieces: string[] = [];
  #tailChars = 0;
  #chars = 0;
  #bytes = 0;

  /** @param charsMax in UTF-16 units; half of it for the beginning, half for the end. */
  constructor(charsMax: number) {
    this.#headCharsMax = Math.ceil(charsMax / 2);
    this.#tailCharsMax = charsMax - this.#headCharsMax;
  }

  get totalBytes(): number {
    return this.#bytes;
  }

  get isCut(): boolean {
    return this.#chars > this.#headCharsMax + this.#tailCharsMax;
  }

  /** Bytes that are no UTF-8 become U+FFFD, nothing else changes. */
  push(stream: string, bytes: Buffer): void {
    this.#bytes += bytes.length;
    let decoder = this.#decoders.get(stream);
    if (!decoder) {
      decoder = new StringDecoder('utf8');
      this.#decoders.set(stream, decoder);
    }
    this.#add(decoder.write(bytes));
  }

  /** No more will come: what is left of a character that was never finished is said. */
  end(): void {
    for (const decoder of this.#decoders.values()) this.#add(decoder.end());
    this.#decoders.clear();
  }

  /** The last characters so far. */
  last(charsMax: number): string {
    const tail = this.#pieces.join('');
    return clipStart(tail.length < charsMax ? this.#head + tail : tail, charsMax);
  }

  /** What there is, and begins anew; a character that has only half come stays for later. */
  take(): BoundedResult {
    const result = this.read();
    this.#head = '';
    this.#pieces = [];
    this.#tailChars = 0;
    this.#chars = 0;
    this.#bytes = 0;
    return result;
  }

  read(): BoundedResult {
    const tail = this.#pieces.join('');
    if (!this.isCut) {
      return { head: this.#head + tail, tail: '', droppedBytes: 0, totalBytes: this.#bytes };
    }
    const isWhole = this.#head.length + tail.length === this.#chars;
    const around = isWhole ? tail : '';
    const head = clipEnd(this.#head + around, this.#headCharsMax);
    const end = clipStart(isWhole ? this.#head + tail : tail, this.#tailCharsMax);
    const kept = Buffer.byteLength(head) + Buffer.byteLength(end);
    return {
      head,
      tail: end,
      droppedBytes: Math.max(0, this.#bytes - kept),
      totalBytes: this.#bytes,
    };
  }

  #add(text: string): void {
    this.#chars += text.length;
    const room = this.#headCharsMax + LOOK_AROUND_CHARS - this.#head.length;
    if (room > 0) this.#head += text.slice(0, room);
    const rest = room > 0 ? text.slice(room) : text;
    if (rest.length === 0) return;
    this.#pieces.push(rest);
    this.#tailChars += rest.length;
    this.#trim();
  }

  #trim(): void {
    const needed = this.#tailCharsMax + LOOK_AROUND_CHARS;
    let first = 0;
    for (let piece = this.#pieces[first]; piece !== undefined; piece = this.#pieces[first]) {
      if (this.#tailChars - piece.length < needed) break;
      this.#tailChars -= piece.length;
      first += 1;
    }
    if (first > 0) this.#pieces.splice(0, first);
    if (this.#pieces.length > PIECES_MAX) this.#pieces = [this.#pieces.join('')];
  }
}
