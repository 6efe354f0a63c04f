import {
  chmodSync,
  linkSync,
  lstatSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { applyPatch } from 'diff';
import { describe, expect, test } from 'vitest';
import { type Box, box } from './kit.ts';

const bytes = (file: string): Buffer => readFileSync(file);
const text = (file: string): string => readFileSync(file, 'utf8');

/** Reads, then edits. */
const edit = async (b: Box, file: string, old: string, wish: string, all = false) => {
  await b.ok('Read', { file_path: file });
  return b.call('Edit', { file_path: file, old_string: old, new_string: wish, replace_all: all });
};

describe('FILE-01 dollar patterns in new_string', () => {
  const wish = 'echo "$& $$ $1 $` $\' ok"';
  test('are written as they are', async () => {
    const b = box();
    const file = b.put('a.sh', 'log("done");\n');
    await edit(b, file, 'log("done");', wish);
    expect(text(file)).toBe(`${wish}\n`);
  });
  test('also with replace_all, and the diff is what is on disk', async () => {
    const b = box();
    const before = 'one\nlog("done");\ntwo\nlog("done");\n';
    const file = b.put('a.sh', before);
    const output = await edit(b, file, 'log("done");', wish, true);
    expect(text(file)).toBe(`one\n${wish}\ntwo\n${wish}\n`);
    const { structuredPatch: hunks } = output.data as { structuredPatch: never[] };
    const patch = {
      hunks,
      oldFileName: '',
      newFileName: '',
      oldHeader: '',
      newHeader: '',
      index: '',
    };
    expect(applyPatch(before, patch)).toBe(text(file));
  });
});

describe('FILE-02 line endings', () => {
  test('a multi-line edit of a CRLF file keeps CRLF', async () => {
    const b = box();
    const file = b.put('w.txt', 'a\r\nb\r\nc\r\n');
    await edit(b, file, 'a\nb', 'a\nX\nb');
    expect(text(file)).toBe('a\r\nX\r\nb\r\nc\r\n');
  });
  test('a file with mixed endings keeps those of untouched lines', async () => {
    const b = box();
    const file = b.put('m.txt', '1\r\n2\n3\r\n4\n5\r\n');
    await edit(b, file, '2\n3\n4', '2\nX\n3\n4!');
    expect(text(file)).toBe('1\r\n2\nX\n3\r\n4!\n5\r\n');
  });
  test('what the model writes with a return of its own is taken literally', async () => {
    const b = box();
    const file = b.put('h.txt', 'GET /\nend\n');
    await edit(b, file, 'GET /\n', 'GET /\r\nHost: x\r\n');
    expect(text(file)).toBe('GET /\r\nHost: x\r\nend\n');
  });
  test('Write of a new file uses exactly the given bytes; else CRLF stays', async () => {
    const b = box();
    const made = path.join(b.cwd, 'new/deep/n.txt');
    await b.ok('Write', { file_path: made, content: 'a\r\nb\n' });
    expect(text(made)).toBe('a\r\nb\n');
    const file = b.put('c.txt', 'a\r\nb\r\n');
    await b.ok('Read', { file_path: file });
    await b.ok('Write', { file_path: file, content: 'x\ny\n' });
    expect(text(file)).toBe('x\r\ny\r\n');
  });
});

describe('FILE-03 byte order marks', () => {
  test('UTF-8: kept once, and not part of line 1', async () => {
    const b = box();
    const file = b.put('b.cs', '\uFEFFusing System;\r\n');
    expect(await b.ok('Read', { file_path: file })).toBe('     1\tusing System;');
    await b.ok('Edit', {
      file_path: file,
      old_string: 'using System;',
      new_string: 'using System.IO;',
    });
    expect(bytes(file)).toEqual(Buffer.from('\uFEFFusing System.IO;\r\n'));
    await b.ok('Write', { file_path: file, content: '\uFEFFclass A {}\n' });
    expect(bytes(file)).toEqual(Buffer.from('\uFEFFclass A {}\r\n'));
  });
  test.each(['le', 'be'])('UTF-16%s is edited as such', async (order) => {
    const utf16 = (s: string) => {
      const little = Buffer.from(`\uFEFF${s}`, 'utf16le');
      return order === 'le' ? little : little.swap16();
    };
    const b = box();
    const file = b.put('u.txt', utf16('größe = 1\r\n😀\r\n'));
    expect(await b.ok('Read', { file_path: file })).toContain('     2\t😀');
    await b.ok('Edit', { file_path: file, old_string: '1\n😀', new_string: '2\n😀ü' });
    expect(bytes(file)).toEqual(utf16('größe = 2\r\n😀ü\r\n'));
  });
});

describe('FILE-04 typographic quotes', () => {
  const content = "She said, “Hello.” It’s 'ok'\n";
  test('straight quotes of the model become those of the file', async () => {
    const b = box();
    const file = b.put('q.md', content);
    await edit(b, file, 'She said, "Hello."', 'She said, "Hi."');
    expect(text(file)).toBe("She said, “Hi.” It’s 'ok'\n");
  });
  test('straight to curly is a change', async () => {
    const b = box();
    const file = b.put('q.md', content);
    await edit(b, file, "'ok'", '‘ok’');
    expect(text(file)).toBe('She said, “Hello.” It’s ‘ok’\n');
  });
  test('an exact match leaves all quotes alone', async () => {
    const b = box();
    const file = b.put('q.md', content);
    await edit(b, file, 'Hello', 'Hi');
    expect(text(file)).toBe("She said, “Hi.” It’s 'ok'\n");
  });
  test('where the form of a new quote is not clear, nothing is changed', async () => {
    const b = box();
    const file = b.put('q.md', content);
    const output = await edit(b, file, '"Hello."', '"Hello," she said, "you."');
    expect(output.isError).toBe(true);
    expect(output.content).toContain('“Hello.”');
    expect(text(file)).toBe(content);
  });
});

describe('FILE-06 bytes that are no UTF-8', () => {
  test('stay as they are', async () => {
    const b = box();
    const file = b.put('l.txt', Buffer.from('caf\xe9 \x93x\x94 \x81 = 1\nfoo = 2\n', 'latin1'));
    expect(await b.ok('Read', { file_path: file })).toContain('café “x”');
    await b.ok('Edit', { file_path: file, old_string: 'foo = 2', new_string: 'foo = “é”' });
    expect(bytes(file)).toEqual(
      Buffer.from('caf\xe9 \x93x\x94 \x81 = 1\nfoo = \x93\xe9\x94\n', 'latin1'),
    );
  });
  test('what the encoding has not is refused', async () => {
    const b = box();
    const before = Buffer.from('caf\xe9\n', 'latin1');
    const file = b.put('l.txt', before);
    const output = await edit(b, file, 'caf', '😀');
    expect(output.isError).toBe(true);
    expect(output.content).toContain('Windows-1252');
    expect(bytes(file)).toEqual(before);
  });
});

describe('an edit must know what it changes', () => {
  test('a file that was never read is refused', async () => {
    const b = box();
    const file = b.put('a.txt', 'a\n');
    expect(await b.fails('Edit', { file_path: file, old_string: 'a', new_string: 'b' })).toContain(
      'Read',
    );
    expect(await b.fails('Write', { file_path: file, content: 'b' })).toContain('Read');
    expect(text(file)).toBe('a\n');
  });
  test('a change is noticed although size and time are the same', async () => {
    const b = box();
    const file = b.put('a.txt', 'aaa\n');
    const { atime, mtime } = statSync(file);
    await b.ok('Read', { file_path: file });
    writeFileSync(file, 'aab\n');
    utimesSync(file, atime, mtime);
    const input = { file_path: file, old_string: 'aa', new_string: 'x' };
    expect(await b.fails('Edit', input)).toContain('changed since');
    expect(text(file)).toBe('aab\n');
  });
  test('a new time without a new content is no change', async () => {
    const b = box();
    const file = b.put('a.txt', 'aaa\n');
    await b.ok('Read', { file_path: file });
    utimesSync(file, 1, 1);
    await b.ok('Edit', { file_path: file, old_string: 'aaa', new_string: 'b' });
    expect(text(file)).toBe('b\n');
  });
  test('edits that follow each other need no Read between them', async () => {
    const b = box();
    const file = b.put('e.txt', 'one\ntwo\nthree\n');
    await b.ok('Read', { file_path: file });
    await Promise.all(
      ['one', 'two', 'three'].map((word) =>
        b.ok('Edit', { file_path: file, old_string: word, new_string: word.toUpperCase() }),
      ),
    );
    expect(text(file)).toBe('ONE\nTWO\nTHREE\n');
  });
  test('the same file under two names has one queue', async () => {
    const b = box();
    const file = b.put('e.txt', Array.from({ length: 20 }, (_, i) => `line ${i};\n`).join(''));
    const alias = path.join(b.cwd, 'alias.txt');
    symlinkSync(file, alias);
    await b.ok('Read', { file_path: alias });
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        b.ok('Edit', {
          file_path: i % 2 ? file : alias,
          old_string: `line ${i};`,
          new_string: `LINE ${i};`,
        }),
      ),
    );
    expect(text(file)).toBe(Array.from({ length: 20 }, (_, i) => `LINE ${i};\n`).join(''));
    expect(lstatSync(alias).isSymbolicLink()).toBe(true);
  });
});

