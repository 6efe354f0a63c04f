/**
 * Typographic quotes. Models often write straight ones where a file has curly ones. An edit may be
 * found in spite of that, but then the file's own quotes stay: nothing is straightened on disk.
 */
import { done, fault, type Outcome } from './outcome.ts';

const SINGLE = /[\u2018\u2019\u201A\u201B]/g;
const DOUBLE = /[\u201C\u201D\u201E\u201F]/g;
const ANY = /['"\u2018-\u201F]/g;

/** Straight quotes in the place of typographic ones; every character stays at its place. */
export const foldQuotes = (text: string): string => text.replace(SINGLE, "'").replace(DOUBLE, '"');

/**
 * The new text with the file's quotes. What stands in both texts of the model is not part of the
 * change, so it keeps the form that it has in the file; a quote that the model changed is meant as
 * it is written. Where it can not be told which is which, a fault.
 * @param actual the file's text that `oldText` was found as: equal but for the form of quotes.
 */
export const keepQuotes = (actual: string, oldText: string, newText: string): Outcome<string> => {
  const olds = quotesOf(oldText);
  const news = quotesOf(newText);
  const isSameRow =
    olds.length === news.length &&
    news.every((quote, index) => foldQuotes(quote.form) === foldQuotes(olds[index]?.form ?? ''));
  if (isSameRow) {
    return done(
      replaceQuotes(newText, (form, index) => {
        const old = olds[index];
        return old && old.form === form ? (actual[old.at] ?? form) : form;
      }),
    );
  }
  const head = commonHead(oldText, newText);
  const tail = commonTail(oldText.slice(head), newText.slice(head));
  const middle = newText.slice(head, newText.length - tail);
  const curly = quotesOf(actual).filter(({ form }) => form !== foldQuotes(form));
  const isUnclear = quotesOf(middle).some(({ form }) =>
    curly.some((quote) => foldQuotes(quote.form) === form),
  );
  if (isUnclear) {
    return fault(
      'The file has typographic quotes here, and new_string adds quotes whose form is not clear. ' +
        `Write both strings with the quotes of the file: ${JSON.stringify(actual)}`,
    );
  }
  return done(actual.slice(0, head) + middle + actual.slice(actual.length - tail));
};

interface Quote {
  readonly at: number;
  readonly form: string;
}
const quotesOf = (text: string): Quote[] =>
  [...text.matchAll(ANY)].map((match) => ({ at: match.index, form: match[0] }));

const replaceQuotes = (text: string, formOf: (form: string, index: number) => string): string => {
  let index = -1;
  return text.replace(ANY, (form) => {
    index += 1;
    return formOf(form, index);
  });
};

const commonHead = (one: string, other: string): number => {
  let count = 0;
  while (count < one.length && count < other.length && one[count] === other[count]) count += 1;
  return count;
};
const commonTail = (one: string, other: string): number => {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && one[one.length - 1 - count] === other[other.length - 1 - count])
    count += 1;
  return count;
};
