/** What a file is, by its first bytes. Names and extensions are not believed. */
import { formatOf, isUtf8 } from './encoding.ts';
import { SNIFF_BYTES } from './limits.ts';

export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
export type MediaKind =
  | { readonly kind: 'text' }
  | { readonly kind: 'image'; readonly mediaType: ImageType }
  | { readonly kind: 'pdf' }
  /** `what` in words, for example `gzip archive`. */
  | { readonly kind: 'binary'; readonly what: string };

/** `at` in bytes; `bytes` as a Latin-1 string. Only formats that text can not be taken for. */
interface Magic {
  readonly at: number;
  readonly bytes: string;
  readonly what: string;
}
const MAGICS: readonly Magic[] = [
  { at: 0, bytes: '\x1F\x8B', what: 'gzip archive' },
  { at: 0, bytes: 'PK\x03\x04', what: 'zip archive (or jar, docx, xlsx, …)' },
  { at: 0, bytes: 'PK\x05\x06', what: 'zip archive, empty' },
  { at: 0, bytes: 'BZh', what: 'bzip2 archive' },
  { at: 0, bytes: '\xFD7zXZ\x00', what: 'xz archive' },
  { at: 0, bytes: '\x28\xB5\x2F\xFD', what: 'zstd archive' },
  { at: 0, bytes: '7z\xBC\xAF\x27\x1C', what: '7z archive' },
  { at: 0, bytes: 'Rar!\x1A\x07', what: 'rar archive' },
  { at: 257, bytes: 'ustar', what: 'tar archive' },
  { at: 0, bytes: 'SQLite format 3\x00', what: 'SQLite database' },
  { at: 0, bytes: '\x7FELF', what: 'ELF executable' },
  { at: 0, bytes: 'MZ', what: 'Windows executable' },
  { at: 0, bytes: '\xCF\xFA\xED\xFE', what: 'Mach-O executable' },
  { at: 0, bytes: '\xCA\xFE\xBA\xBE', what: 'Java class or Mach-O executable' },
  { at: 0, bytes: '\x00asm', what: 'WebAssembly module' },
  { at: 0, bytes: 'BM', what: 'BMP image; convert it to PNG to see it' },
  { at: 0, bytes: 'II*\x00', what: 'TIFF image; convert it to PNG to see it' },
  { at: 0, bytes: 'MM\x00*', what: 'TIFF image; convert it to PNG to see it' },
  { at: 4, bytes: 'ftypheic', what: 'HEIC image; convert it to PNG to see it' },
  { at: 4, bytes: 'ftypavif', what: 'AVIF image; convert it to PNG to see it' },
  { at: 4, bytes: 'ftyp', what: 'MP4 media' },
  { at: 0, bytes: 'OggS', what: 'Ogg media' },
  { at: 0, bytes: 'ID3', what: 'MP3 audio' },
  { at: 8, bytes: 'WAVE', what: 'WAVE audio' },
  { at: 0, bytes: 'wOF2', what: 'WOFF2 font' },
  { at: 0, bytes: 'wOFF', what: 'WOFF font' },
  { at: 0, bytes: '\x00\x01\x00\x00', what: 'TrueType font' },
  { at: 0, bytes: '\xFF\xFE\x00\x00', what: 'UTF-32 text' },
  { at: 0, bytes: '\x00\x00\xFE\xFF', what: 'UTF-32 text' },
];

/** Control characters that text has: tab, line feed, form feed, return, escape, backspace. */
const TEXT_CONTROLS = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d, 0x1b]);
/** More of other control characters than this share is no text in any encoding. */
const CONTROLS_SHARE_MAX = 0.05;
/** Some writers put a line before it; readers accept that much. */
const PDF_HEADER_WITHIN_BYTES = 1_024;

/** @param head at least the first `SNIFF_BYTES` bytes, or all. */
export const mediaKindOf = (head: Buffer): MediaKind => {
  const image = imageTypeOf(head);
  if (image) return { kind: 'image', mediaType: image };
  if (head.subarray(0, PDF_HEADER_WITHIN_BYTES).includes('%PDF-', 0, 'latin1')) {
    // A text may speak of it; the binary comment that follows in a real one does not occur there.
    if (head.subarray(0, 5).toString('latin1') === '%PDF-' || !isText(head)) return { kind: 'pdf' };
  }
  const magic = MAGICS.find(({ at, bytes }) => holds(head, at, bytes));
  // Letters alone (`BM`, `MZ`) may begin a text, too; then the rest decides.
  const isSure = magic !== undefined && !/^[ -~]+$/.test(magic.bytes);
  if (!isSure && isText(head)) return { kind: 'text' };
  return { kind: 'binary', what: magic?.what ?? 'unknown format' };
};

const imageTypeOf = (head: Buffer): ImageType | undefined => {
  if (holds(head, 0, '\x89PNG\r\n\x1A\n')) return 'image/png';
  if (holds(head, 0, '\xFF\xD8\xFF')) return 'image/jpeg';
  if (holds(head, 0, 'GIF87a') || holds(head, 0, 'GIF89a')) return 'image/gif';
  if (holds(head, 0, 'RIFF') && holds(head, 8, 'WEBP')) return 'image/webp';
  return undefined;
};

/**
 * Text has no NUL within the first `SNIFF_BYTES` (git's rule; a later one is shown as `␀`), unless
 * a byte order mark says UTF-16; and hardly any control characters, unless it is UTF-8.
 */
const isText = (head: Buffer): boolean => {
  if (holds(head, 0, '\xFF\xFE\x00\x00')) return false;
  if (formatOf(head, false).encoding.startsWith('utf-16')) return true;
  const sniffed = head.subarray(0, SNIFF_BYTES);
  if (sniffed.includes(0)) return false;
  if (isUtf8(sniffed, false)) return true;
  const controls = sniffed.filter((byte) => byte < 0x20 && !TEXT_CONTROLS.has(byte)).length;
  return controls <= sniffed.length * CONTROLS_SHARE_MAX;
};

const holds = (head: Buffer, at: number, bytes: string): boolean =>
  head.subarray(at, at + bytes.length).equals(Buffer.from(bytes, 'latin1'));