describe('what an edit says', () => {
  test('an ambiguous text names its lines, also when the places overlap', async () => {
    const b = box();
    const file = b.put('a.txt', 'x\nfoo\nfoo\naaa\n');
    const twice = await edit(b, file, 'foo', 'bar');
    expect(twice.content).toMatch(/2 times \(lines 2, 3\)/);
    const overlap = await b.fails('Edit', { file_path: file, old_string: 'aa', new_string: 'b' });
    expect(overlap).toContain('unique');
    expect(text(file)).toBe('x\nfoo\nfoo\naaa\n');
  });
  test('a text that differs in white space is shown', async () => {
    const b = box();
    const file = b.put('a.ts', 'if (a) {\n\treturn 1;\n}\n');
    const output = await edit(b, file, 'if (a) {\n  return 1;\n}', 'x');
    expect(output.content).toContain('white space');
    expect(output.content).toContain('     2\t\treturn 1;');
  });
  test('line numbers in old_string are noticed', async () => {
    const b = box();
    const file = b.put('a.ts', 'one\ntwo\n');
    expect((await edit(b, file, '     1\tone\n     2\ttwo', 'x')).content).toContain(
      'line numbers',
    );
  });
  test('a near miss is shown', async () => {
    const b = box();
    const file = b.put('a.ts', 'const total = price * quantity;\n');
    const output = await edit(b, file, 'const total = price * amount;', 'x');
    expect(output.content).toContain('     1\tconst total = price * quantity;');
  });
  test('equal strings, an empty one, a file that is not there', async () => {
    const b = box();
    const file = b.put('a.ts', 'one\n');
    expect((await edit(b, file, 'one', 'one')).isError).toBe(true);
    expect(await b.fails('Edit', { file_path: file, old_string: '', new_string: 'x' })).toContain(
      'empty',
    );
    const missing = path.join(b.cwd, 'no.ts');
    const input = { file_path: missing, old_string: 'a', new_string: 'b' };
    expect(await b.fails('Edit', input)).toContain('does not exist');
  });
  test('success shows the changed lines', async () => {
    const b = box();
    const file = b.put('a.txt', Array.from({ length: 30 }, (_, i) => `l${i + 1}\n`).join(''));
    const output = await edit(b, file, 'l20\n', 'new\nnewer\n');
    expect(output.content).toContain('    20\tnew\n    21\tnewer\n    22\tl21');
    expect(output.content).not.toContain('l10');
  });
});

