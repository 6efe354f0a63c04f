/**
 * The line that is being written: what each key does to it. Pure; several lines are one text with
 * line feeds in it.
 */
import { graphemesOf } from '../cells.ts';

/** A key as `node:readline` tells it. */
export interface Key {
  /** What it types; absent for keys that type nothing. */
  readonly text?: string;
  readonly name?: string;
  readonly isCtrl: boolean;
  readonly isMeta: boolean;
  readonly isShift: boolean;
}

export interface EditorState {
  readonly text: string;
  /** Index into `text`, between two characters. */
  readonly cursor: number;
  /** Index into the history while it is being looked through. */
  readonly historyAt?: number;
  /** What was written before the history was opened. */
  readonly draft: string;
  /** What was cut last; Ctrl-Y puts it back. */
  readonly killed: string;
}
export const emptyEditor: EditorState = { text: '', cursor: 0, draft: '', killed: '' };

/** `submitted`: Enter was pressed; `ignored`: the key means nothing to an editor. */
export type Edited =
  | { readonly kind: 'edited'; readonly state: EditorState }
  | { readonly kind: 'submitted'; readonly text: string; readonly state: EditorState }
  | { readonly kind: 'ignored' };

/** The state with this text, the cursor at its end. */
export const editorWith = (text: string, state: EditorState = emptyEditor): EditorState => ({
  text,
  cursor: text.length,
  draft: '',
  killed: state.killed,
});

/** Puts text at the cursor: typed, or pasted with its line feeds. */
export function inserted(state: EditorState, text: string): EditorState {
  const { cursor } = state;
  const changed = state.text.slice(0, cursor) + text + state.text.slice(cursor);
  return { ...state, text: changed, cursor: cursor + text.length };
}

/** @param history earlier prompts, oldest first. */
export function edit(state: EditorState, key: Key, history: readonly string[]): Edited {
  if (key.name === 'return' || key.name === 'enter') return entered(state, key);
  const next = moved(state, key) ?? erased(state, key) ?? lookedUp(state, key, history);
  if (next) return { kind: 'edited', state: next };
  const types = key.text !== undefined && !key.isCtrl && !key.isMeta;
  return types ? { kind: 'edited', state: inserted(state, key.text ?? '') } : { kind: 'ignored' };
}

/** Enter submits. Alt-Enter, Ctrl-J (a bare line feed) and a backslash before it make a new line. */
function entered(state: EditorState, key: Key): Edited {
  const { text, cursor } = state;
  if (key.name === 'enter' || key.isMeta || key.isShift) {
    return { kind: 'edited', state: inserted(state, '\n') };
  }
  if (text[cursor - 1] === '\\') {
    return { kind: 'edited', state: inserted(cut(state, cursor - 1, cursor, false), '\n') };
  }
  return { kind: 'submitted', text, state: { ...emptyEditor, killed: state.killed } };
}

function moved(state: EditorState, key: Key): EditorState | undefined {
  const { text, cursor } = state;
  const to = (place: number): EditorState => ({ ...state, cursor: place });
  const isByWord = key.isCtrl || key.isMeta;
  switch (key.name) {
    case 'left':
      return to(isByWord ? wordStart(text, cursor) : cursor - before(text, cursor).length);
    case 'right':
      return to(isByWord ? wordEnd(text, cursor) : cursor + after(text, cursor).length);
    case 'home':
      return to(lineStart(text, cursor));
    case 'end':
      return to(lineEnd(text, cursor));
    case 'a':
      return key.isCtrl ? to(lineStart(text, cursor)) : undefined;
    case 'e':
      return key.isCtrl ? to(lineEnd(text, cursor)) : undefined;
    case 'b':
      if (key.isMeta) return to(wordStart(text, cursor));
      return key.isCtrl ? to(cursor - before(text, cursor).length) : undefined;
    case 'f':
      if (key.isMeta) return to(wordEnd(text, cursor));
      return key.isCtrl ? to(cursor + after(text, cursor).length) : undefined;
    default:
      return undefined;
  }
}

function erased(state: EditorState, key: Key): EditorState | undefined {
  const { text, cursor } = state;
  switch (key.name) {
    case 'backspace':
      if (key.isMeta) return cut(state, wordStart(text, cursor), cursor, true);
      return cut(state, cursor - before(text, cursor).length, cursor, false);
    case 'delete':
      return cut(state, cursor, cursor + after(text, cursor).length, false);
  }
  if (!key.isCtrl) {
    return key.isMeta && key.name === 'd'
      ? cut(state, cursor, wordEnd(text, cursor), true)
      : undefined;
  }
  switch (key.name) {
    case 'h':
      return cut(state, cursor - before(text, cursor).length, cursor, false);
    case 'd':
      return cut(state, cursor, cursor + after(text, cursor).length, false);
    case 'w':
      return cut(state, wordStart(text, cursor), cursor, true);
    case 'u':
      return cut(state, lineStart(text, cursor), cursor, true);
    case 'k':
      return cut(state, cursor, lineEnd(text, cursor), true);
    case 'y':
      return inserted(state, state.killed);
    default:
      return undefined;
  }
}

/** Up and down move between the lines; above the first and below the last is the history. */
function lookedUp(
  state: EditorState,
  key: Key,
  history: readonly string[],
): EditorState | undefined {
  const { text, cursor, historyAt } = state;
  const isUp = key.name === 'up' || (key.isCtrl && key.name === 'p');
  const isDown = key.name === 'down' || (key.isCtrl && key.name === 'n');
  if (!isUp && !isDown) return undefined;
  const start = lineStart(text, cursor);
  const end = lineEnd(text, cursor);
  const column = cursor - start;
  if (isUp && start > 0) {
    const above = lineStart(text, start - 1);
    return { ...state, cursor: Math.min(above + column, start - 1) };
  }
  if (isDown && end < text.length) {
    return { ...state, cursor: Math.min(end + 1 + column, lineEnd(text, end + 1)) };
  }
  const at = (historyAt ?? history.length) + (isUp ? -1 : 1);
  const draft = historyAt === undefined ? text : state.draft;
  if (at < 0 || (isDown && historyAt === undefined)) return state;
  if (at >= history.length) return { ...editorWith(draft, state), draft: '' };
  return { ...editorWith(history[at] ?? '', state), historyAt: at, draft };
}

function cut(state: EditorState, from: number, to: number, keeps: boolean): EditorState {
  if (from >= to) return state;
  const { text } = state;
  const changed = text.slice(0, from) + text.slice(to);
  const killed = keeps ? text.slice(from, to) : state.killed;
  return { ...state, text: changed, cursor: from, killed };
}

/** Enough for any character; the whole of a long text is not cut up for one step. */
const LOOK_CHARS = 40;
const before = (text: string, at: number): string =>
  graphemesOf(text.slice(Math.max(0, at - LOOK_CHARS), at)).at(-1) ?? '';
const after = (text: string, at: number): string =>
  graphemesOf(text.slice(at, at + LOOK_CHARS))[0] ?? '';

const lineStart = (text: string, at: number): number =>
  at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;
const lineEnd = (text: string, at: number): number => {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
};
function wordStart(text: string, at: number): number {
  let place = at;
  while (place > 0 && /\s/.test(text[place - 1] ?? '')) place--;
  while (place > 0 && /\S/.test(text[place - 1] ?? '')) place--;
  return place;
}
function wordEnd(text: string, at: number): number {
  let place = at;
  while (place < text.length && /\s/.test(text[place] ?? '')) place++;
  while (place < text.length && /\S/.test(text[place] ?? '')) place++;
  return place;
}
