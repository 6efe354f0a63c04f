import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { expect, onTestFinished, test } from 'vitest';
import { box } from './kit.ts';
import { pdf } from './media.ts';

const root = fileURLToPath(new URL('../../../..', import.meta.url));

test('the threads run from a minified bundle, too', async () => {
  // Below the packages, where the bundle finds those that are not in it.
  const folder = mkdtempSync(path.join(root, 'node_modules', '.escapement-bundle-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const b = box();
  b.put('w/a.txt', 'one\nneedle\n');
  const file = b.put('w/b.pdf', pdf(3));
  const entry = b.put(
    'entry.ts',
    ['pdf.ts', 'search-own.ts']
      .map((name) => path.join(root, 'services/tools/files', name))
      .map((source) => `export * from ${JSON.stringify(source)};`)
      .join('\n'),
  );
  await build({
    logLevel: 'silent',
    configFile: false,
    root,
    build: {
      ssr: entry,
      minify: true,
      outDir: folder,
      rollupOptions: { output: { entryFileNames: 'bundle.mjs' } },
    },
  });
  const script = `
    import { readFileSync } from 'node:fs';
    import { readPdfPages, searchOwn } from ${JSON.stringify(path.join(folder, 'bundle.mjs'))};
    const { signal } = new AbortController();
    const query = {
      place: { root: ${JSON.stringify(path.join(b.cwd, 'w'))}, file: undefined },
      scope: { isInRepository: false, chain: [] },
      pattern: 'n.*le', isCaseIgnored: false, isMultiline: false, wanted: 'lines',
      before: 1, after: 0, isWanted: () => true, extensions: undefined, type: undefined,
    };
    const found = await searchOwn(query, signal);
    const range = { first: 2, last: 2 };
    const pages = await readPdfPages(readFileSync(${JSON.stringify(file)}), range, signal);
    console.log(JSON.stringify([found.value.files, pages.value]));`;
  const args = ['--input-type=module', '--eval', script];
  expect(JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))).toEqual([
    [
      {
        path: 'a.txt',
        count: 1,
        lines: [
          { lineNumber: 1, isMatch: false, text: 'one' },
          { lineNumber: 2, isMatch: true, text: 'needle' },
        ],
      },
    ],
    { count: 3, texts: ['Page number 2'] },
  ]);
});
