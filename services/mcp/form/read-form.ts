/** A form's flat JSON Schema as fields. Pure, whatever a server has sent. */
import { isRecord, recordOf } from '../../is-record.ts';
import type { Choice, FieldKind, FieldValue, FormField } from './fields.ts';
import { faultOf } from './rules.ts';

export type ReadForm =
  | { readonly ok: true; readonly fields: readonly FormField[] }
  /** There is no way to answer it: a field that must be there cannot be typed. */
  | { readonly ok: false; readonly why: string };

/** A person fills in a form and not a register. */
const FIELDS_MAX = 50;
const CHOICES_MAX = 200;

type Json = Readonly<Record<string, unknown>>;
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined;
const numberIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

/** The fields of a form, in the server's order. One that need not be there is left out if odd. */
export function formOf(schema: unknown): ReadForm {
  const { properties, required } = recordOf(schema);
  const needed = new Set(listOf(required));
  const entries = Object.entries(recordOf(properties));
  if (entries.length > FIELDS_MAX) {
    return { ok: false, why: `it has ${entries.length} fields, and ${FIELDS_MAX} is the most` };
  }
  const fields: FormField[] = [];
  for (const [name, property] of entries) {
    const isRequired = needed.has(name);
    const field = isRecord(property) ? fieldOf(name, property, isRequired) : undefined;
    if (field) fields.push(field);
    else if (isRequired) return { ok: false, why: `its field ${name} is of no kind that we know` };
  }
  return { ok: true, fields };
}

function fieldOf(name: string, property: Json, isRequired: boolean): FormField | undefined {
  const kind = kindOf(property);
  if (!kind) return undefined;
  const { title, description, default: fallback } = property;
  const field: FormField = {
    ...{ name, isRequired, kind, fallback: undefined },
    title: textIn(title) ?? name,
    about: textIn(description),
  };
  return fallback === undefined || faultOf(field, fallback) !== undefined
    ? field
    : { ...field, fallback: fallback as FieldValue };
}

function kindOf(property: Json): FieldKind | undefined {
  switch (property.type) {
    case 'boolean':
      return { type: 'boolean' };
    case 'number':
    case 'integer':
      return {
        ...{ type: 'number', isWhole: property.type === 'integer' },
        ...present({ min: numberIn(property.minimum), max: numberIn(property.maximum) }),
      };
    case 'string': {
      const choices = choicesOf(property, property.oneOf);
      if (choices) return choices.length > 0 ? { type: 'choice', choices } : undefined;
      const { minLength, maxLength, format, pattern } = property;
      return {
        type: 'text',
        ...present({ lengthMin: numberIn(minLength), lengthMax: numberIn(maxLength) }),
        ...present({ format: textIn(format), pattern: textIn(pattern) }),
      };
    }
    case 'array': {
      const items = recordOf(property.items);
      const choices = choicesOf(items, items.anyOf ?? items.oneOf);
      if (!choices || choices.length === 0) return undefined;
      const counts = {
        countMin: numberIn(property.minItems),
        countMax: numberIn(property.maxItems),
      };
      return { type: 'choices', choices, ...present(counts) };
    }
    default:
      return undefined;
  }
}

/** `enum` (with or without `enumNames`), or `{const, title}` each. Absent: any text. */
function choicesOf(schema: Json, titled: unknown): readonly Choice[] | undefined {
  if (Array.isArray(titled)) {
    return listOf(titled)
      .slice(0, CHOICES_MAX)
      .flatMap((one) => {
        const { const: value, title } = recordOf(one);
        return typeof value === 'string' ? [{ value, title: textIn(title) ?? value }] : [];
      });
  }
  if (!Array.isArray(schema.enum)) return undefined;
  const names = listOf(schema.enumNames);
  return schema.enum.slice(0, CHOICES_MAX).flatMap((value: unknown, index) => {
    return typeof value === 'string' ? [{ value, title: textIn(names[index]) ?? value }] : [];
  });
}

function present<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
