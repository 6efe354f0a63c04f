import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileJournalStore } from '../../../services/journal/file-store.ts';
import { linesBack } from '../../../services/journal/lines-back.ts';
import { takeLock } from '../../../services/journal/lock.ts';
import { journalStorePromises } from '../../../src/testing/index.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'escapement-journal-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const folder = () => join(root, 'projects', 'here');
const store = () => new FileJournalStore({ folder: folder() });
const file = (id = 's1') => join(folder(), `${id}.jsonl`);
const lines = () => readFileSync(file(), 'utf8').trimEnd().split('\n');
async function write(...numbers: readonly number[]): Promise<number> {
  const writer = await store().open('s1');
  for (const n of numbers) writer.append({ type: 'note', n });
  await writer.close();
  return writer.cutBytes;
}

describe('sessions as files', () => {
  for (const { title, check } of journalStorePromises(store)) it(title, check);
});

describe('a file', () => {
  it('is the user’s alone: 0600 in folders of 0700', async () => {
    await write(1);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    for (const path of [join(root, 'projects'), folder(), join(folder(), 's1')]) {
      expect(statSync(path).mode & 0o777).toBe(0o700);
    }
    for (const name of readdirSync(join(folder(), 's1'))) {
      expect(statSync(join(folder(), 's1', name)).mode & 0o777).toBe(0o600);
    }
  });

  it('TRN-06 a thousand appends of 100 KB beside each other: whole lines, in their order', async () => {
    const big = 'x'.repeat(100_000);
    const writer = await store().open('s1');
    await Promise.all(
      Array.from({ length: 1_000 }, async (_, n) => {
        writer.append({ type: 'note', n, big });
        await writer.commit();
        // Nobody comes in between.
        if (n % 250 === 0) await expect(store().open('s1')).rejects.toThrow(/in use/);
      }),
    );
    await writer.close();
    const numbers = lines().map((line) => (JSON.parse(line) as { n: number; big: string }).n);
    expect(numbers).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
    expect(lines().every((line) => line.includes(big))).toBe(true);
  }, 60_000);

  it('is not followed when it is a link', async () => {
    mkdirSync(folder(), { recursive: true });
    const other = join(root, 'other');
    writeFileSync(other, 'mine\n');
    symlinkSync(other, file());
    await expect(store().open('s1')).rejects.toThrow();
    expect(readFileSync(other, 'utf8')).toBe('mine\n');
    expect(() => takeLock(join(folder(), 's1'), 's1', () => new Date()).release()).not.toThrow();
  });

  it.each(['../s', 'a/b', '', '.', 'a b'])('is never named %j', async (id) => {
    await expect(store().open(id)).rejects.toThrow(/no session id/);
    await expect(store().delete(id)).rejects.toThrow(/no session id/);
  });
});

describe('TRN-01 a last line that was cut', () => {
  it('is taken off before anything is written behind it', async () => {
    await write(1, 2);
    appendFileSync(file(), '{"type":"note","n":3,"te');
    expect(await write(4)).toBe(24);
    expect(lines().map((line) => JSON.parse(line).n)).toEqual([1, 2, 4]);
  });

  it('is kept when only its end is missing', async () => {
    await write(1);
    appendFileSync(file(), '{"type":"note","n":2}');
    expect(await write(3)).toBe(0);
    expect(lines().map((line) => JSON.parse(line).n)).toEqual([1, 2, 3]);
  });

  it('is taken off when it is a run of NUL, or longer than any block', async () => {
    await write(1);
    appendFileSync(file(), '\0'.repeat(300));
    expect(await write(2)).toBe(300);
    appendFileSync(file(), `{"type":"${'x'.repeat(200_000)}`);
    expect(await write(3)).toBe(200_009);
    expect(lines().map((line) => JSON.parse(line).n)).toEqual([1, 2, 3]);
  });

  it('may be the only one', async () => {
    mkdirSync(folder(), { recursive: true });
    writeFileSync(file(), '{"type"');
    expect(await write(1)).toBe(7);
    expect(lines()).toHaveLength(1);
  });
});

describe('TRN-02 a bad line in the middle', () => {
  it('is reported and left as it is', async () => {
    await write(1);
    appendFileSync(file(), `${'\0'.repeat(300)}\n{"type":"user"\n42\n\n[]\n`);
    await write(2);
    const before = readFileSync(file());
    const kinds: string[] = [];
    for await (const stored of store().readBack('s1')) kinds.push(stored.kind);
    expect(kinds).toEqual(['record', 'damaged', 'damaged', 'damaged', 'damaged', 'record']);
    expect(readFileSync(file())).toEqual(before);
  });
});

describe('a lock', () => {
  const now = () => new Date();

  it('of a dead process is taken over, also when its pid lives on as another', () => {
    const own = join(folder(), 's1');
    takeLock(own, 's1', now);
    const path = join(own, 'lock.1');
    const owner = JSON.parse(readFileSync(path, 'utf8'));
    expect(() => takeLock(own, 's1', now)).toThrow(`pid ${process.pid}`);

    writeFileSync(path, JSON.stringify({ ...owner, startedTicks: owner.startedTicks - 1 }));
    const second = takeLock(own, 's1', now);
    expect(readdirSync(own)).toEqual(['lock.2']);
    second.release();

    writeFileSync(join(own, 'lock.2'), JSON.stringify({ ...owner, bootId: 'an earlier one' }));
    takeLock(own, 's1', now).release();
  });

  it('of another machine is respected: nothing is known of its processes', () => {
    const own = join(folder(), 's1');
    takeLock(own, 's1', now).release();
    const path = join(own, 'lock.1');
    const owner = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...owner, isReleased: false, host: 'elsewhere', pid: 1 }));
    expect(() => takeLock(own, 's1', now)).toThrow(/in use .* on elsewhere/);
  });

  it('that cannot be read is nobody’s', () => {
    const own = join(folder(), 's1');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'lock.7'), '');
    takeLock(own, 's1', now).release();
    expect(readdirSync(own)).toEqual(['lock.8']);
  });
});

