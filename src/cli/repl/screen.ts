/** Where the interactive mode writes: a terminal that can be drawn on, or one that only types. */
import type { WriteStream } from 'node:tty';
import pc from 'picocolors';
import { cellsOf, wrapCells } from '../cells.ts';
import { type LiveRows, type LiveView, liveRows } from './live-area.ts';

/**
 * *Contract:* `print` may be called at any time, also within a line; nothing that was printed is
 * ever lost or drawn over. After `close` nothing is written.
 */
export interface Screen {
  readonly columns: number;
  /** Lasting text, safe already; it need not end a line. */
  print(text: string): void;
  /** What stands below it. @param isWaiting for the person: nothing happens without an answer. */
  show(view: LiveView, isWaiting: boolean): void;
  /** A person has ended a line: only a terminal that echoes by itself needs to know. */
  entered(): void;
  /** Before the process is stopped, and when it goes on. */
  suspend(): void;
  resume(): void;
  /** Leaves the terminal as it was found. Idempotent. */
  close(): void;
}

const COLUMNS_DEFAULT = 80;
const ROWS_DEFAULT = 24;

const pasteOn = '\u001b[?2004h';
const pasteOff = '\u001b[?2004l';
const eraseBelow = '\u001b[J';
const up = (rows: number): string => (rows > 0 ? `\u001b[${rows}A` : '');
const right = (columns: number): string => (columns > 0 ? `\u001b[${columns}C` : '');

export interface TerminalScreenParts {
  /** Takes what lasts. */
  readonly out: WriteStream;
  /** Takes what is erased again: stderr, so that stdout holds the conversation and nothing else. */
  readonly live: WriteStream;
  readonly isColored: boolean;
}

/** Draws the live area below the text and takes it away again before more text comes. */
export class TerminalScreen implements Screen {
  readonly #out: WriteStream;
  readonly #live: WriteStream;
  readonly #colors: ReturnType<typeof pc.createColors>;
  #pending = '';
  /** Of the line that is open: full rows that are printed, and the last row, which is drawn. */
  #openRows = '';
  #openLine = '';
  #view: LiveView | undefined;
  #drawn: LiveRows | undefined;
  #drawnText = '';
  #isScheduled = false;
  #isClosed = false;
  readonly #onResize = () => this.#resized();

