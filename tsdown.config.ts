import { existsSync } from 'node:fs';
import { defineConfig } from 'tsdown';

/** The faces of the library: name in `exports` → its source. Later issues bring theirs. */
const faces = {
  index: 'src/index.ts',
  machine: 'machines/index.ts',
  services: 'services/index.ts',
  tools: 'services/tools/index.ts',
  testing: 'src/testing/index.ts',
};
const entry = Object.fromEntries(Object.entries(faces).filter(([, source]) => existsSync(source)));

/** Tests build only what they run. */
const isCliOnly = process.env.ESCAPEMENT_BUILD === 'cli';

const common = {
  format: 'esm',
  platform: 'node',
  target: 'node20',
  outDir: 'dist',
  outputOptions: { hashCharacters: 'hex' },
} as const;

export default defineConfig([
  {
    ...common,
    // What the CLI loads it carries along, tree-shaken: a chunk is read faster than a package of
    // hundreds of files is found. Native and optional parts stay outside.
    entry: { cli: 'src/cli/main.ts' },
    deps: { alwaysBundle: [/.*/], neverBundle: ['@vscode/ripgrep'], onlyBundle: false },
    outputOptions: { ...common.outputOptions, chunkFileNames: 'cli/[name]-[hash].mjs' },
    dts: false,
    clean: !isCliOnly,
    // Less to parse at every start; names stay, so that a stack trace can be read.
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
  },
  ...(isCliOnly
    ? []
    : [
        {
          ...common,
          entry,
          outputOptions: { ...common.outputOptions, chunkFileNames: 'chunks/[name]-[hash].mjs' },
          dts: true,
          clean: false,
        },
      ]),
]);
