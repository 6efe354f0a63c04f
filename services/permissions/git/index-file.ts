/**
 * The submodules that git's index names: `git status` starts a git in each that is checked out. Read
 * from the file itself (gitformat-index(5)), since asking a git would start one.
 */

/** Of an entry: times, device, inode, mode, owner, size. */
const STAT_BYTES = 40;
const MODE_AT = 24;
const EXTENDED = 0x4000;
const gitlink = 0o16;
/** Files, links, submodules, folders of a sparse checkout. */
const kinds = new Set([0o10, 0o12, gitlink, 0o04]);

/**
 * @param hashBytes 20, or 32 in a repository of SHA-256.
 * @returns `undefined` when it is no index that we understand: there may be any.
 */
export function submodulesOf(index: Buffer, hashBytes: number): readonly string[] | undefined {
  if (index.length < 12 + hashBytes || index.toString('latin1', 0, 4) !== 'DIRC') return undefined;
  const version = index.readUInt32BE(4);
  if (version < 2 || version > 4) return undefined;
  const found: string[] = [];
  let at = 12;
  let name = Buffer.alloc(0);
  for (let left = index.readUInt32BE(8); left > 0; left--) {
    const start = at;
    at += STAT_BYTES + hashBytes + 2;
    if (at > index.length) return undefined;
    if (index.readUInt16BE(at - 2) & EXTENDED) at += 2;
    const kind = index.readUInt32BE(start + MODE_AT) >>> 12;
    if (!kinds.has(kind)) return undefined;
    let kept = 0;
    if (version === 4) {
      const strip = readOffset(index, at);
      if (!strip || strip.value > name.length) return undefined;
      kept = name.length - strip.value;
      at = strip.end;
    }
    const end = index.indexOf(0, at);
    if (end < 0) return undefined;
    name = Buffer.concat([name.subarray(0, kept), index.subarray(at, end)]);
    at = version === 4 ? end + 1 : start + (Math.floor((end - start) / 8) + 1) * 8;
    if (kind === gitlink) found.push(name.toString('utf8'));
  }
  return isWhole(index, at, hashBytes) ? found : undefined;
}

/** Of a split index the other half could name more. */
function isWhole(index: Buffer, from: number, hashBytes: number): boolean {
  let at = from;
  while (at + 8 <= index.length - hashBytes) {
    if (index.toString('latin1', at, at + 4) === 'link') return false;
    at += 8 + index.readUInt32BE(at + 4);
  }
  return at === index.length - hashBytes;
}

/** A number of seven bits a byte, as in the offsets of a pack. */
function readOffset(index: Buffer, from: number): { value: number; end: number } | undefined {
  let value = -1;
  for (let at = from; at < Math.min(index.length, from + 4); at++) {
    const byte = index.readUInt8(at);
    value = (value + 1) * 128 + (byte & 127);
    if ((byte & 128) === 0) return { value, end: at + 1 };
  }
  return undefined;
}
