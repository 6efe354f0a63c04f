/** What a person does at the keyboard: keys where they can be had, else whole lines. */
import { createInterface, emitKeypressEvents, type Interface } from 'node:readline';
import type { ReadStream } from 'node:tty';
import type { Key } from './editor.ts';

/** *Contract:* none of these throws. */
export interface InputListener {
  onKey(key: Key): void;
  /** Text with its line feeds, as one piece. */
  onPaste(text: string): void;
  /** A line, or several that were pasted, from a terminal that edits them itself. */
  onLine(text: string): void;
  /** Nobody is there any more. */
  onInputEnd(): void;
}

export interface Input {
  start(): void;
  /** Gives the terminal back. May be started again. */
  stop(): void;
}

/** Esc alone is a key when so long nothing follows. Terminals send a sequence in one piece. */
const ESCAPE_MS = 50;
/** A paste whose end has not come counts as ended after this silence. */
const PASTE_SILENCE_MS = 1_000;
/** Lines that come faster than this were not typed one by one. */
const BURST_MS = 30;

/** Raw mode: each key by itself, pastes told apart from typing (bracketed paste). */
export class KeyInput implements Input {
  readonly #stdin: ReadStream;
  readonly #listener: InputListener;
  #pasted: string[] | undefined;
  #silence: NodeJS.Timeout | undefined;
  #isListening = false;
  readonly #onKeypress = (text: string | undefined, key: RawKey) => this.#hear(text, key);
  readonly #onEnd = () => this.#listener.onInputEnd();

  constructor(stdin: ReadStream, listener: InputListener) {
    this.#stdin = stdin;
    this.#listener = listener;
  }

  start(): void {
    const stdin = this.#stdin;
    if (!this.#isListening) {
      this.#isListening = true;
      // The second argument is meant for an Interface; of it only this field is read.
      emitKeypressEvents(stdin, { escapeCodeTimeout: ESCAPE_MS } as unknown as Interface);
      stdin.on('keypress', this.#onKeypress);
      for (const event of ['end', 'close', 'error'] as const) stdin.on(event, this.#onEnd);
    }
    setRaw(stdin, true);
    stdin.resume();
  }

  stop(): void {
    clearTimeout(this.#silence);
    setRaw(this.#stdin, false);
    this.#stdin.pause();
  }

  #hear(text: string | undefined, key: RawKey): void {
    if (key.name === 'paste-start') {
      this.#pasted = [];
      return;
    }
    if (this.#pasted) {
      if (key.name === 'paste-end') this.#endPaste();
      else this.#keep(key.sequence ?? text ?? '');
      return;
    }
    this.#listener.onKey({
      ...(text === undefined ? {} : { text }),
      ...(key.name === undefined ? {} : { name: key.name }),
      isCtrl: key.ctrl === true,
      isMeta: key.meta === true,
      isShift: key.shift === true,
    });
  }

  #keep(piece: string): void {
    // Escape sequences are no text, whoever put them on the clipboard.
    if (!piece.startsWith('\u001b')) this.#pasted?.push(piece);
    this.#silence ??= setTimeout(() => this.#endPaste(), PASTE_SILENCE_MS);
    this.#silence.refresh();
  }

  #endPaste(): void {
    clearTimeout(this.#silence);
    this.#silence = undefined;
    const text = this.#pasted?.join('') ?? '';
    this.#pasted = undefined;
    if (text !== '') this.#listener.onPaste(text);
  }
}

interface RawKey {
  readonly name?: string;
  readonly sequence?: string;
  readonly ctrl?: boolean;
  readonly meta?: boolean;
  readonly shift?: boolean;
}

/** A terminal that has gone cannot be set any more; that it has gone comes as an event. */
function setRaw(stdin: ReadStream, isRaw: boolean): void {
  try {
    stdin.setRawMode(isRaw);
  } catch {
    // see above
  }
}

/** Cooked mode: the terminal's own driver edits the line and turns Ctrl-C into a signal. */
export class LineInput implements Input {
  readonly #stdin: ReadStream;
  readonly #listener: InputListener;
  #interface: Interface | undefined;
  #lines: string[] = [];
  #burst: NodeJS.Timeout | undefined;

  constructor(stdin: ReadStream, listener: InputListener) {
    this.#stdin = stdin;
    this.#listener = listener;
  }

  start(): void {
    if (this.#interface) return;
    this.#interface = createInterface({ input: this.#stdin, terminal: false });
    this.#interface.on('line', (line) => this.#hear(line));
    this.#interface.on('close', () => {
      this.#tell();
      this.#listener.onInputEnd();
    });
    this.#stdin.on('error', () => this.#listener.onInputEnd());
  }

  stop(): void {
    this.#stdin.pause();
  }

  #hear(line: string): void {
    this.#lines.push(line);
    this.#burst ??= setTimeout(() => this.#tell(), BURST_MS);
    this.#burst.refresh();
  }

  #tell(): void {
    clearTimeout(this.#burst);
    this.#burst = undefined;
    const lines = this.#lines.splice(0);
    if (lines.length > 0) this.#listener.onLine(lines.join('\n'));
  }
}
