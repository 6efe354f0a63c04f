import { createHash } from 'node:crypto';
import { wellFormed } from '../../well-formed.ts';
import { failed } from '../define-tool.ts';
import { amount, countOf } from '../text/amounts.ts';
import { numberLines } from '../text/number-lines.ts';
import type { ToolOutput } from '../tool.ts';
import { decodeText, formatOf, streamDecoder, type TextFormat } from './encoding.ts';
import { type Fingerprint, fingerprintOf, hashOf } from './file-state.ts';
import { EDIT_BYTES_MAX, READ_CHARS_MAX, READ_LINES, WHOLE_BYTES_MAX } from './limits.ts';
import { LineWindow } from './line-window.ts';
import { chunksOf, type OpenFile, readWhole } from './open-regular.ts';
import { type ReadRequest, unchanged } from './read-request.ts';

interface TextView {
  readonly window: LineWindow;
  readonly format: TextFormat;
  readonly fingerprint: Fingerprint;
  /** False: the file was not read to its end, so the number of lines is not known. */
  readonly isCounted: boolean;
}

/** Lines with their numbers, and what there is beside them. */
export const readText = async (
  file: OpenFile,
  head: Buffer,
  request: ReadRequest,
): Promise<ToolOutput> => {
  const { context, first, count, path, realPath, state } = request;
  const view =
    Number(file.stats.size) > WHOLE_BYTES_MAX
      ? await viewStream(file, head, request)
      : await viewWhole(file, request);
  if (context.signal.aborted) return failed(`Stopped before it was read: ${path}`);
  if (typeof view === 'string') return failed(view);
  const range = `lines ${first}+${count}`;
  const earlier = unchanged(request, view.fingerprint, range);
  if (earlier) return earlier;
  const { window } = view;
  state.noteShown({ realPath, path, fingerprint: view.fingerprint }, range, context.toolUseId);
  const lines = window.lines.map((line) => wellFormed(line).replaceAll('\0', '␀'));
  return {
    content: [numberLines(lines, first), ...notesOf(view, request)].filter(Boolean).join('\n\n'),
    data: {
      type: 'text',
      file: {
        filePath: path,
        content: lines.join('\n'),
        numLines: lines.length,
        startLine: first,
        totalLines: view.isCounted ? window.totalLines : null,
      },
    },
  };
};

const viewWhole = async (file: OpenFile, request: ReadRequest): Promise<TextView | string> => {
  const { first, count, context, path } = request;
  const whole = await readWhole(file.handle, WHOLE_BYTES_MAX, path, context.signal);
  if (!whole.ok) return whole.message;
  const decoded = decodeText(whole.value);
  if (!decoded.ok) return `${decoded.message}: ${path}`;
  const window = new LineWindow(first, count);
  window.push(decoded.value.text);
  window.end();
  const fingerprint = fingerprintOf(file.stats, hashOf(whole.value));
  return { window, format: decoded.value.format, fingerprint, isCounted: true };
};

/** A file that may be edited is read to its end, for its hash; a larger one as far as needed. */
const viewStream = async (
  file: OpenFile,
  head: Buffer,
  request: ReadRequest,
): Promise<TextView> => {
  const { first, count, context } = request;
  const format = formatOf(head, false);
  const decode = streamDecoder(format);
  const window = new LineWindow(first, count);
  const isHashed = Number(file.stats.size) <= EDIT_BYTES_MAX;
  const hash = createHash('sha256');
  let isCounted = true;
  for await (const chunk of chunksOf(file.handle, context.signal)) {
    if (isHashed) hash.update(chunk);
    window.push(decode(chunk));
    if (!isHashed && window.isClosed) {
      isCounted = false;
      break;
    }
  }
  if (isCounted) {
    window.push(decode(undefined));
    window.end();
  }
  const fingerprint = fingerprintOf(file.stats, isHashed ? hash.digest('base64') : undefined);
  return { window, format, fingerprint, isCounted };
};

const notesOf = (view: TextView, { first, count }: ReadRequest): string[] => {
  const { window, format, isCounted } = view;
  const notes: string[] = [];
  const shown = window.lines.length;
  const last = first + shown - 1;
  if (isCounted && window.totalLines === 0) notes.push('[The file exists and is empty.]');
  else if (shown === 0) {
    notes.push(`[No line ${amount(first)}: the file has ${countOf(window.totalLines, 'line')}.]`);
  } else if (!isCounted || last < window.totalLines) {
    const total = isCounted ? ` of ${amount(window.totalLines)}` : '';
    const why = window.isFull ? ` (${amount(READ_CHARS_MAX)} characters at a time)` : '';
    const isAsked = !window.isFull && count !== READ_LINES;
    const more = isAsked ? '' : ` Go on with offset ${last + 1}.`;
    notes.push(`[Lines ${amount(first)}–${amount(last)}${total}${why}.${more}]`);
  }
  if (format.encoding !== 'utf-8') {
    notes.push(`[Encoding: ${format.encoding}. Edit and Write keep it.]`);
  }
  return notes;
};
