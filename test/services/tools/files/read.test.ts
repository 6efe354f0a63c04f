import { spawn } from 'node:child_process';
import { closeSync, openSync, symlinkSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { fileStateOf } from '../../../../services/tools/files/index.ts';
import { box, isWellFormed, putFifo, textIn, toolState } from './kit.ts';
import { jpeg, pdf, png } from './media.ts';

const GIB = 1024 ** 3;
const lines = (count: number): string =>
  Array.from({ length: count }, (_, i) => `line ${i + 1}\n`).join('');

describe('text', () => {
  test('has line numbers as of cat -n', async () => {
    const b = box();
    const file = b.put('a.txt', 'one\ntwo\r\n\nfour');
    expect(await b.ok('Read', { file_path: file })).toBe(
      '     1\tone\n     2\ttwo\n     3\t\n     4\tfour',
    );
    expect(await b.ok('Read', { file_path: 'a.txt', offset: 2, limit: 2 })).toBe(
      '     2\ttwo\n     3\t\n\n[Lines 2–3 of 4.]',
    );
  });
  test('2,000 lines at first, then from where it says', async () => {
    const b = box();
    const file = b.put('a.txt', lines(4_500));
    const first = await b.ok('Read', { file_path: file });
    expect(first).toContain(
      '  2000\tline 2000\n\n[Lines 1–2,000 of 4,500. Go on with offset 2001.]',
    );
    expect(first).not.toContain('line 2001');
    const last = await b.ok('Read', { file_path: file, offset: 4_001 });
    expect(last).toMatch(/^ {2}4001\tline 4001\n/);
    expect(last).toMatch(/line 4500$/);
  });
  test('an empty file, and a place after the end, are said', async () => {
    const b = box();
    expect(await b.ok('Read', { file_path: b.put('e', '') })).toContain('empty');
    expect(await b.ok('Read', { file_path: b.put('a', 'x\n'), offset: 9 })).toContain('has 1 line');
  });
  test('a result is bounded whatever the lines', async () => {
    const b = box();
    const file = b.put('a.txt', `${'x'.repeat(1_500)}\n`.repeat(1_000));
    const text = await b.ok('Read', { file_path: file });
    expect(text.length).toBeLessThan(110_000);
    expect(text).toMatch(/Go on with offset 67\.\]$/);
  });
  test('CONT-07 a long line is cut between graphemes', async () => {
    const b = box();
    for (const grapheme of ['🎉', '👨‍👩‍👧‍👦', 'é']) {
      for (let less = 0; less < 12; less += 1) {
        const start = 'x'.repeat(2_000 - less);
        const file = b.put('long.txt', `${start}${grapheme.repeat(10)}\nend\n`);
        const [line = ''] = (await b.ok('Read', { file_path: file })).split('\n');
        expect(isWellFormed(line)).toBe(true);
        const [, kept = ''] =
          /^ {5}1\t(x+.*)… \[.*more characters in this line\]$/.exec(line) ?? [];
        expect(kept.length % grapheme.length).toBe((2_000 - less) % grapheme.length);
        expect(`${start}${grapheme.repeat(10)}`.startsWith(kept)).toBe(true);
      }
    }
  });
  test('an unchanged file is not shown twice, unless asked again', async () => {
    const b = box();
    const file = b.put('a.txt', 'one\n');
    await b.ok('Read', { file_path: file }, { toolUseId: 'toolu_first' });
    const second = await b.ok('Read', { file_path: file });
    expect(second).toContain('Unchanged');
    expect(second).toContain('toolu_first');
    expect(await b.ok('Read', { file_path: file })).toContain('one');
    expect(await b.ok('Read', { file_path: file, limit: 1 })).toContain('one');
    expect(await b.ok('Read', { file_path: file })).toContain('Unchanged');
    await b.ok('Edit', { file_path: file, old_string: 'one', new_string: 'two' });
    expect(await b.ok('Read', { file_path: file })).toContain('two');
    writeFileSync(file, 'six\n');
    expect(await b.ok('Read', { file_path: file })).toContain('six');
  });
  test('what has left the view is shown again', async () => {
    const b = box();
    const state = toolState();
    const file = b.put('a.txt', 'one\n');
    await b.ok('Read', { file_path: file }, { state });
    fileStateOf(state).forgetShown();
    expect(await b.ok('Read', { file_path: file }, { state })).toContain('one');
    await b.ok('Edit', { file_path: file, old_string: 'one', new_string: 'two' }, { state });
    expect(
      fileStateOf(state)
        .recent(5)
        .map((seen) => seen.path),
    ).toEqual([file]);
  });
  test('a name that is nearly right is proposed', async () => {
    const b = box();
    b.put('src/index.tsx', 'x');
    expect(await b.fails('Read', { file_path: 'src/index.ts' })).toContain('src/index.tsx');
    expect(await b.fails('Read', { file_path: 'nowhere/x.ts' })).toContain('folder does not exist');
  });
});

