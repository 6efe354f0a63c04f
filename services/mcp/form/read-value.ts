/** What a person has typed, as the value of a field. Pure. */
import type { Choice, FieldKind, FieldValue, FormField } from './fields.ts';
import { expectationOf, faultOf } from './rules.ts';

export type ReadValue =
  /** `undefined`: the field is left out. */
  | { readonly ok: true; readonly value: FieldValue | undefined }
  | { readonly ok: false; readonly why: string };

/**
 * What a person has typed for a field. Nothing typed: its default, or the field is left out if it
 * may be. A choice is said by its number in the list, its title or its value.
 */
export function readValue(field: FormField, typed: string): ReadValue {
  const words = typed.trim();
  if (words === '') {
    if (field.fallback !== undefined) return { ok: true, value: field.fallback };
    return field.isRequired ? wrong('it is needed') : { ok: true, value: undefined };
  }
  const value = meantBy(field.kind, words);
  if (value === undefined) return wrong(expectationOf(field.kind));
  const fault = faultOf(field, value);
  return fault === undefined ? { ok: true, value } : wrong(fault);
}

function meantBy(kind: FieldKind, words: string): FieldValue | undefined {
  switch (kind.type) {
    case 'text':
      return words;
    case 'number':
      return Number.isFinite(Number(words)) ? Number(words) : undefined;
    case 'boolean':
      if (/^(y|yes|true)$/i.test(words)) return true;
      return /^(n|no|false)$/i.test(words) ? false : undefined;
    case 'choice':
      return chosen(kind.choices, words);
    case 'choices': {
      const values = words.split(',').map((one) => chosen(kind.choices, one.trim()));
      const known = values.filter((value) => value !== undefined);
      return known.length === values.length ? [...new Set(known)] : undefined;
    }
  }
}

/** The server's own words go before numbers of ours: `2` may be a value. */
function chosen(choices: readonly Choice[], words: string): string | undefined {
  const same = (text: string) => text.toLowerCase() === words.toLowerCase();
  const said =
    choices.find(({ value }) => value === words) ??
    choices.find(({ value, title }) => same(title) || same(value)) ??
    (/^\d{1,3}$/.test(words) ? choices[Number(words) - 1] : undefined);
  return said?.value;
}

const wrong = (why: string): ReadValue => ({ ok: false, why });