describe('making files', () => {
  test('by an empty old_string', async () => {
    const b = box();
    const file = path.join(b.cwd, 'new.txt');
    await b.ok('Edit', { file_path: file, old_string: '', new_string: 'hi\n' });
    expect(text(file)).toBe('hi\n');
    await b.ok('Edit', { file_path: file, old_string: 'hi', new_string: 'ho' });
    expect(text(file)).toBe('ho\n');
  });
  test('MultiEdit does all or nothing', async () => {
    const b = box();
    const file = b.put('m.txt', 'a\r\nb\r\n');
    await b.ok('Read', { file_path: file });
    const one = { old_string: 'a', new_string: 'A\nA' };
    const failed = await b.fails('MultiEdit', {
      file_path: file,
      edits: [one, { old_string: 'nowhere', new_string: 'x' }],
    });
    expect(failed).toContain('Edit 2');
    expect(text(file)).toBe('a\r\nb\r\n');
    await b.ok('MultiEdit', {
      file_path: file,
      edits: [one, { old_string: 'A\nb', new_string: 'c' }],
    });
    expect(text(file)).toBe('A\r\nc\r\n');
  });
  test('half of a surrogate pair is refused, not replaced', async () => {
    const b = box();
    const file = path.join(b.cwd, 's.txt');
    expect(await b.fails('Write', { file_path: file, content: 'a\ud83d' })).toContain('surrogate');
    expect(await readdir(b.cwd)).toEqual([]);
  });
});

