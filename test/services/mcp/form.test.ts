/** Forms of servers: schemas as fields, typed words as values. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FormField } from '../../../services/mcp/form/fields.ts';
import { formOf } from '../../../services/mcp/form/read-form.ts';
import { readValue } from '../../../services/mcp/form/read-value.ts';
import { faultOf } from '../../../services/mcp/form/rules.ts';

const fieldsOf = (properties: object, required: readonly string[] = []) => {
  const form = formOf({ type: 'object', properties, required });
  if (!form.ok) throw new Error(form.why);
  return form.fields;
};
const only = (property: object, isRequired = true): FormField => {
  const [field] = fieldsOf({ it: property }, isRequired ? ['it'] : []);
  if (!field) throw new Error('the field was left out');
  return field;
};
const typed = (property: object, words: string, isRequired = true) => {
  const read = readValue(only(property, isRequired), words);
  return read.ok ? read.value : `✗ ${read.why}`;
};

describe('a form', () => {
  it('has the fields of its schema in their order, with names for people', () => {
    const properties = {
      b: { type: 'string', title: 'Name', description: 'of the ship', default: 'Ada' },
      a: { type: 'integer', minimum: 1 },
    };
    expect(fieldsOf(properties, ['a'])).toMatchObject([
      { name: 'b', title: 'Name', about: 'of the ship', isRequired: false, fallback: 'Ada' },
      { name: 'a', title: 'a', isRequired: true, kind: { type: 'number', isWhole: true, min: 1 } },
    ]);
  });

  it('leaves out what it cannot ask, unless that must be there', () => {
    expect(fieldsOf({ deep: { type: 'object' }, odd: 7 })).toEqual([]);
    const form = formOf({ properties: { deep: { type: 'object' } }, required: ['deep'] });
    expect(form).toEqual({ ok: false, why: 'its field deep is of no kind that we know' });
  });

  it('of more fields than a person fills in is none', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 51 }, (_, index) => [`f${index}`, { type: 'string' }]),
    );
    expect(formOf({ properties })).toMatchObject({ ok: false, why: expect.stringMatching(/51/) });
  });

  it('never throws, whatever a server sends, and no default of it breaks its own rules', () => {
    const property = fc.oneof(
      fc.anything(),
      fc.record(
        {
          type: fc.constantFrom('string', 'number', 'integer', 'boolean', 'array', 'x'),
          default: fc.anything(),
          enum: fc.oneof(fc.anything(), fc.array(fc.string())),
          oneOf: fc.oneof(fc.anything(), fc.array(fc.record({ const: fc.string() }))),
          items: fc.oneof(fc.anything(), fc.record({ enum: fc.array(fc.string()) })),
          minimum: fc.anything(),
          maxLength: fc.anything(),
          minItems: fc.integer(),
          pattern: fc.string(),
        },
        { requiredKeys: [] },
      ),
    );
    const schema = fc.oneof(
      fc.anything(),
      fc.record({ properties: fc.dictionary(fc.string(), property), required: fc.anything() }),
    );
    fc.assert(
      fc.property(schema, fc.string(), (one, words) => {
        const form = formOf(one);
        if (!form.ok) return;
        for (const field of form.fields) {
          const read = readValue(field, words);
          if (read.ok && read.value !== undefined) {
            expect(faultOf(field, read.value)).toBeUndefined();
          }
        }
      }),
    );
  });
});

describe('what is typed', () => {
  it.each([
    [{ type: 'boolean' }, 'Y', true],
    [{ type: 'boolean' }, 'false', false],
    [{ type: 'boolean' }, 'maybe', '✗ y or n'],
    [{ type: 'number' }, ' 2.5 ', 2.5],
    [{ type: 'number' }, 'two', '✗ a number'],
    [{ type: 'integer', minimum: 1, maximum: 3 }, '2.5', '✗ a whole number 1 to 3'],
    [{ type: 'integer', minimum: 1, maximum: 3 }, '4', '✗ a whole number 1 to 3'],
    [{ type: 'string', minLength: 2 }, '👍', '✗ text, at least 2 characters'],
    [{ type: 'string', maxLength: 2 }, '👍👍', '👍👍'],
    [{ type: 'string', format: 'email' }, 'ada', '✗ an address like ada@example.org'],
    [{ type: 'string', format: 'email' }, 'a@b', 'a@b'],
    [{ type: 'string', format: 'uri' }, 'not one', '✗ an address like https://example.org'],
    [{ type: 'string', format: 'date' }, '2026-02-31', '✗ a day like 2026-01-31'],
    [{ type: 'string', format: 'date-time' }, '2026-02-28T10:00Z', '2026-02-28T10:00Z'],
    [{ type: 'string', format: 'a-new-one' }, 'x', 'x'],
    [{ type: 'string', pattern: '^[A-Z]+$' }, 'abc', '✗ text that matches ^[A-Z]+$'],
    [{ type: 'string', pattern: '(' }, 'abc', 'abc'],
    [{ type: 'string', enum: ['r', 'g'], enumNames: ['Red', 'Green'] }, 'green', 'g'],
    [{ type: 'string', enum: ['3', '2', '1'] }, '1', '1'],
    [{ type: 'string', oneOf: [{ const: 'r', title: 'Red' }, { const: 'g' }] }, '2', 'g'],
    [{ type: 'string', enum: ['r'] }, 'x', '✗ one of the list, by its number or name'],
    [{ type: 'array', items: { enum: ['r', 'g', 'b'] } }, 'b, 1, b', ['b', 'r']],
    [
      { type: 'array', items: { anyOf: [{ const: 'r', title: 'Red' }] }, minItems: 2 },
      'red',
      '✗ some of the list with commas between, at least 2 of them',
    ],
  ])('%j: %s', (property, words, expected) => {
    expect(typed(property, words)).toEqual(expected);
  });

  it('nothing is the default, or the field is left out if it may be', () => {
    expect(typed({ type: 'number', default: 0 }, '')).toBe(0);
    expect(typed({ type: 'boolean', default: false }, '')).toBe(false);
    expect(typed({ type: 'string' }, '', false)).toBeUndefined();
    expect(typed({ type: 'string' }, '')).toBe('✗ it is needed');
    expect(typed({ type: 'string', maxLength: 1, default: 'too long' }, '')).toBe('✗ it is needed');
  });

  it('a pattern that backtracks for ever is left to the server', () => {
    const words = `${'a'.repeat(40)}!`;
    expect(typed({ type: 'string', pattern: '^(a+)+$' }, words)).toBe(words);
  });
});
