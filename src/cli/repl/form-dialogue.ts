/**
 * What a server of tools asks a person, as steps: an offer, a field each, a last look. Pure: words
 * become the next step or the answer, and nothing is sent that was not shown.
 */
import type { ElicitationAnswer } from '../../../services/mcp/elicitation.ts';
import type { FieldValue, FormField } from '../../../services/mcp/form/fields.ts';
import { readValue } from '../../../services/mcp/form/read-value.ts';
import { expectationOf } from '../../../services/mcp/form/rules.ts';
import { clipCells } from '../cells.ts';
import { visible } from '../printable.ts';
import type { Look } from './question.ts';

/** What is asked. */
export interface Asked {
  readonly serverName: string;
  readonly message: string;
  readonly subject:
    | { readonly kind: 'form'; readonly fields: readonly FormField[] }
    /** A page to visit; whether we can open it where it is wanted. */
    | { readonly kind: 'page'; readonly url: URL; readonly canOpen: boolean };
}

export interface Progress {
  readonly step:
    | { readonly at: 'offer' | 'review' }
    | { readonly at: 'field'; readonly index: number };
  readonly values: ReadonlyMap<string, FieldValue>;
}

export type Reply =
  | { readonly kind: 'unclear'; readonly hint: string }
  | { readonly kind: 'next'; readonly progress: Progress }
  /** @property opens the page, since that was asked for. */
  | { readonly kind: 'ended'; readonly answer: ElicitationAnswer; readonly opens?: true };

export const beginning: Progress = { step: { at: 'offer' }, values: new Map() };

/** What a server says is read by a person: that something is missing is said. */
const MESSAGE_CHARS_MAX = 2_000;
const MESSAGE_LINES_MAX = 20;
const CHOICES_SHOWN = 30;

/** What lasts of a step. */
export function stepLines(asked: Asked, progress: Progress, look: Look): readonly string[] {
  switch (progress.step.at) {
    case 'offer':
      return offerLines(asked, look);
    case 'field':
      return fieldLines(asked, progress.step.index, look);
    case 'review':
      return [
        look.colors.yellow(`? This goes to ${nameOf(asked, look)}:`),
        ...[...progress.values].map(([name, value]) =>
          clipCells(`  ${visible(name)}: ${visible(shown(value))}`, look.columns),
        ),
        ...(progress.values.size === 0 ? ['  (nothing: every field is left out)'] : []),
      ];
  }
}

/** What can be answered, a line each. */
export function stepHints(asked: Asked, { step, values }: Progress): readonly string[] {
  const others = '  n  decline. Esc or Ctrl-C cancels.';
  switch (step.at) {
    case 'offer': {
      if (asked.subject.kind === 'page') {
        const { canOpen } = asked.subject;
        const opens = '  o  yes, open it in the browser';
        return ['  y  yes, I visit it myself', ...(canOpen ? [opens] : []), others];
      }
      const count = asked.subject.fields.length;
      return [count === 0 ? '  y  yes' : `  y  answer (fields: ${count})`, others];
    }
    case 'field': {
      const field = fieldAt(asked, step.index, values);
      return field ? [hintOf(field, step.index, fieldsOf(asked).length)] : [];
    }
    case 'review':
      return ['  y  send it', '  b  begin again', others];
  }
}

/** What typed words mean for where the question stands. */
export function replyTo(asked: Asked, progress: Progress, text: string): Reply {
  const { step, values } = progress;
  if (step.at !== 'field') return replyToKey(asked, progress, text.trim().toLowerCase());
  const field = fieldAt(asked, step.index, values);
  const read = field && readValue(field, text);
  if (!field || !read) return { kind: 'unclear', hint: '' };
  if (!read.ok) return { kind: 'unclear', hint: `${visible(field.title)}: ${visible(read.why)}` };
  const next = new Map(values);
  if (read.value === undefined) next.delete(field.name);
  else next.set(field.name, read.value);
  return afterField(asked, step.index, next);
}

