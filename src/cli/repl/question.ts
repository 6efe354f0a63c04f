/** What a person is asked before a call runs, and what the answer means. Pure but for one file. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type pc from 'picocolors';
import { type PermissionUpdate, ruleText } from '../../../services/permissions/updates.ts';
import { patchOf } from '../../../services/tools/files/patch.ts';
import type { ToolInput } from '../../../services/tools/tool.ts';
import { clipCells } from '../cells.ts';
import { diffLines } from '../diff-lines.ts';
import { printable, visible } from '../printable.ts';

export interface Question {
  readonly toolName: string;
  readonly input: ToolInput;
  /** Why it is asked at all. */
  readonly reason: string | undefined;
  /** What "for this session" would allow; empty: nothing sensible can be allowed once for all. */
  readonly updates: readonly PermissionUpdate[];
}

export type Answer =
  | { readonly kind: 'once' | 'session' }
  /** To the model, word for word. */
  | { readonly kind: 'deny'; readonly message: string }
  | { readonly kind: 'unclear'; readonly hint: string };

/** More of a command or an input is not read by anybody; that something is missing is said. */
const SHOWN_CHARS_MAX = 4_000;
const SHOWN_LINES_MAX = 30;
/** A larger file is not compared. */
const COMPARED_BYTES_MAX = 1 << 20;

type Colors = ReturnType<typeof pc.createColors>;
export interface Look {
  readonly colors: Colors;
  readonly columns: number;
  readonly cwd: string;
}

/** The call with its command or its changes, whole or with a word about what is missing. */
export async function questionLines(question: Question, look: Look): Promise<readonly string[]> {
  const { colors, columns } = look;
  const { toolName, reason } = question;
  return [
    colors.yellow(`? ${colors.bold(clipCells(visible(toolName), columns - 20))} wants to run:`),
    ...(await subjectLines(question, look)),
    ...(reason === undefined ? [] : [colors.dim(`  because: ${printable(reason)}`)]),
  ];
}

/** What can be answered, a line each. */
export const answersHint = ({ updates }: Question): readonly string[] => [
  '  y  yes, once',
  ...(updates.length > 0 ? [`  a  yes, and in this session always: ${updatesText(updates)}`] : []),
  '  n  no; or write why not. Ctrl-C stops the turn.',
];

/** `Bash(npm test:*)`, `edits in this folder`. */
export const updatesText = (updates: readonly PermissionUpdate[]): string =>
  updates.map(updateText).join(', ');

function updateText(update: PermissionUpdate): string {
  switch (update.type) {
    case 'setMode':
      return update.mode === 'acceptEdits' ? 'all edits in this folder' : `mode ${update.mode}`;
    case 'addDirectories':
    case 'removeDirectories':
      return update.directories.map(visible).join(', ');
    case 'addRules':
    case 'replaceRules':
    case 'removeRules':
      return update.rules.map((rule) => visible(ruleText(rule))).join(', ');
  }
}

/** Whatever is no clear yes is a no. */
export function answerOf(text: string, { updates }: Question): Answer {
  const words = text.trim();
  switch (words.toLowerCase()) {
    case '':
      return { kind: 'unclear', hint: 'y or n, or some words why not' };
    case 'y':
    case 'yes':
      return { kind: 'once' };
    case 'a':
    case 'always':
      return updates.length > 0
        ? { kind: 'session' }
        : { kind: 'unclear', hint: 'no rule is narrow enough to stand for this call: y or n' };
    case 'n':
    case 'no':
      return { kind: 'deny', message: 'The person did not allow this call.' };
    default:
      return { kind: 'deny', message: `The person did not allow this call and said: ${words}` };
  }
}

async function subjectLines(question: Question, look: Look): Promise<readonly string[]> {
  const { toolName, input } = question;
  const { colors, columns } = look;
  const file = input.file_path;
  if (typeof file === 'string') {
    const changes = await changesOf(question, look.cwd);
    if (changes) {
      const name = colors.bold(`  ${visible(file)}`);
      const lines = diffLines(changes, colors, columns);
      return [name, ...(lines.length > 0 ? lines : [colors.dim('  (changes nothing)')])];
    }
  }
  const isShell = toolName === 'Bash' && typeof input.command === 'string';
  const text = isShell ? String(input.command) : JSON.stringify(input, null, 2);
  return bounded(visible(text)).map((line) => (isShell ? colors.bold(`  ${line}`) : `  ${line}`));
}

/** Nobody should allow what is not shown without being told that something is not. */
function bounded(text: string): readonly string[] {
  const lines = text.slice(0, SHOWN_CHARS_MAX).split('\n').slice(0, SHOWN_LINES_MAX);
  const missing = text.length - lines.join('\n').length;
  return missing > 0 ? [...lines, `… and ${missing} more characters that are NOT SHOWN`] : lines;
}

/** As hunks, for tools that change a file; `undefined` where that cannot be said. */
async function changesOf({ toolName, input }: Question, cwd: string) {
  if (toolName === 'Write' && typeof input.content === 'string') {
    const before = await contentOf(path.resolve(cwd, String(input.file_path)));
    return before === undefined ? undefined : hunks(before, input.content);
  }
  const edits = toolName === 'MultiEdit' ? input.edits : [input];
  if ((toolName !== 'Edit' && toolName !== 'MultiEdit') || !Array.isArray(edits)) return undefined;
  const pairs = (edits as readonly unknown[]).filter(isEdit);
  if (pairs.length !== edits.length) return undefined;
  // Parts of a file: that they do not end with a line feed means nothing.
  const parts = pairs.map((one) => hunks(`${one.old_string}\n`, `${one.new_string}\n`));
  return (await Promise.all(parts)).flat();
}

interface Edit {
  readonly old_string: string;
  readonly new_string: string;
}
const isEdit = (value: unknown): value is Edit =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<Edit>).old_string === 'string' &&
  typeof (value as Partial<Edit>).new_string === 'string';

const hunks = async (before: string, after: string) =>
  (await patchOf(before, after)).structuredPatch;

/** `''`: there is no such file. `undefined`: it is too large or no file. */
async function contentOf(file: string): Promise<string | undefined> {
  try {
    const stats = await stat(file);
    if (!stats.isFile() || stats.size > COMPARED_BYTES_MAX) return undefined;
    return await readFile(file, 'utf8');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? '' : undefined;
  }
}
