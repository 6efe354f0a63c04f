import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, truncateSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { rgPath } from '@vscode/ripgrep';
import fc from 'fast-check';
import picomatch from 'picomatch';
import { describe, expect, test } from 'vitest';
import { RIPGREP_TYPES } from '../../../../services/tools/files/file-types.ts';
import { globFilterOf } from '../../../../services/tools/files/glob-filter.ts';
import { compileGlob } from '../../../../services/tools/files/glob-match.ts';
import { ignoreScopeOf } from '../../../../services/tools/files/ignored.ts';
import { listByWalking, listWithRipgrep } from '../../../../services/tools/files/list-files.ts';
import { ripgrepsIn } from '../../../../services/tools/files/ripgrep.ts';
import { searchOwn } from '../../../../services/tools/files/search-own.ts';
import { searchFolderOf } from '../../../../services/tools/files/search-place.ts';
import { searchWithRipgrep } from '../../../../services/tools/files/search-ripgrep.ts';
import type { SearchQuery } from '../../../../services/tools/files/search-types.ts';
import { type Box, box, isWellFormed, putFifo, textIn } from './kit.ts';

const names = (text: string): string[] => text.split('\n').sort();
const idle = () => new AbortController().signal;

/** `MORE_RUNS=20 npx vitest run …` looks for what a short run does not find. */
const more = Number(process.env.MORE_RUNS ?? 1);

/** The same search by both engines; `undefined` when one of them refuses the pattern. */
const both = async (b: Box, over: Partial<SearchQuery> & { glob?: string }) => {
  const place = await searchFolderOf(over.place?.root ?? b.cwd);
  const filter = globFilterOf(over.glob);
  if (!place.ok || !filter.ok) throw new Error('no place');
  const query: SearchQuery = {
    place: place.value,
    scope: await ignoreScopeOf(place.value.root),
    pattern: 'x',
    isCaseIgnored: false,
    isMultiline: false,
    wanted: 'lines',
    before: 0,
    after: 0,
    type: undefined,
    ...filter.value,
    ...over,
  };
  const results = await Promise.all([
    searchWithRipgrep(query, rgPath, { PATH: '' }, idle()),
    searchOwn(query, idle()),
  ]);
  return results.map((result) =>
    result?.ok ? [...result.value.files].sort((a, z) => (a.path < z.path ? -1 : 1)) : 'refused',
  );
};

describe('Glob', () => {
  test('absolute paths, newest first, without what .gitignore names', async () => {
    const b = box();
    b.put('.gitignore', 'dist/\n*.log\n!keep.log\n');
    const old = b.put('src/old.ts', '');
    const recent = b.put('src/deep/new.ts', '');
    utimesSync(old, 1_000, 1_000);
    utimesSync(recent, 2_000, 2_000);
    b.put('dist/out.ts', '');
    b.put('.git/hook.ts', '');
    b.put('a.log', '');
    b.put('keep.log', '');
    b.put('src/.escapement-0123456789abcdef.tmp', '');
    expect(await b.ok('Glob', { pattern: '**/*.ts' })).toBe(`${recent}\n${old}`);
    expect(await b.ok('Glob', { pattern: '*.log' })).toBe(path.join(b.cwd, 'keep.log'));
    expect(names(await b.ok('Glob', { pattern: 'src/**' }))).toEqual([recent, old].sort());
    expect(await b.ok('Glob', { pattern: `${b.cwd}/src/*.ts`, path: '/' })).toBe(old);
    expect(await b.ok('Glob', { pattern: '*.ts' })).toContain('**/*.ts');
  });
  test('shows the newest 100 of many', async () => {
    const b = box();
    for (let i = 0; i < 130; i += 1) utimesSync(b.put(`f${i}`, ''), 1_000 + i, 1_000 + i);
    const lines = (await b.ok('Glob', { pattern: '*' })).split('\n');
    expect(lines.length).toBe(101);
    expect(lines[0]).toBe(path.join(b.cwd, 'f129'));
    expect(lines[100]).toContain('100 of 130');
  });
  test('a name with a line end is one line', async () => {
    const b = box();
    b.put('a\nb.txt', '');
    expect(await b.ok('Glob', { pattern: '*' })).toBe(JSON.stringify(path.join(b.cwd, 'a\nb.txt')));
  });
  test('a pattern that would backtrack is answered at once', async () => {
    const b = box();
    b.put('a'.repeat(200), '');
    const pattern = `${'*a'.repeat(40)}*b`;
    expect(await b.ok('Glob', { pattern })).toContain('No files match');
  });
  test('a folder that is none, and links that leave', async () => {
    const b = box();
    const file = b.put('a.txt', '');
    symlinkSync('/', path.join(b.cwd, 'root'));
    symlinkSync('.', path.join(b.cwd, 'circle'));
    expect(await b.fails('Glob', { pattern: '*', path: file })).toContain('file, not a folder');
    expect(await b.fails('Glob', { pattern: '*', path: 'no' })).toContain('does not exist');
    expect(await b.ok('Glob', { pattern: '**/*.txt' })).toBe(file);
  });
});

