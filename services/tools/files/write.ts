import { failed, type Implementation } from '../define-tool.ts';
import { countOf } from '../text/amounts.ts';
import { type ChangeOf, changeFile, isStorable } from './change-file.ts';
import { PLAIN_TEXT } from './encoding.ts';
import { writeInput } from './inputs.ts';
import { ORIGINAL_CHARS_MAX } from './limits.ts';
import { lineFeedView } from './line-endings.ts';
import { done } from './outcome.ts';
import { patchOf } from './patch.ts';

/**
 * Write. A new file has exactly the bytes that were given (UTF-8). An existing text keeps its
 * encoding and byte order mark, and its `\r\n` if all its lines end so and the new text has none.
 */
export const writeTool: Implementation<typeof writeInput> = {
  schema: writeInput,
  call: async (input, context) => {
    const { content } = input;
    if (!isStorable(content)) return failed('content has half of a surrogate pair');
    let keptEndings = false;
    const changeOf: ChangeOf = (current) => {
      if (current.kind !== 'text') return done({ text: content, format: PLAIN_TEXT });
      keptEndings = lineFeedView(current.text).endings === '\r\n' && !content.includes('\r');
      const text = keptEndings ? content.replaceAll('\n', '\r\n') : content;
      return done({ text, format: current.format });
    };
    const written = await changeFile(context, input.file_path, changeOf);
    if (!written.ok) return failed(written.message);
    const { path, before, after, isNew, isSame } = written.value;
    const patch = await patchOf(before ?? '', after);
    const said = isSame ? 'Already has this content' : isNew ? 'Made' : 'Replaced';
    const endings =
      keptEndings && content.includes('\n') ? ' Its CRLF line endings were kept.' : '';
    return {
      content: `${said}: ${path} (${countOf(linesIn(content), 'line')}).${endings}`,
      data: {
        type: isNew ? 'create' : 'update',
        filePath: path,
        content: bounded(after),
        originalFile: before === undefined ? null : bounded(before),
        ...(isNew ? { structuredPatch: [] } : patch),
      },
    };
  },
};

/** The content itself for the host, unless it would swell the transcript. */
const bounded = (text: string): string | null => (text.length > ORIGINAL_CHARS_MAX ? null : text);

const linesIn = (text: string): number =>
  text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
