import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type EditorState,
  edit,
  emptyEditor,
  inserted,
  type Key,
} from '../../../../src/cli/repl/editor.ts';

const plain = { isCtrl: false, isMeta: false, isShift: false };
const key = (name: string, more: Partial<Key> = {}): Key => ({ ...plain, name, ...more });
const ctrl = (name: string) => key(name, { isCtrl: true });
const typed = (text: string): Key => ({ ...plain, text });

/** `|` is the cursor. */
const at = (text: string): EditorState => ({
  ...emptyEditor,
  text: text.replace('|', ''),
  cursor: text.indexOf('|'),
});
const shown = ({ text, cursor }: EditorState) => `${text.slice(0, cursor)}|${text.slice(cursor)}`;
function after(text: string, keys: readonly Key[], history: readonly string[] = []): string {
  let state = at(text);
  for (const one of keys) {
    const edited = edit(state, one, history);
    if (edited.kind === 'submitted') return `sent: ${edited.text}`;
    if (edited.kind === 'edited') state = edited.state;
  }
  return shown(state);
}

describe('keys', () => {
  it.each<[string, string, Key[], string]>([
    ['types where the cursor is', 'a|c', [typed('b')], 'ab|c'],
    ['a character of several code points is one', 'x👍🏽|', [key('backspace')], 'x|'],
    ['so it is for the arrows', 'é👍🏽|', [key('left'), key('left')], '|é👍🏽'],
    ['delete', '|ab', [key('delete')], '|b'],
    ['Ctrl-D deletes', '|ab', [ctrl('d')], '|b'],
    ['Ctrl-A and Ctrl-E stay in the line', 'one\ntw|o', [ctrl('a'), typed('>')], 'one\n>|two'],
    ['end of a line', 'o|ne\ntwo', [key('end')], 'one|\ntwo'],
    ['by words', 'one two| three', [key('left', { isCtrl: true })], 'one |two three'],
    ['Alt-F', '|one two', [key('f', { isMeta: true })], 'one| two'],
    ['Ctrl-W and Ctrl-Y', 'one two|', [ctrl('w'), ctrl('a'), ctrl('y')], 'two|one '],
    ['Ctrl-U cuts to the begin of the line', 'a\nbc|d', [ctrl('u')], 'a\n|d'],
    ['Ctrl-K cuts to its end', 'a|b\nc', [ctrl('k')], 'a|\nc'],
    ['up within lines keeps the column', 'long line\nab|', [key('up')], 'lo|ng line\nab'],
    ['down to a shorter line', 'long lin|e\nab', [key('down')], 'long line\nab|'],
    ['Enter sends all of it', 'a|b', [key('return')], 'sent: ab'],
    ['a backslash before Enter makes a line', 'a\\|', [key('return')], 'a\n|'],
    ['Alt-Enter', 'a|', [key('return', { isMeta: true })], 'a\n|'],
    ['Ctrl-J', 'a|', [key('enter')], 'a\n|'],
    ['a control key types nothing', 'a|', [{ ...ctrl('q'), text: '\u0011' }], 'a|'],
  ])('%s', (_name, before, keys, expected) => {
    expect(after(before, keys)).toBe(expected);
  });
});

describe('history', () => {
  const history = ['oldest', 'two\nlines', 'newest'];
  it.each<[string, string, Key[], string]>([
    ['up opens it', '|', [key('up')], 'newest|'],
    [
      'lines of an entry come before older entries',
      '|',
      [key('up'), key('up'), key('up')],
      'two|\nlines',
    ],
    ['it ends at the oldest', '|', Array.from({ length: 9 }, () => key('up')), 'oldest|'],
    ['the draft comes back', 'draft|', [key('up'), key('down')], 'draft|'],
    ['down without up does nothing', 'dr|aft', [key('down')], 'dr|aft'],
  ])('%s', (_name, before, keys, expected) => {
    expect(after(before, keys, history)).toBe(expected);
  });
});

it('no key leads to a cursor outside of the text, or within a character pair', () => {
  const names = [
    'left',
    'right',
    'up',
    'down',
    'home',
    'end',
    'backspace',
    'delete',
    'w',
    'u',
    'k',
    'y',
    'b',
    'f',
    'd',
    'enter',
  ];
  const keys = fc.array(
    fc.oneof(
      fc.constantFrom('a', ' ', '\\', '漢', '👍🏽', 'é').map(typed),
      fc.record({
        name: fc.constantFrom(...names),
        isCtrl: fc.boolean(),
        isMeta: fc.boolean(),
        isShift: fc.boolean(),
      }),
    ),
  );
  fc.assert(
    fc.property(keys, fc.array(fc.constantFrom('x', 'y\nz', '👍')), (pressed, history) => {
      let state = emptyEditor;
      for (const one of pressed) {
        const edited = edit(state, one, history);
        if (edited.kind === 'ignored') continue;
        state = edited.state;
        expect(state.cursor).toBeGreaterThanOrEqual(0);
        expect(state.cursor).toBeLessThanOrEqual(state.text.length);
        expect(encodeURIComponent(state.text)).toBeTypeOf('string');
        expect(state.text.charCodeAt(state.cursor) & 0xfc00).not.toBe(0xdc00);
      }
    }),
  );
});

it('a paste goes in as it is', () => {
  expect(shown(inserted(at('a|d'), 'b\nc'))).toBe('ab\nc|d');
});