describe('TRN-08 a full disk', () => {
  it('keeps whole lines, tries again with the next one, and loses nothing', async () => {
    let room = 60;
    const full = () => Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
    const { writeSync } = await import('node:fs');
    const fs = new FileJournalStore({
      folder: folder(),
      calls: {
        write: (fd, bytes, offset, length) => {
          const some = Math.min(room, length);
          if (some === 0) throw full();
          room -= some;
          return writeSync(fd, bytes, offset, some);
        },
        synchronise: () => Promise.resolve(),
      },
    });
    const writer = await fs.open('s1');
    for (let n = 0; n < 5; n += 1) writer.append({ type: 'note', n, text: 'some words' });
    expect(writer.failure?.message).toMatch(/ENOSPC/);
    await expect(writer.commit()).rejects.toThrow(/ENOSPC/);
    expect(lines().map((line) => JSON.parse(line).n)).toEqual([0]);
    room = 10_000;
    writer.append({ type: 'note', n: 5 });
    expect(writer.failure).toBeUndefined();
    await writer.close();
    expect(lines().map((line) => JSON.parse(line).n)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('full before the first line: no file stays that would pass for the newest session', async () => {
    let isFull = true;
    const { writeSync } = await import('node:fs');
    const fs = new FileJournalStore({
      folder: folder(),
      calls: {
        write: (fd, bytes, offset, length) => {
          if (!isFull) return writeSync(fd, bytes, offset, length);
          throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
        },
        synchronise: () => Promise.resolve(),
      },
    });
    const writer = await fs.open('s1');
    writer.append({ type: 'note', n: 0 });
    expect(writer.failure?.message).toMatch(/ENOSPC/);
    expect(readdirSync(folder())).toEqual(['s1']); // its lock
    isFull = false;
    writer.append({ type: 'note', n: 1 });
    await writer.close();
    expect(lines().map((line) => JSON.parse(line).n)).toEqual([0, 1]);
  });

  it('a sync covers all that was written before it was asked for', async () => {
    const done: (() => void)[] = [];
    const fs = new FileJournalStore({
      folder: folder(),
      calls: {
        write: (_fd, _bytes, _offset, length) => length,
        synchronise: () => new Promise<void>((resolve) => done.push(resolve)),
      },
    });
    const writer = await fs.open('s1');
    writer.append({ type: 'note' });
    const first = writer.commit();
    writer.append({ type: 'note' });
    let isSafe = false;
    const second = writer.commit().then(() => {
      isSafe = true;
    });
    done.shift()?.();
    await first;
    await new Promise((resolve) => setImmediate(resolve));
    expect(isSafe).toBe(false);
    done.shift()?.();
    await second;
    await writer.commit();
    expect(done).toHaveLength(0);
    await writer.close();
  });
});

describe('a disk that fails', () => {
  it('after a sync that failed none proves anything: what comes is written, and never called safe', async () => {
    let syncs = 0;
    const { writeSync } = await import('node:fs');
    const fs = new FileJournalStore({
      folder: folder(),
      calls: {
        write: (fd, bytes, offset, length) => writeSync(fd, bytes, offset, length),
        synchronise: async () => {
          syncs += 1;
          if (syncs === 2) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
        },
      },
    });
    const writer = await fs.open('s1');
    writer.append({ type: 'note', n: 1 });
    await writer.commit();
    expect(writer.failure).toBeUndefined();
    writer.append({ type: 'note', n: 2 });
    await expect(writer.commit()).rejects.toThrow(
      /EIO: i\/o error; what was said last may be lost/,
    );
    writer.append({ type: 'note', n: 3 });
    expect(writer.failure?.message).toMatch(/EIO/);
    await expect(writer.commit()).rejects.toThrow(/EIO/);
    await writer.close();
    expect(lines().map((line) => JSON.parse(line).n)).toEqual([1, 2, 3]);
  });
});

describe('lines from the end', () => {
  it.each([
    ['', []],
    ['a', ['a']],
    ['a\n', ['a']],
    ['a\nb', ['b', 'a']],
    ['\n\na\n\nb\n\n', ['b', 'a']],
    [`${'x'.repeat(262_144)}\ny\n`, ['y', 'x'.repeat(262_144)]],
    [`a\n${'x'.repeat(262_143)}\n`, ['x'.repeat(262_143), 'a']],
    [`a\n${'é'.repeat(300_000)}`, ['é'.repeat(300_000), 'a']],
  ])('case %#', async (text, expected) => {
    const path = join(root, 'lines');
    writeFileSync(path, text);
    const found: string[] = [];
    for await (const line of linesBack(path)) found.push(line.toString());
    expect(found).toEqual(expected);
  });
});
