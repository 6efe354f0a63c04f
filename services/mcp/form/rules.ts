/** The rules of a field: what is wrong with a value, and what may be said. Pure. */
import { boundedExpression } from '../../tools/process/bounded-expression.ts';
import type { FieldKind, FormField } from './fields.ts';

/** What is wrong with a value, whoever gives it: a person, or the schema as its default. */
export function faultOf({ kind }: FormField, value: unknown): string | undefined {
  switch (kind.type) {
    case 'boolean':
      return typeof value === 'boolean' ? undefined : expectationOf(kind);
    case 'number': {
      if (!Number.isFinite(value)) return expectationOf(kind);
      const amount = value as number;
      const { isWhole, min = -Infinity, max = Infinity } = kind;
      const isGood = amount >= min && amount <= max && (!isWhole || Number.isInteger(amount));
      return isGood ? undefined : expectationOf(kind);
    }
    case 'text':
      return typeof value === 'string' ? faultOfText(kind, value) : expectationOf(kind);
    case 'choice':
      return kind.choices.some((choice) => choice.value === value)
        ? undefined
        : expectationOf(kind);
    case 'choices': {
      const { choices, countMin = 0, countMax = Infinity } = kind;
      if (!Array.isArray(value)) return expectationOf(kind);
      const isKnown = value.every((one) => choices.some((choice) => choice.value === one));
      const isGood = isKnown && value.length >= countMin && value.length <= countMax;
      return isGood ? undefined : expectationOf(kind);
    }
  }
}

type TextKind = Extract<FieldKind, { readonly type: 'text' }>;

function faultOfText(kind: TextKind, value: string): string | undefined {
  const { lengthMin = 0, lengthMax = Infinity, format, pattern } = kind;
  const length = [...value].length;
  if (length < lengthMin || length > lengthMax) return expectationOf(kind);
  if (format !== undefined && !(isOfFormat[format]?.(value) ?? true)) return expectationOf(kind);
  if (pattern === undefined) return undefined;
  const expression = boundedExpression(pattern);
  // One that is no expression, or takes for ever, is the server's to judge.
  if (!expression.ok) return undefined;
  const isOther = expression.filter([value])?.length === 0;
  return isOther ? expectationOf(kind) : undefined;
}

/** The formats that the protocol names; others are the server's to judge. */
const isOfFormat: Readonly<Record<string, (text: string) => boolean>> = {
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: (text) => URL.canParse(text),
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isDay(text),
  'date-time': (text) =>
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i.test(text) &&
    isDay(text.slice(0, 10)) &&
    !Number.isNaN(Date.parse(text)),
};

/** `Date` takes 2026-02-31 for March. */
function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

const exampleOf: Readonly<Record<string, string>> = {
  email: 'an address like ada@example.org',
  uri: 'an address like https://example.org',
  date: 'a day like 2026-01-31',
  'date-time': 'a time like 2026-01-31T12:00:00Z',
};

/** What may be said, in a few words. */
export function expectationOf(kind: FieldKind): string {
  switch (kind.type) {
    case 'boolean':
      return 'y or n';
    case 'number':
      return `a ${kind.isWhole ? 'whole ' : ''}number${between(kind.min, kind.max)}`;
    case 'text': {
      const { lengthMin, lengthMax, format, pattern } = kind;
      const what = (format === undefined ? undefined : exampleOf[format]) ?? 'text';
      const shape = pattern === undefined ? '' : ` that matches ${pattern}`;
      const length = between(lengthMin, lengthMax);
      return `${what}${length && `,${length} characters`}${shape}`;
    }
    case 'choice':
      return `one of the list, by its number or name`;
    case 'choices': {
      const count = between(kind.countMin, kind.countMax);
      return `some of the list with commas between${count && `,${count} of them`}`;
    }
  }
}

/** ` 1 to 3`, ` at least 1`, nothing without bounds. */
function between(min: number | undefined, max: number | undefined): string {
  if (min === undefined) return max === undefined ? '' : ` at most ${max}`;
  return max === undefined ? ` at least ${min}` : ` ${min} to ${max}`;
}
