/**
 * The one-byte encoding of old western files, a superset of ISO 8859-1 in print. A bijection (as
 * in the WHATWG table, its five holes stand for themselves), so that any bytes survive the way
 * through text and back. `TextDecoder` is not used: some versions of Node decode 80–9F wrongly.
 */

/** U+0000 marks the holes. */
const AT_80 =
  '\u20AC\u0000\u201A\u0192\u201E\u2026\u2020\u2021' +
  '\u02C6\u2030\u0160\u2039\u0152\u0000\u017D\u0000' +
  '\u0000\u2018\u2019\u201C\u201D\u2022\u2013\u2014' +
  '\u02DC\u2122\u0161\u203A\u0153\u0000\u017E\u0178';

const toText = new Map<string, string>();
const toByte = new Map<string, string>();
for (const [index, character] of [...AT_80].entries()) {
  const byte = String.fromCharCode(0x80 + index);
  const shown = character === '\u0000' ? byte : character;
  toText.set(byte, shown);
  toByte.set(shown, byte);
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII begins with them
const NOT_THE_SAME = /[^\u0000-\u007F\u00A0-\u00FF]/gu;

export const decodeWindows1252 = (bytes: Buffer): string =>
  bytes.toString('latin1').replace(/[\u0080-\u009F]/g, (byte) => toText.get(byte) ?? byte);

/** The bytes, or the first character that has none. */
export const encodeWindows1252 = (text: string): Buffer | { readonly unknown: string } => {
  let unknown: string | undefined;
  const latin1 = text.replace(NOT_THE_SAME, (character) => {
    const byte = toByte.get(character);
    if (byte === undefined) unknown ??= character;
    return byte ?? '?';
  });
  return unknown === undefined ? Buffer.from(latin1, 'latin1') : { unknown };
};
