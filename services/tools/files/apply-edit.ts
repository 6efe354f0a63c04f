/** One replacement in the text of a file. Pure; nothing is ever read as a pattern. */
import { countOf } from '../text/amounts.ts';
import { EDIT_BYTES_MAX } from './limits.ts';
import { type Ending, type LineFeedView, lineFeedView, withMixedEndings } from './line-endings.ts';
import { hintForNoMatch } from './nearest-lines.ts';
import { done, fault, type Outcome } from './outcome.ts';
import { foldQuotes, keepQuotes } from './quotes.ts';

export interface EditRequest {
  readonly old_string: string;
  readonly new_string: string;
  readonly replace_all?: boolean | undefined;
}
export interface EditedText {
  readonly text: string;
  readonly count: number;
}

interface Span {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * @param raw the text of a file with its own line endings.
 * Found in this order: literally, when the model wrote a `\r` itself; with every `\r\n` seen as
 * `\n`; with every typographic quote seen as a straight one.
 */
export const applyEdit = (raw: string, edit: EditRequest): Outcome<EditedText> => {
  const { old_string: wanted, new_string: wish } = edit;
  if (wanted === wish) return fault('old_string and new_string are the same: nothing to change');
  if (wanted === '') return fault('old_string is empty, but the file is not. Say what to replace');
  if (wanted.includes('\r') || wish.includes('\r')) {
    const places = placesOf(raw, wanted, edit);
    if (!places.ok) return places;
    if (places.value.length > 0) {
      return splice(
        raw,
        places.value.map((start) => ({ start, end: start + wanted.length, text: wish })),
      );
    }
  }
  const view = lineFeedView(raw);
  const old = wanted.replaceAll('\r\n', '\n');
  const places = placesOf(view.text, old, edit);
  if (!places.ok) return places;
  const wishes = wish.replaceAll('\r\n', '\n');
  if (places.value.length > 0) {
    return splice(
      raw,
      places.value.map((at) => spanAt(raw, view, at, old.length, wishes)),
    );
  }
  return applyWithQuotes(raw, view, { ...edit, old_string: old, new_string: wishes });
};

const applyWithQuotes = (
  raw: string,
  view: LineFeedView,
  edit: EditRequest,
): Outcome<EditedText> => {
  const { old_string: old, new_string: wish } = edit;
  const places = placesOf(foldQuotes(view.text), foldQuotes(old), edit);
  if (!places.ok) return places;
  if (places.value.length === 0) {
    return fault(`old_string does not occur in the file.${hintForNoMatch(view.text, old)}`);
  }
  const spans: Span[] = [];
  for (const at of places.value) {
    const kept = keepQuotes(view.text.slice(at, at + old.length), old, wish);
    if (!kept.ok) return kept;
    spans.push(spanAt(raw, view, at, old.length, kept.value));
  }
  if (spans.every(({ start, end, text }) => raw.slice(start, end) === text)) {
    return fault('The file already has this text, with typographic quotes: nothing to change');
  }
  return splice(raw, spans);
};

/** Where it occurs: all places, or the one place that there must be. Empty: nowhere. */
const placesOf = (text: string, wanted: string, edit: EditRequest): Outcome<number[]> => {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) {
    places.push(at);
  }
  const first = places[0];
  if (first === undefined || edit.replace_all) return done(places);
  // Also a place that overlaps the first one makes it unclear which is meant.
  if (text.indexOf(wanted, first + 1) === -1) return done(places);
  const numbers = places.slice(0, 5).map((at) => lineNumberAt(text, at));
  return fault(
    `old_string occurs ${countOf(Math.max(2, places.length), 'time')} (lines ` +
      `${numbers.join(', ')}${places.length > 5 ? ', …' : ''}). Add lines around it until it is ` +
      'unique, or set replace_all',
  );
};

const lineNumberAt = (text: string, offset: number): number => {
  let number = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) {
    number += 1;
  }
  return number;
};

const spanAt = (
  raw: string,
  view: LineFeedView,
  at: number,
  length: number,
  wish: string,
): Span => {
  const start = view.rawOffset(at);
  const end = view.rawOffset(at + length);
  switch (view.endings) {
    case 'none':
    case '\n':
      return { start, end, text: wish };
    case '\r\n':
      return { start, end, text: wish.replaceAll('\n', '\r\n') };
    case 'mixed':
      return {
        start,
        end,
        text: withMixedEndings(raw.slice(start, end), wish, endingAt(raw, end)),
      };
  }
};

/** The ending of the line that the place is in; of the line before, if it is the last one. */
const endingAt = (raw: string, offset: number): Ending => {
  const next = raw.indexOf('\n', offset);
  const at = next === -1 ? raw.lastIndexOf('\n', offset) : next;
  return at > 0 && raw[at - 1] === '\r' ? '\r\n' : '\n';
};

const splice = (raw: string, spans: readonly Span[]): Outcome<EditedText> => {
  const added = spans.reduce((sum, { start, end, text }) => sum + text.length - (end - start), 0);
  if (raw.length + added > EDIT_BYTES_MAX) return fault('The file would become too large');
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, text } of spans) {
    parts.push(raw.slice(at, start), text);
    at = end;
  }
  parts.push(raw.slice(at));
  return done({ text: parts.join(''), count: spans.length });
};