function replyToKey(asked: Asked, { step, values }: Progress, key: string): Reply {
  const { subject } = asked;
  const opens = subject.kind === 'page' && subject.canOpen && key === 'o';
  if (key === 'n' || key === 'no') return ended({ action: 'decline' });
  if (step.at === 'review' && key === 'b') return atField(0, values);
  if (opens) return { kind: 'ended', answer: { action: 'accept' }, opens };
  if (key !== 'y' && key !== 'yes') return { kind: 'unclear', hint: 'one of the letters above' };
  if (subject.kind === 'page') return ended({ action: 'accept' });
  const isFilled = step.at === 'review' || subject.fields.length === 0;
  return isFilled ? accepted(values) : atField(0, values);
}

/** A form of one field is sent with its Enter: what was typed is still in sight. */
function afterField(asked: Asked, index: number, values: ReadonlyMap<string, FieldValue>): Reply {
  const count = fieldsOf(asked).length;
  if (index + 1 < count) return atField(index + 1, values);
  if (count === 1) return accepted(values);
  return { kind: 'next', progress: { step: { at: 'review' }, values } };
}

const ended = (answer: ElicitationAnswer): Reply => ({ kind: 'ended', answer });
const accepted = (values: ReadonlyMap<string, FieldValue>): Reply =>
  ended({ action: 'accept', content: Object.fromEntries(values) });
const atField = (index: number, values: ReadonlyMap<string, FieldValue>): Reply => ({
  ...{ kind: 'next', progress: { step: { at: 'field', index }, values } },
});

const fieldsOf = ({ subject }: Asked): readonly FormField[] =>
  subject.kind === 'form' ? subject.fields : [];

/** What was answered before is the default of the second time. */
function fieldAt(asked: Asked, index: number, values: Progress['values']): FormField | undefined {
  const field = fieldsOf(asked)[index];
  const before = field && values.get(field.name);
  return field && before !== undefined ? { ...field, fallback: before } : field;
}

const nameOf = ({ serverName }: Asked, { columns }: Look): string =>
  clipCells(visible(serverName), columns - 30);

function offerLines(asked: Asked, look: Look): readonly string[] {
  const { colors } = look;
  const { subject, message } = asked;
  const name = colors.bold(nameOf(asked, look));
  const said = bounded(visible(message)).map((line) => `  ${line}`);
  switch (subject.kind) {
    case 'form':
      return [colors.yellow(`? The server ${name} asks you:`), ...said];
    case 'page':
      return [
        colors.yellow(`? The server ${name} wants you to visit a page:`),
        ...said,
        `  ${visible(subject.url.href)}`,
        `  at ${colors.bold(visible(subject.url.host))}`,
      ];
  }
}

function fieldLines(asked: Asked, index: number, { colors, columns }: Look): readonly string[] {
  const field = fieldsOf(asked)[index];
  if (!field) return [];
  const { title, about, isRequired, kind } = field;
  const need = isRequired ? '' : colors.dim(' (may be left out)');
  const choices = 'choices' in kind ? kind.choices : [];
  const more = choices.length - CHOICES_SHOWN;
  return [
    `  ${colors.bold(clipCells(visible(title), columns - 24))}${need}`,
    ...(about === undefined ? [] : bounded(visible(about)).map((line) => `    ${line}`)),
    ...choices
      .slice(0, CHOICES_SHOWN)
      .map((choice, at) => clipCells(`    ${at + 1}  ${visible(choice.title)}`, columns)),
    ...(more > 0 ? [`    … and ${more} more that are not shown`] : []),
  ];
}

function hintOf({ kind, fallback, isRequired }: FormField, index: number, count: number): string {
  const place = count > 1 ? `${index + 1} of ${count}: ` : '';
  const byEnter =
    fallback !== undefined
      ? `; Enter: ${visible(shown(fallback))}`
      : isRequired
        ? ''
        : '; Enter leaves it out';
  return `  ${place}${visible(expectationOf(kind))}${byEnter}`;
}

const shown = (value: FieldValue): string =>
  Array.isArray(value) ? value.join(', ') : String(value);

function bounded(text: string): readonly string[] {
  const lines = text.slice(0, MESSAGE_CHARS_MAX).split('\n').slice(0, MESSAGE_LINES_MAX);
  const missing = text.length - lines.join('\n').length;
  return missing > 0 ? [...lines, `… and ${missing} more characters that are NOT SHOWN`] : lines;
}
