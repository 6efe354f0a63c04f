/** How many pages a PDF has, roughly: for rule S13. */
import { inflateSync } from 'node:zlib';

/** A page object, and not the tree node `/Pages`. */
const PAGE = /\/Type\s*\/Page(?![A-Za-z])/g;
/** A compressed stream of objects, where newer files keep their page objects. */
const OBJECT_STREAM = /\/Type\s*\/ObjStm[\s\S]{0,300}?stream\r?\n/g;
/** More inflated bytes than this from one stream is an attack, not a document. */
const INFLATED_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Counts page objects, also in compressed object streams. Roughly: a file that was saved in
 * increments may count a replaced page twice, an encrypted one counts 0.
 */
export function pdfPages(bytes: Buffer): number {
  const text = bytes.toString('latin1');
  let pages = count(text);
  for (const match of text.matchAll(OBJECT_STREAM)) {
    const start = match.index + match[0].length;
    const end = text.indexOf('endstream', start);
    if (end > start) pages += count(inflated(bytes.subarray(start, end)));
  }
  return pages;
}

const count = (text: string): number => text.match(PAGE)?.length ?? 0;

function inflated(bytes: Buffer): string {
  try {
    return inflateSync(bytes, { maxOutputLength: INFLATED_BYTES_MAX }).toString('latin1');
  } catch {
    return ''; // another filter, or encrypted: not counted, as said above
  }
}
