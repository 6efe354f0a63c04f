/**
 * Looking at what a host has given, value by value. By hand and not with a schema's library: this
 * runs at every start, and loading one costs more than all the rest of reading the options.
 */
import { isRecord } from '../services/is-record.ts';
import { nearMiss } from './near-miss.ts';

/** What is wrong at a place, each in one sentence; empty when nothing is. Never throws. */
export type Check = (value: unknown, place: string) => readonly string[];

type Checks = Readonly<Record<string, Check>>;

/** Texts are shown no longer than this: they may be prompts, and the line is for a terminal. */
const SHOWN_CHARS_MAX = 40;

/** A value in a message: enough to find it, never its whole, and no key that opens something. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      if (/^sk-/.test(value)) return 'a text that begins with "sk-"';
      return JSON.stringify(
        value.length <= SHOWN_CHARS_MAX ? value : `${value.slice(0, SHOWN_CHARS_MAX)}…`,
      );
    case 'function':
      return 'a function';
    case 'object':
      if (value === null) return 'null';
      if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
      return Object.keys(value).length === 0 ? 'an empty object' : 'an object';
    default:
      return String(value);
  }
}

/** @param words end the sentence "expected …". */
export const expects =
  (words: string, holds: (value: unknown) => boolean): Check =>
  (value, place) =>
    holds(value) ? [] : [`${place}: expected ${words}, not ${shown(value)}`];

export const isFunction = (value: unknown): boolean => typeof value === 'function';
export const isText = (value: unknown): value is string => typeof value === 'string';

export const text = expects('a text', isText);
export const someText = expects(
  'a text that is not empty',
  (value) => isText(value) && value.trim() !== '',
);
export const yesOrNo = expects('true or false', (value) => typeof value === 'boolean');
export const aFunction = expects('a function', isFunction);
/** `NaN` would be a bound that never binds. */
export const positive = expects(
  'a number above 0',
  (value) => typeof value === 'number' && Number.isFinite(value) && value > 0,
);
export const wholePositive = expects(
  'a whole number above 0',
  (value) => Number.isSafeInteger(value) && Number(value) > 0,
);
/** A bound that a host may lift, in so many words. */
export const orUnbounded =
  (bound: Check): Check =>
  (value, place) =>
    value === Number.POSITIVE_INFINITY ? [] : bound(value, place);
export const wholeOrZero = expects(
  'a whole number, 0 or above',
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
);
export const anObject = expects('an object', isRecord);

/** One of these words; a typing error is said with the word that was meant. */
export const oneOf =
  (...words: readonly string[]): Check =>
  (value, place) => {
    if (words.some((word) => word === value)) return [];
    const meant = isText(value) ? nearMiss(value, words) : undefined;
    const known = words.map((word) => JSON.stringify(word)).join(', ');
    const hint = meant === undefined ? '' : `: did you mean ${JSON.stringify(meant)}?`;
    return [`${place}: expected one of ${known}, not ${shown(value)}${hint}`];
  };

/** @param words name the items: "a list of …". */
export const listOf =
  (words: string, item: Check): Check =>
  (value, place) =>
    Array.isArray(value)
      ? value.flatMap((one: unknown, index) => item(one, `${place}[${index}]`))
      : [`${place}: expected a list of ${words}, not ${shown(value)}`];

/** @param words name the values: "an object of … by name". */
export const recordOf =
  (words: string, item: Check): Check =>
  (value, place) =>
    isRecord(value)
      ? Object.entries(value).flatMap(([key, one]) => item(one, `${place}.${key}`))
      : [`${place}: expected an object of ${words} by name, not ${shown(value)}`];

/** An object with these fields. Others are left alone: a host may be newer than we are. */
export const fieldsOf =
  (needed: Checks, others: Checks = {}): Check =>
  (value, place) =>
    isRecord(value)
      ? [
          ...Object.entries(needed).flatMap(([name, check]) =>
            check(value[name], `${place}.${name}`),
          ),
          ...Object.entries(others).flatMap(([name, check]) =>
            optional(check)(value[name], `${place}.${name}`),
          ),
        ]
      : anObject(value, place);

/**
 * The same where a field guards something: one whose name is misspelt would guard nothing.
 * @param foreign names that look misspelt and are not: other programs have them.
 */
export const guardedFieldsOf =
  (needed: Checks, others: Checks = {}, foreign: readonly string[] = []): Check =>
  (value, place) => {
    const known = Object.keys({ ...needed, ...others });
    const given = Object.keys(isRecord(value) ? value : {});
    const slips = given.flatMap((key) => {
      if (foreign.includes(key)) return [];
      const meant = nearMiss(key, known);
      return meant === undefined ? [] : [`${place}: unknown "${key}", did you mean "${meant}"?`];
    });
    return [...slips, ...fieldsOf(needed, others)(value, place)];
  };

/** `undefined` is what was not given. `null` is a value, and a wrong one. */
export const optional =
  (check: Check): Check =>
  (value, place) =>
    value === undefined ? [] : check(value, place);

/** The second where the first is not even of the right kind. */
export const either =
  (isFirst: (value: unknown) => boolean, first: Check, second: Check): Check =>
  (value, place) =>
    isFirst(value) ? first(value, place) : second(value, place);

export const isList = (value: unknown): boolean => Array.isArray(value);