describe('glob patterns', () => {
  test('match as those of picomatch', () => {
    const part = fc.constantFrom(
      'a',
      'b',
      'ab',
      '.a',
      '*',
      '?',
      '*a',
      'a*b',
      '[ab]',
      '{a,b}',
      '**',
      'x-y',
    );
    const name = fc.constantFrom('a', 'b', 'ab', 'aab', '.a', 'x-y', 'ba', '.');
    fc.assert(
      fc.property(
        // What `**` at the end matches, picomatch has no one opinion on.
        fc.array(part, { minLength: 1, maxLength: 4 }).filter((parts) => parts.at(-1) !== '**'),
        fc.array(name, { minLength: 1, maxLength: 4 }),
        (parts, path_) => {
          const pattern = parts.join('/');
          const candidate = path_.filter((each) => each !== '.').join('/') || 'a';
          const ours = compileGlob(pattern);
          const theirs = picomatch(pattern, { dot: true });
          expect([pattern, candidate, ours.ok && ours.value(candidate)]).toEqual([
            pattern,
            candidate,
            theirs(candidate),
          ]);
        },
      ),
      { numRuns: 1_000 * more },
    );
  });
});

test.each([
  ['src/**', 'src/a/b', true],
  ['src/**', 'src', false],
  ['**', 'a/b', true],
  ['[!a]b', 'cb', true],
  ['[!a]b', 'ab', false],
  ['[^a-c]', 'b', false],
  ['[]]', ']', true],
  ['?.txt', '😀.txt', true],
  ['\\*', '*', true],
  ['\\*', 'a', false],
  ['{a,b{c,d}}.ts', 'bd.ts', true],
  ['{a}', '{a}', true],
  ['./a//../b', 'a', false],
])('%s and %s: %s', (pattern, candidate, isMatch) => {
  const glob = compileGlob(pattern);
  expect(glob.ok && glob.value(candidate)).toBe(isMatch);
});

test('too many alternatives are refused', () => {
  expect(compileGlob('{a,b}'.repeat(20)).ok).toBe(false);
});

