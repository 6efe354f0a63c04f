import { failed, type Implementation } from '../define-tool.ts';
import { countOf } from '../text/amounts.ts';
import type { ToolContext, ToolOutput } from '../tool.ts';
import { applyEdit, type EditRequest } from './apply-edit.ts';
import { type ChangeOf, changeFile, isStorable } from './change-file.ts';
import { PLAIN_TEXT } from './encoding.ts';
import { editInput, multiEditInput } from './inputs.ts';
import { ORIGINAL_CHARS_MAX } from './limits.ts';
import { done, fault, type Outcome } from './outcome.ts';
import { patchOf, snippetOf } from './patch.ts';

/** Edit: one replacement. */
export const editTool: Implementation<typeof editInput> = {
  schema: editInput,
  call: async ({ file_path, ...edit }, context) =>
    editFile(context, file_path, [edit], (change) => ({
      oldString: edit.old_string,
      newString: edit.new_string,
      replaceAll: edit.replace_all ?? false,
      ...change,
    })),
};

/** MultiEdit: several replacements, each in what the one before has left; all or none. */
export const multiEditTool: Implementation<typeof multiEditInput> = {
  schema: multiEditInput,
  call: async ({ file_path, edits }, context) =>
    editFile(context, file_path, edits, (change) => ({ edits, ...change })),
};

const editFile = async (
  context: ToolContext,
  filePath: string,
  edits: readonly EditRequest[],
  dataOf: (change: Record<string, unknown>) => Record<string, unknown>,
): Promise<ToolOutput> => {
  if (!edits.every(({ new_string }) => isStorable(new_string))) {
    return failed('new_string has half of a surrogate pair');
  }
  let count = 0;
  const changeOf: ChangeOf = (current, path) => {
    if (current.kind === 'binary') {
      return fault(`No text but ${current.what}; Edit can not change it: ${path}`);
    }
    const isAbsent = current.kind === 'absent';
    const { text, format } = isAbsent ? { text: '', format: PLAIN_TEXT } : current;
    if (isAbsent && edits[0]?.old_string !== '') return fault(missing(path));
    const edited = applyAll(text, edits);
    if (!edited.ok) return fault(`${edited.message}\nNothing was changed: ${path}`);
    count = edited.value.count;
    return done({ text: edited.value.text, format });
  };
  const changed = await changeFile(context, filePath, changeOf);
  if (!changed.ok) return failed(changed.message);
  const { path, before, after, isNew } = changed.value;
  const patch = await patchOf(before ?? '', after);
  const snippet = isNew ? '' : snippetOf(patch);
  const said = isNew ? `Made: ${path}` : `Edited: ${path} (${countOf(count, 'replacement')})`;
  return {
    content: snippet === '' ? `${said}.` : `${said}. It now reads:\n${snippet}`,
    data: dataOf({
      type: isNew ? 'create' : 'update',
      filePath: path,
      originalFile: before === undefined || before.length > ORIGINAL_CHARS_MAX ? null : before,
      userModified: false,
      ...patch,
    }),
  };
};

const missing = (path: string): string =>
  `File does not exist: ${path}. To make it, use Write, or an empty old_string`;

const applyAll = (
  text: string,
  edits: readonly EditRequest[],
): Outcome<{ text: string; count: number }> => {
  let result = { text, count: 0 };
  for (const [index, edit] of edits.entries()) {
    const edited =
      result.text === '' && edit.old_string === '' && edit.new_string !== ''
        ? done({ text: edit.new_string, count: 1 })
        : applyEdit(result.text, edit);
    if (!edited.ok) {
      return fault(edits.length === 1 ? edited.message : `Edit ${index + 1}: ${edited.message}`);
    }
    result = { text: edited.value.text, count: result.count + edited.value.count };
  }
  return done(result);
};