  constructor({ out, live, isColored }: TerminalScreenParts) {
    this.#out = out;
    this.#live = live;
    this.#colors = pc.createColors(isColored);
    out.on('resize', this.#onResize);
    live.write(pasteOn);
  }

  get columns(): number {
    return this.#out.columns || COLUMNS_DEFAULT;
  }

  print(text: string): void {
    // A tab is as wide as its place makes it: with blanks the width of a row is known.
    this.#pending += text.replaceAll('\t', '    ');
    this.#schedule();
  }

  show(view: LiveView): void {
    this.#view = view;
    this.#schedule();
  }

  entered(): void {}

  suspend(): void {
    this.#flush();
    this.#live.write(this.#erasing() + pasteOff);
    this.#drawn = undefined;
  }

  resume(): void {
    if (this.#isClosed) return;
    this.#live.write(pasteOn);
    this.#flush();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#flush();
    this.#isClosed = true;
    this.#out.off('resize', this.#onResize);
    this.#live.write(this.#erasing() + pasteOff);
    if (this.#openLine !== '') this.#out.write(`${this.#openLine}\n`);
  }

  /** Once for all that happens in one turn of the event loop. */
  #schedule(): void {
    if (this.#isScheduled || this.#isClosed) return;
    this.#isScheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    if (this.#isClosed) return;
    const lasting = this.#takeLasting();
    const rows = this.#view && liveRows(this.#view, this.#openLine, this.#terminal());
    const text = rows ? drawing(rows) : '';
    if (lasting === '' && this.#drawn && text === this.#drawnText) return;
    const erasing = this.#erasing();
    if (erasing !== '') this.#live.write(erasing);
    if (lasting !== '') this.#out.write(lasting);
    if (text !== '') this.#live.write(text);
    this.#drawn = rows;
    this.#drawnText = text;
  }

  #terminal() {
    const rows = this.#out.rows || ROWS_DEFAULT;
    return { columns: this.columns, rows, colors: this.#colors };
  }

  /**
   * Whole lines, and the full rows of the open line. Its last row stays with the live area, for
   * text that goes on behind it.
   */
  #takeLasting(): string {
    if (this.#pending === '') return '';
    const text = this.#openLine + this.#pending;
    this.#pending = '';
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) this.#openRows = '';
    const rows = wrapCells(text.slice(end), this.columns);
    const full = rows.slice(0, -1).join('');
    this.#openRows += full;
    this.#openLine = rows.at(-1) ?? '';
    return text.slice(0, end) + full;
  }

  /** To the begin of the live area, wherever a change of the width has put it. */
  #erasing(): string {
    const drawn = this.#drawn;
    if (!drawn) return '';
    const { columns } = this;
    const rowsOf = (cells: number) => Math.max(1, Math.ceil(cells / columns));
    const above = drawn.cells.slice(0, drawn.cursorRow);
    const before = above.reduce((sum, cells) => sum + rowsOf(cells), 0);
    return `\r${up(before + Math.floor(drawn.cursorColumn / columns))}${eraseBelow}`;
  }

  /** The terminal has wrapped the open line anew, so it is drawn anew from its begin. */
  #resized(): void {
    const drawn = this.#drawn;
    if (drawn && this.#openRows !== '') {
      const [first = 0, ...others] = drawn.cells;
      this.#drawn = { ...drawn, cells: [cellsOf(this.#openRows) + first, ...others] };
      this.#pending = this.#openRows + this.#openLine + this.#pending;
      this.#openRows = '';
      this.#openLine = '';
    }
    this.#drawnText = '';
    this.#schedule();
  }
}

const drawing = ({ rows, cursorRow, cursorColumn }: LiveRows): string =>
  `${rows.join('\r\n')}${up(rows.length - 1 - cursorRow)}\r${right(cursorColumn)}`;

/** For a terminal without cursor movement: everything is printed once, in order. */
export class PlainScreen implements Screen {
  readonly #out: WriteStream;
  #isLineOpen = false;
  #isAsking = false;
  #view: LiveView | undefined;
  #isWaiting = false;
  #isClosed = false;

  constructor(out: WriteStream) {
    this.#out = out;
  }

  get columns(): number {
    return this.#out.columns || COLUMNS_DEFAULT;
  }

  print(text: string): void {
    if (text === '' || this.#isClosed) return;
    if (this.#isAsking) this.#out.write('\n');
    this.#isAsking = false;
    this.#out.write(text);
    this.#isLineOpen = !text.endsWith('\n');
  }

  /** The label is printed when it is the person's turn, and again when text came in between. */
  show(view: LiveView, isWaiting: boolean): void {
    const isNew = view.label !== this.#view?.label;
    this.#view = view;
    this.#isWaiting = isWaiting;
    if (!isWaiting || this.#isClosed || (this.#isAsking && !isNew)) return;
    const hints = view.notes.map((note) => `${note}\n`).join('');
    this.#out.write(`${this.#isLineOpen || this.#isAsking ? '\n' : ''}${hints}${view.label}`);
    this.#isAsking = true;
    this.#isLineOpen = false;
  }

  entered(): void {
    this.#isAsking = false;
  }

  suspend(): void {}
  resume(): void {
    this.#isAsking = false;
    if (this.#view) this.show(this.#view, this.#isWaiting);
  }

  close(): void {
    if (this.#isClosed) return;
    if (this.#isAsking || this.#isLineOpen) this.#out.write('\n');
    this.#isClosed = true;
  }
}
