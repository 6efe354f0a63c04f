import { failed, type Implementation } from '../define-tool.ts';
import { sizeOf } from '../text/amounts.ts';
import type { ToolOutput } from '../tool.ts';
import { fileStateOf } from './file-state.ts';
import { readInput } from './inputs.ts';
import { READ_LINES, SNIFF_BYTES } from './limits.ts';
import { mediaKindOf } from './media-kind.ts';
import { type OpenFile, openedPath, openRegular, readHead } from './open-regular.ts';
import { sayFileError } from './outcome.ts';
import { hintForMissing, pathIn, realTarget } from './paths.ts';
import { readImage } from './read-image.ts';
import { readPdf, readPdfText } from './read-pdf.ts';
import type { ReadRequest } from './read-request.ts';
import { readText } from './read-text.ts';

/** Read: text with line numbers, images and PDFs as blocks, anything else by name and size. */
export const readTool: Implementation<typeof readInput> = {
  schema: readInput,
  call: async (input, context) => {
    const path = pathIn(context.cwd, input.file_path);
    const real = await realTarget(path);
    if (!real.ok) return failed(real.message);
    const opened = await openRegular(real.value);
    if (!opened.ok) {
      const hint = opened.isMissing ? `.${await hintForMissing(path, context.cwd)}` : '';
      return failed(opened.message + hint);
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
      // A link that was swapped since the call was judged leads to another file than was allowed.
      if (context.mayRead && !(await context.mayRead(await openedPath(opened.value, real.value)))) {
        return failed(`Not allowed: a rule denies what ${path} leads to`);
      }
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
