/** What an image really is, read from its first bytes: for rule S12. */

interface ImageFacts {
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
  /** Pixels. `undefined`: the type is clear, the size is not (a cut or odd file). */
  readonly width: number | undefined;
  readonly height: number | undefined;
}

/** Type and size of a png, jpeg, gif or webp; `undefined` for anything else. */
export function imageFacts(bytes: Buffer): ImageFacts | undefined {
  if (bytes.subarray(0, 8).equals(PNG_START)) return pngFacts(bytes);
  if (bytes.subarray(0, 3).equals(JPEG_START)) return jpegFacts(bytes);
  const head = bytes.subarray(0, 6).toString('latin1');
  if (head === 'GIF87a' || head === 'GIF89a') return gifFacts(bytes);
  const isWebp = head.startsWith('RIFF') && bytes.subarray(8, 12).toString('latin1') === 'WEBP';
  return isWebp ? webpFacts(bytes) : undefined;
}

const PNG_START = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const JPEG_START = Buffer.from([0xff, 0xd8, 0xff]);
const UNKNOWN_SIZE = { width: undefined, height: undefined };

/** The IHDR chunk comes first: length, name, width, height. */
function pngFacts(bytes: Buffer): ImageFacts {
  if (bytes.length < 24) return { mediaType: 'image/png', ...UNKNOWN_SIZE };
  return {
    mediaType: 'image/png',
    width: bytes.readUInt32BE(16),
    height: bytes.readUInt32BE(20),
  };
}

function gifFacts(bytes: Buffer): ImageFacts {
  if (bytes.length < 10) return { mediaType: 'image/gif', ...UNKNOWN_SIZE };
  return { mediaType: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** Markers 0xC0–0xCF start a frame and hold its size, but for these three. */
const NO_FRAME = new Set([0xc4, 0xc8, 0xcc]);
/** Markers without a length behind them: RST0–RST7, SOI, TEM. */
const isBare = (marker: number): boolean => (marker >= 0xd0 && marker <= 0xd8) || marker === 0x01;

/** Walks the segments to the first frame header; thumbnails lie inside of segments. */
function jpegFacts(bytes: Buffer): ImageFacts {
  let at = 2;
  while (at + 9 <= bytes.length) {
    if (bytes[at] !== 0xff) break;
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff || isBare(marker)) {
      at += marker === 0xff ? 1 : 2;
      continue;
    }
    if (marker >= 0xc0 && marker <= 0xcf && !NO_FRAME.has(marker)) {
      return {
        mediaType: 'image/jpeg',
        height: bytes.readUInt16BE(at + 5),
        width: bytes.readUInt16BE(at + 7),
      };
    }
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return { mediaType: 'image/jpeg', ...UNKNOWN_SIZE };
}

/** Three kinds of webp: lossy, lossless, and extended, each with its own place for the size. */
function webpFacts(bytes: Buffer): ImageFacts {
  const mediaType = 'image/webp';
  const chunk = bytes.subarray(12, 16).toString('latin1');
  if (chunk === 'VP8X' && bytes.length >= 30) {
    return { mediaType, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  }
  if (chunk === 'VP8L' && bytes.length >= 25) {
    const packed = bytes.readUInt32LE(21);
    return { mediaType, width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 };
  }
  if (chunk === 'VP8 ' && bytes.length >= 30) {
    return {
      mediaType,
      width: bytes.readUInt16LE(26) & 0x3fff,
      height: bytes.readUInt16LE(28) & 0x3fff,
    };
  }
  return { mediaType, ...UNKNOWN_SIZE };
}
