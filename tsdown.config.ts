import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { defineConfig } from 'tsdown';
import * as features from './services/features.ts';

/** The faces of the library: name in `exports` → its source. */
const faces = {
  index: 'src/index.ts',
  machine: 'machines/index.ts',
  services: 'services/index.ts',
  tools: 'services/tools/index.ts',
  testing: 'src/testing/index.ts',
  inspect: 'src/inspect/index.ts',
};
const entry = Object.fromEntries(Object.entries(faces).filter(([, source]) => existsSync(source)));

/** Tests build only what they run. */
const isCliOnly = process.env.ESCAPEMENT_BUILD === 'cli';
const startedAt = Date.now();

/**
 * Chunks of earlier builds go after a build, not before it: a process that runs meanwhile may still
 * load one, and a build that fails leaves what worked.
 */
function prune(folder: string): void {
  if (isCliOnly || !existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    if (statSync(file).mtimeMs < startedAt) rmSync(file, { recursive: true });
  }
}

/** Mechanisms that this build leaves out. */
const FEATURES = Object.keys(features);
const without = (process.env.ESCAPEMENT_WITHOUT ?? '').split(',').filter((name) => name !== '');
for (const name of without) {
  if (FEATURES.includes(name)) continue;
  throw new Error(`ESCAPEMENT_WITHOUT: there is no ${name}, only ${FEATURES.join(', ')}`);
}
const define = Object.fromEntries(without.map((name) => [`ESCAPEMENT_${name}`, 'false']));

const common = {
  define,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  outDir: 'dist',
  clean: false,
} as const;

export default defineConfig([
  {
    ...common,
    // What the CLI loads it carries along, tree-shaken: a chunk is read faster than a package of
    // hundreds of files is found. Native and optional parts stay outside.
    entry: { cli: 'src/cli/main.ts' },
    deps: { alwaysBundle: [/.*/], neverBundle: ['@vscode/ripgrep'], onlyBundle: false },
    outputOptions: { hashCharacters: 'hex', chunkFileNames: 'cli/[name]-[hash].mjs' },
    // Packages of the old module kind ask for their file name (write-file-atomic does, for its
    // temporary names).
    shims: true,
    dts: false,
    // Less to parse at every start; names stay, so that a stack trace can be read.
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
    hooks: { 'build:done': () => prune('dist/cli') },
  },
  ...(isCliOnly
    ? []
    : [
        {
          ...common,
          entry,
          outputOptions: { hashCharacters: 'hex', chunkFileNames: 'chunks/[name]-[hash].mjs' },
          dts: true,
          hooks: { 'build:done': () => prune('dist/chunks') },
        } as const,
      ]),
]);