describe('FILE-07 files that are no text', () => {
  test('an archive and a database: kind and size, short', async () => {
    const b = box();
    const gz = b.put('x.gz', gzipSync(Buffer.from(lines(1_000))));
    const said = await b.fails('Read', { file_path: gz });
    expect(said).toContain('gzip');
    expect(said.length).toBeLessThan(500);
    const db = b.put('db', Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(4_000)]));
    expect(await b.fails('Read', { file_path: db })).toContain('SQLite');
    const noise = b.put(
      'noise',
      Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * 89) % 256)),
    );
    expect(await b.fails('Read', { file_path: noise })).toContain('Binary');
  });
  test('an image has the type of its content', async () => {
    const b = box();
    const image = png(3, 2);
    const output = await b.call('Read', { file_path: b.put('logo.JPG', image) });
    expect(output.content).toEqual([
      {
        type: 'image',
        source: { type: 'base64', media_type: 'image/png', data: image.toString('base64') },
      },
    ]);
    const photo = await b.call('Read', { file_path: b.put('photo.png', jpeg(4, 5)) });
    expect(textIn(photo)).toContain('image/jpeg');
  });
  test('text with an odd extension is text; a late NUL is shown', async () => {
    const b = box();
    expect(await b.ok('Read', { file_path: b.put('utf8.bin', 'käse\n') })).toContain('käse');
    const nul = b.put('nul.txt', `${'a\n'.repeat(4_500)}b\0c\n`);
    expect(await b.ok('Read', { file_path: nul, offset: 4_501 })).toContain('b␀c');
  });
});

describe('FILE-11 images that the API would refuse', () => {
  test.each([
    ['bytes between the limit on base64 and the one on bytes', png(10, 10, 3_950_000)],
    ['9 MB', png(10, 10, 9_000_000)],
    ['a side of 8,001 pixels', png(8_001, 10)],
    ['a height of 8,001 pixels', jpeg(10, 8_001)],
    ['no size', png(10, 10).subarray(0, 18)],
  ])('%s', async (_, image) => {
    const b = box();
    const said = await b.fails('Read', { file_path: b.put('a.png', image) });
    expect(said.length).toBeLessThan(500);
  });
  test('the largest one that is allowed', async () => {
    const b = box();
    const image = png(8_000, 8_000, 3_932_160 - png(1, 1).length);
    const output = await b.call('Read', { file_path: b.put('a.png', image) });
    expect(output.isError).toBeUndefined();
    const [block] = output.content as unknown as [{ source: { data: string } }];
    expect(block.source.data.length).toBe(5_242_880);
  });
});

describe('FILE-13 PDFs', () => {
  test('150 pages are refused with the number and a way, 2 pages are shown', async () => {
    const b = box();
    const long = b.put('long.pdf', pdf(150));
    const said = await b.fails('Read', { file_path: long });
    expect(said).toContain('150 pages');
    expect(said).toContain('pages');
    const short = pdf(2);
    const output = await b.call('Read', { file_path: b.put('short.pdf', short) });
    expect(output.content).toEqual([
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: short.toString('base64') },
      },
    ]);
    const text = await b.ok('Read', { file_path: long, pages: '149-150' });
    expect(text).toBe('[Page 149 of 150]\nPage number 149\n[Page 150 of 150]\nPage number 150');
  });
  test('wrong ranges, scans and damage', async () => {
    const b = box();
    const file = b.put('a.pdf', pdf(30));
    expect(await b.fails('Read', { file_path: file, pages: '1-30' })).toContain('At most 20');
    expect(await b.fails('Read', { file_path: file, pages: '31' })).toContain('only 30 pages');
    expect(await b.fails('Read', { file_path: file, pages: 'all' })).toContain('must be like');
    expect(
      await b.fails('Read', {
        file_path: b.put(
          's.pdf',
          pdf(1, () => ''),
        ),
        pages: '1',
      }),
    ).toContain('no text');
    const damaged = b.put('d.pdf', '%PDF-1.7\nnothing more\n');
    expect(await b.fails('Read', { file_path: damaged })).toContain('can not be read');
    expect(await b.fails('Read', { file_path: b.put('t.txt', 'x'), pages: '1' })).toContain('PDF');
  });
});