describe('Grep', () => {
  const project = (): Box => {
    const b = box();
    b.put('.gitignore', 'node_modules\n');
    b.put('src/a.ts', 'one\nconst needle = 1;\nthree\nfour\nneedle again\n');
    b.put('src/b.js', 'Needle\r\nend needle\r\n');
    b.put('node_modules/m/x.ts', 'needle\n');
    b.put('bin', 'needle\0\n');
    return b;
  };
  test('files, lines, counts', async () => {
    const b = project();
    expect(names(await b.ok('Grep', { pattern: 'need+le' }))).toEqual(['src/a.ts', 'src/b.js']);
    const content = { pattern: 'needle', output_mode: 'content' };
    expect(await b.ok('Grep', content)).toBe(
      'src/a.ts:2:const needle = 1;\nsrc/a.ts:5:needle again\nsrc/b.js:2:end needle',
    );
    expect(await b.ok('Grep', { ...content, '-n': false, glob: '*.js' })).toBe(
      'src/b.js:end needle',
    );
    expect(await b.ok('Grep', { ...content, '-B': 1, type: 'ts' })).toBe(
      '--\nsrc/a.ts-1-one\nsrc/a.ts:2:const needle = 1;\n--\nsrc/a.ts-4-four\nsrc/a.ts:5:needle again',
    );
    expect(await b.ok('Grep', { pattern: 'needle', '-i': true, output_mode: 'count' })).toBe(
      'src/a.ts:2\nsrc/b.js:2\n4 matching lines in 2 files.',
    );
    expect(
      await b.ok('Grep', { pattern: 'needle$', output_mode: 'content', path: 'src/b.js' }),
    ).toBe('src/b.js:2:end needle');
    expect(await b.ok('Grep', { ...content, path: 'node_modules' })).toContain('x.ts:1:needle');
  });
  test('several lines', async () => {
    const b = project();
    const input = { pattern: 'three.*again', output_mode: 'content', multiline: true };
    expect(await b.ok('Grep', input)).toBe(
      'src/a.ts:3:three\nsrc/a.ts:4:four\nsrc/a.ts:5:needle again',
    );
    expect(await b.fails('Grep', { pattern: 'a\\nb' })).toContain('multiline');
  });
  test('no match is no error; a broken pattern, an odd type and a binary file are', async () => {
    const b = project();
    expect(await b.ok('Grep', { pattern: 'nowhere' })).toBe('No matches found.');
    expect(await b.fails('Grep', { pattern: 'interface{}' })).toContain('decimal');
    expect(await b.fails('Grep', { pattern: 'x(' })).toContain('regex parse error');
    expect(await b.fails('Grep', { pattern: 'x', type: 'klingon' })).toContain('klingon');
    expect(await b.fails('Grep', { pattern: 'x', path: 'bin' })).toContain('Binary');
    expect(await b.fails('Grep', { pattern: 'x', path: 'nowhere' })).toContain('does not exist');
    expect(await b.ok('Grep', { pattern: '-n' })).toBe('No matches found.');
  });
  test('head_limit and offset', async () => {
    const b = box();
    b.put('a.txt', Array.from({ length: 1_000 }, (_, i) => `hit ${i + 1}\n`).join(''));
    const content = { pattern: 'hit', output_mode: 'content' };
    const first = (await b.ok('Grep', content)).split('\n');
    expect(first.length).toBe(251);
    expect(first[250]).toBe(
      '[Entries 1–250 of 1,000. Narrow the search, or go on with offset 250.]',
    );
    expect(await b.ok('Grep', { ...content, head_limit: 1, offset: 999 })).toBe(
      'a.txt:1000:hit 1000\n[Entries 1,000–1,000 of 1,000.]',
    );
  });
  test('a name with line ends can not pass for a result', async () => {
    const b = box();
    b.put('a\nz.txt:1:fake', 'needle\n');
    const text = await b.ok('Grep', { pattern: 'needle', output_mode: 'content' });
    expect(text).toBe('"a\\nz.txt:1:fake":1:needle');
  });
  test('a program that only is called rg is passed over', async () => {
    const b = box();
    const fake = b.put('fake/rg', 'echo ripgrep 99; exit 0');
    const old = b.put('old/rg', '#!/bin/sh\necho ripgrep 12.1.1');
    const real = path.join(b.cwd, 'real');
    symlinkSync(path.dirname(rgPath), real);
    for (const file of [fake, old]) chmodSync(file, 0o755);
    const folders = [path.dirname(fake), path.dirname(old), 'relative', real];
    expect(await ripgrepsIn({ PATH: folders.join(':') })).toEqual([rgPath, path.join(real, 'rg')]);
    expect(await ripgrepsIn({ PATH: path.dirname(fake) })).toEqual([rgPath]);
    expect(await ripgrepsIn({})).toEqual([rgPath]);
  });
});

