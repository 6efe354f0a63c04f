import { createHash } from 'node:crypto';
import type { Implementation } from '../define-tool.ts';
import { failed } from '../define-tool.ts';
import { amount, countOf, sizeOf } from '../text/amounts.ts';
import { numberLines } from '../text/number-lines.ts';
import { wellFormed } from '../text/well-formed.ts';
import type { ToolContext, ToolOutput } from '../tool.ts';
import { decodeText, formatOf, streamDecoder, type TextFormat } from './encoding.ts';
import {
  type FileState,
  type Fingerprint,
  fileStateOf,
  fingerprintOf,
  hashOf,
} from './file-state.ts';
import { IMAGE_BYTES_MAX, tooLarge, whyNoImage } from './image.ts';
import { readInput } from './inputs.ts';
import {
  EDIT_BYTES_MAX,
  PDF_BYTES_MAX,
  PDF_PAGES_MAX,
  PDF_TEXT_BYTES_MAX,
  PDF_TEXT_PAGES_MAX,
  READ_CHARS_MAX,
  READ_LINES,
  SNIFF_BYTES,
  WHOLE_BYTES_MAX,
} from './limits.ts';
import { LineWindow } from './line-window.ts';
import { type ImageType, mediaKindOf } from './media-kind.ts';
import { chunksOf, type OpenFile, openRegular, readHead, readWhole } from './open-regular.ts';
import { sayFileError } from './outcome.ts';
import { hintForMissing, pathIn, realTarget } from './paths.ts';
import { pageRangeOf, readPdfPages } from './pdf.ts';

interface ReadRequest {
  readonly path: string;
  readonly realPath: string;
  readonly first: number;
  readonly count: number;
  readonly pages: string | undefined;
  readonly context: ToolContext;
  readonly state: FileState;
}

/** Read: text with line numbers, images and PDFs as blocks, anything else by name and size. */
export const readTool: Implementation<typeof readInput> = {
  schema: readInput,
  call: async (input, context) => {
    const path = pathIn(context.cwd, input.file_path);
    const real = await realTarget(path);
    if (!real.ok) return failed(real.message);
    const opened = await openRegular(real.value);
    if (!opened.ok) {
      const isMissing = opened.message.startsWith('File does not exist');
      return failed(
        isMissing
          ? `File does not exist: ${path}.${await hintForMissing(path, context.cwd)}`
          : opened.message,
      );
    }
    const request: ReadRequest = {
      path,
      realPath: real.value,
      first: Math.max(1, input.offset ?? 1),
      count: input.limit ?? READ_LINES,
      pages: input.pages,
      context,
      state: fileStateOf(context.state),
    };
    try {
      return await readOpened(opened.value, request);
    } catch (error) {
      return failed(sayFileError(error, path));
    } finally {
      await opened.value.handle.close();
    }
  },
};

const readOpened = async (file: OpenFile, request: ReadRequest): Promise<ToolOutput> => {
  const head = await readHead(file.handle, SNIFF_BYTES);
  const media = mediaKindOf(head);
  if (request.pages !== undefined && media.kind !== 'pdf') {
    return failed(`\`pages\` is for PDFs, and this is none: ${request.path}`);
  }
  switch (media.kind) {
    case 'text':
      return readText(file, head, request);
    case 'image':
      return readImage(file, media.mediaType, request);
    case 'pdf':
      return request.pages === undefined
        ? readPdf(file, request)
        : readPdfText(file, request.pages, request);
    case 'binary':
      return failed(
        `Binary file, not shown: ${media.what}, ${sizeOf(Number(file.stats.size))}: ` +
          `${request.path}. Use a program through Bash to look inside.`,
      );
  }
};

// ─── text ────────────────────────────────────────────────────────────────────────────────────────

interface TextView {
  readonly window: LineWindow;
  readonly format: TextFormat;
  readonly fingerprint: Fingerprint;
  /** False: the file was not read to its end, so the number of lines is not known. */
  readonly isCounted: boolean;
}

