/** What is read of the lines of a transcript, whatever somebody has made of them. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { collapseOf } from '../../../services/collapse/record.ts';
import { user } from '../preprocess/histories.ts';

const note = user('(short)', { uuid: 'c1', kind: 'note', origin: 'summary', isMeta: true });
const line = { type: 'collapse-staged', id: 'c1', uuids: ['a', 'b'], tokens: 900, message: note };

it('a whole line is a collapse', () => {
  expect(collapseOf(line)).toEqual({ id: 'c1', uuids: ['a', 'b'], tokens: 900, message: note });
});

it.each([
  ['no messages', { uuids: [] }],
  ['no list of names', { uuids: 'a' }],
  ['names that are none', { uuids: ['a', 7] }],
  ['no size', { tokens: null }],
  ['no note', { message: undefined }],
  ['a note of another name', { message: { ...note, uuid: 'other' } }],
  ['the words of the model', { message: { ...note, role: 'assistant' } }],
  ['no content', { message: { ...note, content: 'text' } }],
])('a line with %s is none', (_, broken) => {
  expect(collapseOf({ ...line, ...broken })).toBeUndefined();
});

it('anything else is none, and nothing throws', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('id', 'uuids', 'message', 'tokens'), fc.anything()),
      (any) => {
        const read = collapseOf(any);
        if (read) expect(typeof read.id).toBe('string');
      },
    ),
  );
});
