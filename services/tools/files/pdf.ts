/**
 * PDFs, with the library `unpdf` in a worker thread of its own: a PDF is a program of compressed
 * streams, and a hostile one runs for ever or takes all memory. The thread is ended for it.
 */
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { PDF_MS_MAX } from './limits.ts';
import { done, fault, type Outcome } from './outcome.ts';

export interface PdfPages {
  readonly count: number;
  /** Text of the pages that were asked for, in order. */
  readonly texts: readonly string[];
}
export interface PageRange {
  readonly first: number;
  readonly last: number;
}

/** Memory of the thread in MiB; enough for any PDF that is small enough to be opened. */
const HEAP_MIB_MAX = 512;

/** `7` or `3-12`, from 1. */
export const pageRangeOf = (text: string): PageRange | undefined => {
  const match = /^\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?$/.exec(text);
  const first = Number(match?.[1]);
  const last = Number(match?.[2] ?? match?.[1]);
  return match && first >= 1 && last >= first ? { first, last } : undefined;
};

/** Counts the pages of a PDF and reads the text of a range of them. */
export const readPdfPages = async (
  bytes: Buffer,
  range: PageRange | undefined,
  signal: AbortSignal,
): Promise<Outcome<PdfPages>> => {
  const library = createRequire(import.meta.url).resolve('unpdf');
  const worker = new Worker(`(${String(pdfWorker)})(require)`, {
    eval: true,
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
    workerData: { library, bytes: new Uint8Array(bytes), range },
  });
  try {
    return await answerOf(worker, signal);
  } finally {
    await worker.terminate();
  }
};

type Answer = PdfPages | { readonly error: string };

const answerOf = (worker: Worker, signal: AbortSignal): Promise<Outcome<PdfPages>> =>
  new Promise((resolve) => {
    const late = () => resolve(fault(`it takes more than ${PDF_MS_MAX / 1000} s to open`));
    const timer = setTimeout(late, PDF_MS_MAX);
    const stop = () => resolve(fault('stopped'));
    signal.addEventListener('abort', stop, { once: true });
    worker.once('message', (answer: Answer) => {
      resolve('error' in answer ? fault(answer.error) : done(answer));
    });
    worker.once('error', (error: Error) => resolve(fault(error.message)));
    worker.once('exit', () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      resolve(fault('its reader ended early'));
    });
    if (signal.aborted) stop();
  });

/**
 * Runs in the thread, made from its own source text: it refers to nothing outside of itself. So
 * the thread needs no file of its own, neither beside the sources nor beside the bundle.
 * @param load `require` of the thread; under another name, for bundlers rewrite that one.
 */
const pdfWorker = (load: NodeJS.Require): void => {
  const { parentPort, workerData } = load(
    'node:worker_threads',
  ) as typeof import('node:worker_threads');
  const { library, bytes, range } = workerData as {
    library: string;
    bytes: Uint8Array;
    range: { first: number; last: number } | undefined;
  };
  const textOfPage = async (
    pdf: Awaited<ReturnType<typeof import('unpdf').getDocumentProxy>>,
    pageNumber: number,
  ): Promise<string> => {
    const page = await pdf.getPage(pageNumber);
    const { items } = await page.getTextContent();
    return items
      .map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : ''))
      .join('');
  };
  const run = async () => {
    const { getDocumentProxy } = load(library) as typeof import('unpdf');
    const pdf = await getDocumentProxy(bytes, { isEvalSupported: false, verbosity: 0 });
    const texts: string[] = [];
    const last = Math.min(range?.last ?? 0, pdf.numPages);
    for (let n = range?.first ?? 1; n <= last; n += 1) texts.push(await textOfPage(pdf, n));
    return { count: pdf.numPages, texts };
  };
  run().then(
    (pages) => parentPort?.postMessage(pages),
    (error: unknown) => parentPort?.postMessage({ error: String(error) }),
  );
};