const readText = async (
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

/** The short answer for what the model has before its eyes. Asked once more, it gets it all. */
const unchanged = (
  { state, realPath, path }: ReadRequest,
  fingerprint: Fingerprint,
  range: string,
): ToolOutput | undefined => {
  const shownBy = state.shownBy(realPath, fingerprint, range);
  if (shownBy === undefined) return undefined;
  state.forgetRange(realPath, range);
  return {
    content:
      `[Unchanged since it was read by call ${shownBy}: that result still holds. ` +
      'If you can not see it any more, read again.]',
    data: { type: 'file_unchanged', file: { filePath: path } },
  };
};

// ─── images and PDFs ─────────────────────────────────────────────────────────────────────────────

const readImage = async (
  file: OpenFile,
  mediaType: ImageType,
  request: ReadRequest,
): Promise<ToolOutput> => {
  const { path, realPath, state, context } = request;
  if (Number(file.stats.size) > IMAGE_BYTES_MAX) {
    return failed(`${tooLarge(Number(file.stats.size))}: ${path}`);
  }
  const whole = await readWhole(file.handle, IMAGE_BYTES_MAX, path, context.signal);
  if (!whole.ok) return failed(whole.message);
  const why = whyNoImage(whole.value, mediaType);
  if (why !== undefined) return failed(`${why}: ${path}`);
  const fingerprint = fingerprintOf(file.stats, hashOf(whole.value));
  const earlier = unchanged(request, fingerprint, 'image');
  if (earlier) return earlier;
  state.noteShown({ realPath, path, fingerprint }, 'image', context.toolUseId);
  return {
    content: [
      {
        type: 'image',
        source: { type: 'base64', media_type: mediaType, data: whole.value.toString('base64') },
      },
    ],
    data: {
      type: 'image',
      file: { filePath: path, type: mediaType, originalSize: whole.value.length },
    },
  };
};

const readPdf = async (file: OpenFile, request: ReadRequest): Promise<ToolOutput> => {
  const { path, realPath, state, context } = request;
  const asText = `Read it as text, up to ${PDF_TEXT_PAGES_MAX} pages at a time, with \`pages\`: "1-${PDF_TEXT_PAGES_MAX}"`;
  if (Number(file.stats.size) > PDF_BYTES_MAX) {
    return failed(
      `The PDF is too large: ${sizeOf(Number(file.stats.size))}; at most ${sizeOf(PDF_BYTES_MAX)}. ${asText}: ${path}`,
    );
  }
  const whole = await readWhole(file.handle, PDF_BYTES_MAX, path, context.signal);
  if (!whole.ok) return failed(whole.message);
  const fingerprint = fingerprintOf(file.stats, hashOf(whole.value));
  const earlier = unchanged(request, fingerprint, 'pdf');
  if (earlier) return earlier;
  const pages = await readPdfPages(whole.value, undefined, context.signal);
  if (!pages.ok) return failed(`The PDF can not be read: ${pages.message}: ${path}`);
  if (pages.value.count > PDF_PAGES_MAX) {
    return failed(
      `The PDF has ${amount(pages.value.count)} pages; at most ${PDF_PAGES_MAX} can be shown whole. ${asText}: ${path}`,
    );
  }
  state.noteShown({ realPath, path, fingerprint }, 'pdf', context.toolUseId);
  return {
    content: [
      {
        type: 'document',
        source: {
          type: 'base64',
          media_type: 'application/pdf',
          data: whole.value.toString('base64'),
        },
      },
    ],
    data: {
      type: 'pdf',
      file: { filePath: path, originalSize: whole.value.length, pages: pages.value.count },
    },
  };
};

const readPdfText = async (
  file: OpenFile,
  pages: string,
  { path, context }: ReadRequest,
): Promise<ToolOutput> => {
  const range = pageRangeOf(pages);
  if (!range) return failed(`\`pages\` must be like "3" or "10-20", not ${JSON.stringify(pages)}`);
  if (range.last - range.first >= PDF_TEXT_PAGES_MAX) {
    return failed(`At most ${PDF_TEXT_PAGES_MAX} pages at a time`);
  }
  const whole = await readWhole(file.handle, PDF_TEXT_BYTES_MAX, path, context.signal);
  if (!whole.ok) return failed(whole.message);
  const read = await readPdfPages(whole.value, range, context.signal);
  if (!read.ok) return failed(`The PDF can not be read: ${read.message}: ${path}`);
  const { count, texts } = read.value;
  if (range.first > count) return failed(`The PDF has only ${countOf(count, 'page')}: ${path}`);
  if (texts.every((text) => text.trim() === '')) {
    return failed(`These pages have no text, only pictures (a scan?): ${path}`);
  }
  const window = new LineWindow(1, Number.MAX_SAFE_INTEGER);
  for (const [index, text] of texts.entries()) {
    window.push(`[Page ${range.first + index} of ${count}]\n${text}\n`);
  }
  window.end();
  const cut = window.isFull ? '\n[Cut: ask for fewer pages.]' : '';
  return {
    content: wellFormed(window.lines.join('\n')) + cut,
    data: { type: 'pdf_text', file: { filePath: path, pages: count, ...range } },
  };
};
