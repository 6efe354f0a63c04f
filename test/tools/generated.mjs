/**
 * Files, or parts of files, that are made from the code. Without a flag they are written; with
 * `--check` nothing is written, and a stale one is an error.
 *
 * Runs on every Node that we support: vite loads the TypeScript.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** @param {string} path from the root */
const load = async (path) => {
  const { module } = await runnerImport(`${root}${path}`, { root, logLevel: 'error' });
  return module;
};

/**
 * `make` is given the file as it is ('' when there is none) and returns it as it should be.
 * @type {readonly { file: string, make: (text: string) => Promise<string> }[]}
 */
const generated = [
  {
    file: 'machines/README.md',
    make: async (text) => (await load('test/tools/machine-readme.ts')).machineReadme(text),
  },
  {
    file: 'services/tools/schemas.generated.ts',
    make: async () => (await load('test/tools/tool-schemas.ts')).generateToolSchemas().text,
  },
  {
    file: 'docs/prompt.md',
    make: async () => (await load('test/tools/prompt-doc.ts')).promptDoc(),
  },
  {
    file: 'docs/options.md',
    make: async () => (await load('test/tools/options-doc.ts')).optionsDoc(),
  },
  {
    file: 'docs/seed-map.md',
    make: async () => (await load('test/tools/seed-map.ts')).seedMap(),
  },
  {
    file: 'docs/cases.md',
    make: async () => (await load('test/tools/cases-doc.ts')).casesDoc(),
  },
  {
    file: 'src/inspect/chart/query-drawing.generated.ts',
    make: async () => (await load('test/tools/query-drawing.ts')).queryDrawing(),
  },
  {
    file: 'src/inspect/page-bundle.generated.ts',
    make: async () => (await load('test/tools/page-bundle.ts')).pageBundle(),
  },
];

const check = process.argv.includes('--check');
const stale = [];
for (const { file, make } of generated) {
  const text = await readFile(`${root}${file}`, 'utf8').catch(() => '');
  const fresh = await make(text);
  if (fresh === text) continue;
  stale.push(file);
  if (!check) await writeFile(`${root}${file}`, fresh);
}
if (stale.length > 0) console.log(`${check ? 'stale' : 'written'}: ${stale.join(', ')}`);
if (check && stale.length > 0) {
  console.log('run: npm run generate');
  process.exitCode = 1;
}