describe('FILE-15 bounds of a search', () => {
  test('1,000,000 matches: bounded, and said to be partial', async () => {
    const b = box();
    b.put('many.txt', 'needle here\n'.repeat(1_000_000));
    const text = await b.ok('Grep', { pattern: 'needle', output_mode: 'content', head_limit: 0 });
    expect(text.length).toBeLessThan(45_000);
    expect(text).toContain('[Not all');
    const output = await b.call('Grep', { pattern: 'needle', output_mode: 'count' });
    expect(textIn(output)).toContain('1,000,000 matching lines');
  });
  test('a huge sparse file and a huge line', async () => {
    const b = box();
    truncateSync(b.put('sparse', ''), 2 * 1024 ** 3);
    for (let less = 0; less < 4; less += 1) {
      b.put('line.txt', `needle${'x'.repeat(494 - less)}${'🎉'.repeat(2_000_000)}`);
      const text = await b.ok('Grep', { pattern: 'needle', output_mode: 'content' });
      expect(text.startsWith(`line.txt:1:needle${'x'.repeat(494 - less)}`)).toBe(true);
      expect(text).toMatch(/… \[long line, cut\]$/);
      expect(text.length).toBeLessThan(600);
      expect(isWellFormed(text)).toBe(true);
    }
  });
  test('a pattern that backtracks is ended, with what was found', async () => {
    const b = box();
    b.put('a.txt', 'aaaa!\n');
    b.put('z/b.txt', `${'a'.repeat(60)}\n`);
    const place = await searchFolderOf(b.cwd);
    const filter = globFilterOf(undefined);
    if (!place.ok || !filter.ok) throw new Error('no place');
    const query: SearchQuery = {
      ...{ place: place.value, scope: await ignoreScopeOf(b.cwd), pattern: '^(a+)+!' },
      ...{ isCaseIgnored: false, isMultiline: false, wanted: 'lines', before: 0, after: 0 },
      ...{ type: undefined, ...filter.value },
    };
    const result = await searchOwn(query, AbortSignal.timeout(3_000));
    expect(result).toMatchObject({
      ok: true,
      value: {
        files: [{ path: 'a.txt' }],
        shortfall: 'time',
        note: expect.stringContaining('z/b.txt'),
      },
    });
    // ripgrep's engine does not backtrack.
    expect(await b.ok('Grep', { pattern: '^(a+)+!' })).toBe('a.txt');
  });
  test('a stopped search leaves no process behind', async () => {
    const b = box();
    b.put('big.txt', 'needle here\n'.repeat(3_000_000));
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 20);
    const input = { pattern: '(needle|here)+x?', output_mode: 'count' };
    const output = await b.call('Grep', input, { signal: stop.signal });
    if (output.isError) expect(output.content).toBe('Stopped');
    const alive = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
    expect(alive).not.toContain('--regexp=(needle|here)+x?');
  });
  test('a walk that is cut short gives what it has', async () => {
    const b = box();
    for (const name of ['a', 'b/c', 'b/d/e']) b.put(name, '');
    const scope = await ignoreScopeOf(b.cwd);
    const request = { root: b.cwd, scope, matches: () => true, pathsMax: 10, signal: idle() };
    const late = { ...request, signal: AbortSignal.abort() };
    expect(await listByWalking(late)).toEqual({ paths: [], shortfall: 'time' });
    expect(await listWithRipgrep(late, rgPath, {})).toMatchObject({ shortfall: 'time' });
    const few = { ...request, pathsMax: 2 };
    expect(await listByWalking(few)).toEqual({ paths: ['a', 'b/c'], shortfall: 'amount' });
    expect(await listWithRipgrep(few, rgPath, {})).toMatchObject({ shortfall: 'amount' });
  });
  test('FIFOs and devices in the tree are passed over', async () => {
    const b = box();
    putFifo(path.join(b.cwd, 'fifo'));
    b.put('a.txt', 'needle');
    expect(await both(b, { pattern: 'needle' })).toEqual([
      [expect.objectContaining({ path: 'a.txt' })],
      [expect.objectContaining({ path: 'a.txt' })],
    ]);
    expect(await b.fails('Grep', { pattern: 'x', path: 'fifo' })).toContain('FIFO');
  });
});

