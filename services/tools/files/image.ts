import { amount, sizeOf } from '../text/amounts.ts';
import { IMAGE_BASE64_CHARS_MAX, IMAGE_SIDE_PIXELS_MAX } from './limits.ts';
import type { ImageType } from './media-kind.ts';

export interface Pixels {
  readonly width: number;
  readonly height: number;
}

/** Largest image whose base64 text is within the API's limit. */
export const IMAGE_BYTES_MAX = Math.floor(IMAGE_BASE64_CHARS_MAX / 4) * 3;

/** Why the API would refuse an image, with a remedy; `undefined` when it would not. */
export const whyNoImage = (bytes: Buffer, mediaType: ImageType): string | undefined => {
  if (bytes.length > IMAGE_BYTES_MAX) return tooLarge(bytes.length);
  const pixels = pixelsOf(bytes, mediaType);
  if (!pixels || pixels.width === 0 || pixels.height === 0) {
    return `The file begins as ${mediaType}, but is damaged: it has no size in pixels`;
  }
  if (Math.max(pixels.width, pixels.height) <= IMAGE_SIDE_PIXELS_MAX) return undefined;
  return (
    `The image is ${amount(pixels.width)} × ${amount(pixels.height)} pixels; a side may have at ` +
    `most ${amount(IMAGE_SIDE_PIXELS_MAX)}. ${REMEDY}`
  );
};

export const tooLarge = (bytes: number): string =>
  `The image is too large: ${sizeOf(bytes)}; at most ${sizeOf(IMAGE_BYTES_MAX)}. ${REMEDY}`;

const REMEDY =
  'Make a smaller copy (for example `magick in.png -resize 1568x1568 out.png`) and read that';

/** Width and height from the header; `undefined` when it is damaged or cut. */
export const pixelsOf = (bytes: Buffer, mediaType: ImageType): Pixels | undefined => {
  try {
    switch (mediaType) {
      case 'image/png':
        return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
      case 'image/gif':
        return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
      case 'image/webp':
        return pixelsOfWebp(bytes);
      case 'image/jpeg':
        return pixelsOfJpeg(bytes);
    }
  } catch (error) {
    if (error instanceof RangeError) return undefined; // read beyond the end
    throw error;
  }
};

const pixelsOfWebp = (bytes: Buffer): Pixels | undefined => {
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
    }
    case 'VP8 ':
      return {
        width: bytes.readUInt16LE(26) & 0x3fff,
        height: bytes.readUInt16LE(28) & 0x3fff,
      };
    default:
      return undefined;
  }
};

/** Walks the segments up to the frame header (SOF0–SOF15 without DHT, JPG and DAC). */
const pixelsOfJpeg = (bytes: Buffer): Pixels | undefined => {
  for (let at = 2; ; ) {
    if (bytes.readUInt8(at) !== 0xff) return undefined;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) {
      at += 1; // fill byte
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    const lengthBytes = bytes.readUInt16BE(at + 2);
    if (lengthBytes < 2) return undefined;
    at += 2 + lengthBytes;
  }
};
