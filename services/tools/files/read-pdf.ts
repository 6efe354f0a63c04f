import { wellFormed } from '../../well-formed.ts';
import { failed } from '../define-tool.ts';
import { amount, countOf, sizeOf } from '../text/amounts.ts';
import type { ToolOutput } from '../tool.ts';
import { fingerprintOf, hashOf } from './file-state.ts';
import { PDF_BYTES_MAX, PDF_PAGES_MAX, PDF_TEXT_BYTES_MAX, PDF_TEXT_PAGES_MAX } from './limits.ts';
import { LineWindow } from './line-window.ts';
import { type OpenFile, readWhole } from './open-regular.ts';
import { pageRangeOf, readPdfPages } from './pdf.ts';
import { type ReadRequest, unchanged } from './read-request.ts';

const AS_TEXT =
  `Read it as text, up to ${PDF_TEXT_PAGES_MAX} pages at a time, with ` +
  `\`pages\`: "1-${PDF_TEXT_PAGES_MAX}"`;

/** The whole PDF as a document block, if the API takes one of this size. */
export const readPdf = async (file: OpenFile, request: ReadRequest): Promise<ToolOutput> => {
  const { path, realPath, state, context } = request;
  if (Number(file.stats.size) > PDF_BYTES_MAX) {
    return failed(
      `The PDF is too large: ${sizeOf(Number(file.stats.size))}; at most ` +
        `${sizeOf(PDF_BYTES_MAX)}. ${AS_TEXT}: ${path}`,
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
      `The PDF has ${amount(pages.value.count)} pages; at most ${PDF_PAGES_MAX} can be shown ` +
        `whole. ${AS_TEXT}: ${path}`,
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

/** The text of some pages, for a PDF that is too long to be shown. */
export const readPdfText = async (
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