describe('both engines find the same', () => {
  test('the types are those of ripgrep', () => {
    const list = execFileSync(rgPath, ['--type-list'], { encoding: 'utf8' });
    const theirs = new Map(list.split('\n').map((line) => line.split(': ') as [string, string]));
    for (const [type, globs] of Object.entries(RIPGREP_TYPES)) {
      expect([type, theirs.get(type)]).toEqual([type, globs.split(' ').join(', ')]);
    }
  });

  const folder = fc.constantFrom('', 'a/', 'a/b/', 'c/', 'node_modules/', '.hidden/', 'a/build/');
  const file = fc.constantFrom('x.ts', 'y.js', 'z.log', '.env', 'Makefile', 'odd\nname', 'é.md');
  const line = fc.constantFrom(
    'foo',
    'Foo bar',
    'foo_bar 12',
    '  foo(bar);',
    'äöü foo',
    'x\ty',
    '',
    'foo\r',
    'end}',
    'a-b',
    'ﬀ 🎉 ٣',
  );
  const content = fc.oneof(
    { weight: 9, arbitrary: fc.array(line, { maxLength: 8 }).map((each) => each.join('\n')) },
    { weight: 1, arbitrary: fc.constant('foo\0foo') },
  );
  const rules = fc.array(
    fc.constantFrom(
      '*.log',
      'build/',
      '/a',
      '!z.log',
      'node_modules',
      'a/b',
      '# no',
      '*.j?',
      '.env',
    ),
    { maxLength: 3 },
  );
  const tree = fc.record({
    isRepository: fc.boolean(),
    top: rules,
    inner: rules,
    files: fc.dictionary(
      fc.tuple(folder, file).map(([a, z]) => a + z),
      content,
      { maxKeys: 8 },
    ),
  });
  type Tree = typeof tree extends fc.Arbitrary<infer T> ? T : never;
  const plant = ({ isRepository, top, inner, files }: Tree): Box => {
    const b = box();
    if (isRepository) mkdirSync(path.join(b.cwd, '.git'));
    b.put('.gitignore', top.join('\n'));
    b.put('a/.gitignore', inner.join('\n'));
    for (const [name, text] of Object.entries(files)) b.put(name, text);
    return b;
  };

  test('lists of files', { timeout: 60_000 * more }, async () => {
    await fc.assert(
      fc.asyncProperty(tree, fc.constantFrom('', 'a'), async (planted, below) => {
        const b = plant(planted);
        const root = path.join(b.cwd, below);
        const scope = await ignoreScopeOf(root);
        const request = { root, scope, matches: () => true, pathsMax: 1_000, signal: idle() };
        const walked = await listByWalking(request);
        const listed = await listWithRipgrep(request, rgPath, {});
        expect([...walked.paths].sort()).toEqual([...(listed?.paths ?? [])].sort());
      }),
      { numRuns: 15 * more },
    );
  });

  const pattern = fc.constantFrom(
    ...[
      'foo',
      '^foo',
      'foo$',
      '\\bfoo\\b',
      'fo{2}',
      '[a-f]oo',
      '[^a-z]foo',
      '\\w+_\\w+',
      '\\d',
      '\\s',
    ],
    ...[
      '(?i)FOO',
      'f.o',
      'foo\\(',
      'bar\\)?;',
      '^$',
      '^',
      'a\\-b',
      '\\p{L}+ foo',
      '\\pN',
      '[[:upper:]]',
    ],
    ...[
      'foo|bar',
      '(foo) (bar)',
      '(?P<x>fo+)',
      '\\x66oo',
      '\\u{1F389}',
      '.',
      '\\S$',
      '[\\w--o]+$',
      'end}',
    ],
    ...[
      '(?=foo)',
      '(a)\\1',
      'foo(',
      '[z-a]',
      'a{,2}b',
      '[a&&b]',
      '\\q',
      'interface{}',
      'ö',
      '\\W\\w',
    ],
  );
  test('lines, counts and files', { timeout: 60_000 * more }, async () => {
    const options = fc.record({
      pattern,
      isCaseIgnored: fc.boolean(),
      wanted: fc.constantFrom('lines' as const, 'counts' as const, 'files' as const),
      before: fc.constantFrom(0, 1),
      after: fc.constantFrom(0, 2),
      type: fc.constantFrom(undefined, undefined, 'ts', 'js'),
      glob: fc.constantFrom(
        undefined,
        '*.ts',
        '!*.ts',
        'a/**',
        'a',
        '*.{ts,log}',
        '*.ts,!a/b',
        'M*',
      ),
    });
    await fc.assert(
      fc.asyncProperty(tree, options, async (planted, { glob, ...query }) => {
        const b = plant(planted);
        const [theirs, ours] = await both(b, { ...query, ...(glob === undefined ? {} : { glob }) });
        expect(ours).toEqual(theirs);
      }),
      { numRuns: 25 * more },
    );
  });
  test('matches of several lines', { timeout: 60_000 * more }, async () => {
    const spanning = fc.constantFrom(
      'foo.*bar',
      'foo\\n',
      'o\\r?\\nF',
      '\\s+',
      '^foo$',
      'foo$',
      '\\n\\n',
      'r\\s*;',
      '[^a]b',
    );
    await fc.assert(
      fc.asyncProperty(tree, spanning, async (planted, each) => {
        const b = plant(planted);
        const [theirs, ours] = await both(b, { pattern: each, isMultiline: true });
        expect(ours).toEqual(theirs);
      }),
      { numRuns: 15 * more },
    );
  });
});