describe('bad input', () => {
  test('a FIFO, a socket, a device, a folder: an error at once', async () => {
    const b = box();
    const fifo = path.join(b.cwd, 'fifo');
    putFifo(fifo);
    const link = path.join(b.cwd, 'link');
    symlinkSync(fifo, link);
    const socket = path.join(b.cwd, 'socket');
    const server = createServer().listen(socket);
    await new Promise((resolve) => server.once('listening', resolve));
    const child = spawn('sleep', ['60'], { stdio: ['pipe', 'ignore', 'ignore'] });
    for (const [place, kind] of [
      [fifo, 'FIFO'],
      [link, 'FIFO'],
      [socket, 'socket'],
      ['/dev/zero', 'device'],
      [`/proc/${child.pid}/fd/0`, 'socket'],
      [b.cwd, 'folder'],
    ] as const) {
      expect(await b.fails('Read', { file_path: place })).toMatch(kind);
      expect(await b.fails('Write', { file_path: place, content: 'x' })).toMatch(kind);
      const edit = { file_path: place, old_string: 'a', new_string: 'b' };
      expect(await b.fails('Edit', edit)).toMatch(kind);
    }
    server.close();
    child.kill('SIGKILL');
  });
  test('a file of /proc says size 0 and has content', async () => {
    expect(await box().ok('Read', { file_path: '/proc/self/status' })).toContain('Pid:');
  });
  test('a 4 GB file is read in bounded memory, at its beginning and by offset', async () => {
    const b = box();
    const file = b.put('huge.log', lines(300_000));
    truncateSync(file, 4 * GIB); // one line of NULs from there on
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, '\nthe end\n', 4 * GIB - 9);
    closeSync(descriptor);
    const before = process.memoryUsage().rss;
    const head = await b.ok('Read', { file_path: file, limit: 2 });
    expect(head).toBe('     1\tline 1\n     2\tline 2\n\n[Lines 1–2.]');
    const middle = await b.ok('Read', { file_path: file, offset: 299_999, limit: 1 });
    expect(middle).toContain('299999\tline 299999');
    expect(process.memoryUsage().rss - before).toBeLessThan(300e6);
    const edit = { file_path: file, old_string: 'the end', new_string: 'x' };
    expect(await b.fails('Edit', edit)).toContain('Larger than');
  });
  test('a search for a far line stops with the signal', async () => {
    const b = box();
    const file = b.put('huge.log', lines(1_000));
    truncateSync(file, 40 * GIB);
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 50);
    const { signal } = stop;
    expect(await b.fails('Read', { file_path: file, offset: 5_000 }, { signal })).toContain(
      'Stopped',
    );
  });
  test('a name with a line end, a path with NUL, a path outside', async () => {
    const b = box();
    const odd = b.put('a\n     9\tfake', 'real\n');
    expect(await b.ok('Read', { file_path: odd })).toBe('     1\treal');
    expect(await b.fails('Read', { file_path: 'a\0b' })).toContain('NUL');
    // Whether it may be read is the permission service's to say, on the real path.
    const other = box().put('x.txt', 'outside\n');
    expect(await b.ok('Read', { file_path: path.relative(b.cwd, other) })).toContain('outside');
  });
  test('wrong parameters are named', async () => {
    const b = box();
    expect(await b.fails('Read', { path: 'x', limit: 'ten' })).toBe(
      'Invalid input: missing parameter `file_path` (string); ' +
        '`limit`: expected number, received string; unexpected parameter `path`. ' +
        'Parameters: file_path, offset?, limit?, pages?.',
    );
  });
});
