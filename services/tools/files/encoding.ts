/**
 * Text of a file and back. *Contract:* what is decoded and not changed is encoded to the same
 * bytes; what can not be kept is refused, never replaced.
 */
import { wellFormed } from '../../well-formed.ts';
import { done, fault, type Outcome } from './outcome.ts';
import { decodeWindows1252, encodeWindows1252 } from './windows-1252.ts';

export interface TextFormat {
  readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';
  /** Begins with a byte order mark, which is no part of the text. */
  readonly hasMark: boolean;
}
export interface DecodedText {
  readonly format: TextFormat;
  /** Without the byte order mark; line endings as in the file. */
  readonly text: string;
}

export const PLAIN_TEXT: TextFormat = { encoding: 'utf-8', hasMark: false };
const MARK = '\uFEFF';

/**
 * By the byte order mark; without one UTF-8 if the bytes are valid as such, else Windows-1252,
 * which every sequence of bytes is. Binary files have been sorted out before.
 * @param isWhole false: the bytes are the beginning of a file, and may end within a character.
 */
export const formatOf = (bytes: Buffer, isWhole: boolean): TextFormat => {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { encoding: 'utf-16le', hasMark: true };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: 'utf-16be', hasMark: true };
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return isUtf8(bytes, isWhole)
    ? { encoding: 'utf-8', hasMark }
    : { encoding: 'windows-1252', hasMark: false };
};

export const isUtf8 = (bytes: Buffer, isWhole: boolean): boolean => {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: !isWhole });
    return true;
  } catch {
    return false;
  }
};

/** All bytes of a file as text. */
export const decodeText = (bytes: Buffer): Outcome<DecodedText> => {
  const format = formatOf(bytes, true);
  switch (format.encoding) {
    case 'utf-8':
      return done({ format, text: bytes.toString('utf8', format.hasMark ? 3 : 0) });
    case 'windows-1252':
      return done({ format, text: decodeWindows1252(bytes) });
    case 'utf-16le':
    case 'utf-16be': {
      if (bytes.length % 2 !== 0) return fault('The file is UTF-16, but ends within a character');
      const body = bytes.subarray(2);
      const littleEndian = format.encoding === 'utf-16le' ? body : swapped(body);
      return done({ format, text: littleEndian.toString('utf16le') });
    }
  }
};

/** Text as bytes of a file. A mark at the beginning of the text is not doubled. */
export const encodeText = (text: string, format: TextFormat): Outcome<Buffer> => {
  const body = format.hasMark && text.startsWith(MARK) ? text.slice(1) : text;
  const marked = format.hasMark ? MARK + body : body;
  switch (format.encoding) {
    case 'utf-8':
      return wellFormed(marked) === marked
        ? done(Buffer.from(marked, 'utf8'))
        : fault('The text has half of a surrogate pair, which UTF-8 can not store');
    case 'utf-16le':
      return done(Buffer.from(marked, 'utf16le'));
    case 'utf-16be':
      return done(swapped(Buffer.from(marked, 'utf16le')));
    case 'windows-1252': {
      const bytes = encodeWindows1252(marked);
      if (Buffer.isBuffer(bytes)) return done(bytes);
      return fault(
        `The file is not UTF-8 but Windows-1252 (Latin-1), which has no ${JSON.stringify(
          wellFormed(bytes.unknown),
        )}. Nothing was changed. Leave this character out, or convert the file first`,
      );
    }
  }
};

/** A decoder for a file that comes in pieces; the byte order mark is left out. */
export const streamDecoder = (format: TextFormat): ((chunk: Buffer | undefined) => string) => {
  if (format.encoding === 'windows-1252') return (chunk) => (chunk ? decodeWindows1252(chunk) : '');
  const decoder = new TextDecoder(format.encoding);
  return (chunk) => decoder.decode(chunk, { stream: chunk !== undefined });
};

const swapped = (bytes: Buffer): Buffer => Buffer.from(bytes).swap16();