describe('what a write keeps', () => {
  test('the mode and a symbolic link; no other file is left behind', async () => {
    const b = box();
    const file = b.put('real/run.sh', 'echo 1\n');
    chmodSync(file, 0o751);
    const alias = path.join(b.cwd, 'alias.sh');
    symlinkSync('real/run.sh', alias);
    await edit(b, alias, '1', '2');
    expect(text(file)).toBe('echo 2\n');
    expect(statSync(file).mode & 0o7777).toBe(0o751);
    expect(lstatSync(alias).isSymbolicLink()).toBe(true);
    expect(await readdir(path.dirname(file))).toEqual(['run.sh']);
  });
  test('hard links stay one file', async () => {
    const b = box();
    const file = b.put('a.txt', 'one and more\n');
    const other = path.join(b.cwd, 'b.txt');
    linkSync(file, other);
    await edit(b, file, 'one and more', 'two');
    expect(text(other)).toBe('two\n');
    expect(statSync(file).ino).toBe(statSync(other).ino);
  });
  test('a link that points nowhere leads to the new file', async () => {
    const b = box();
    const alias = path.join(b.cwd, 'alias');
    symlinkSync('later/file.txt', alias);
    await b.ok('Write', { file_path: alias, content: 'x' });
    expect(text(path.join(b.cwd, 'later/file.txt'))).toBe('x');
    expect(lstatSync(alias).isSymbolicLink()).toBe(true);
  });
  test('a link in a circle is an error', async () => {
    const b = box();
    symlinkSync('b', path.join(b.cwd, 'a'));
    symlinkSync('a', path.join(b.cwd, 'b'));
    expect(await b.fails('Write', { file_path: 'a', content: 'x' })).toContain('circle');
    expect(await b.fails('Read', { file_path: 'a' })).toContain('circle');
  });
  test('the same content again does not touch the file', async () => {
    const b = box();
    const file = b.put('a.txt', 'x\n');
    utimesSync(file, 5, 5);
    await b.ok('Read', { file_path: file });
    expect(await b.ok('Write', { file_path: file, content: 'x\n' })).toContain('Already');
    expect(statSync(file).mtimeMs).toBe(5_000);
  });
  test('an aborted call changes nothing', async () => {
    const b = box();
    const file = b.put('a.txt', 'x\n');
    await b.ok('Read', { file_path: file });
    const signal = AbortSignal.abort();
    expect(await b.fails('Write', { file_path: file, content: 'y' }, { signal })).toContain(
      'Stopped',
    );
    expect(text(file)).toBe('x\n');
  });
});
