import { cutLine } from '../text/cut-line.ts';
import { READ_CHARS_MAX, READ_LINE_CHARS_MAX } from './limits.ts';

/** Kept of a line beyond its bound, so that the cut sees the whole grapheme that it is in. */
const LOOK_AROUND_CHARS = 64;
const KEPT_CHARS = READ_LINE_CHARS_MAX + LOOK_AROUND_CHARS;

/**
 * Some lines of a text that comes in pieces, in memory bounded by what is shown. Lines end with
 * `\n` or `\r\n`; the ending is no part of the line, and none begins after the last one.
 */
export class LineWindow {
  readonly lines: string[] = [];
  /** The window closed early, for its lines have so many characters. */
  isFull = false;
  readonly #first: number;
  readonly #last: number;
  #lineNumber = 1;
  #kept = '';
  #lineChars = 0;
  #shownChars = 0;

  /** @param first number of the first line, from 1. */
  constructor(first: number, count: number) {
    this.#first = first;
    this.#last = first + count - 1;
  }

  /** Nothing that may still come would be shown. */
  get isClosed(): boolean {
    return this.isFull || this.#lineNumber > this.#last;
  }

  /** Lines so far, an unfinished one included. */
  get totalLines(): number {
    return this.#lineNumber - (this.#lineChars === 0 ? 1 : 0);
  }

  push(text: string): void {
    let from = 0;
    for (let to = text.indexOf('\n'); to !== -1; to = text.indexOf('\n', from)) {
      this.#extend(text, from, to);
      this.#finish();
      from = to + 1;
    }
    this.#extend(text, from, text.length);
  }

  /** No more will come. */
  end(): void {
    if (this.#lineChars === 0) return;
    this.#finish();
  }

  get #isInside(): boolean {
    return !this.isFull && this.#lineNumber >= this.#first && this.#lineNumber <= this.#last;
  }

  #extend(text: string, from: number, to: number): void {
    this.#lineChars += to - from;
    const room = KEPT_CHARS - this.#kept.length;
    if (room > 0 && this.#isInside) this.#kept += text.slice(from, Math.min(to, from + room));
  }

  #finish(): void {
    if (this.#isInside) this.#show();
    this.#kept = '';
    this.#lineChars = 0;
    this.#lineNumber += 1;
  }

  #show(): void {
    const isWhole = this.#kept.length === this.#lineChars;
    const whole = isWhole && this.#kept.endsWith('\r') ? this.#kept.slice(0, -1) : this.#kept;
    const chars = isWhole ? whole.length : this.#lineChars;
    const line = cutLine(whole, READ_LINE_CHARS_MAX, chars);
    if (this.#shownChars + line.length > READ_CHARS_MAX && this.lines.length > 0) {
      this.isFull = true;
      return;
    }
    this.#shownChars += line.length + 1;
    this.lines.push(line);
  }
}
