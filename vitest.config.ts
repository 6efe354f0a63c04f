import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * All tests share processes: each has a folder and a server of its own, and loading the engine anew
 * for every file would take a minute. Stories, which mostly wait, also run side by side.
 */
const stories = [
  'test/reasons/**/*.test.ts',
  'test/src/engine/**/*.test.ts',
  'test/paths/**/*.test.ts',
];

/** Tests of embedding import the package by its public name, as hosts do. */
const alias = {
  'escapement/inspect': here('src/inspect/index.ts'),
  'escapement/testing': here('src/testing/index.ts'),
  'escapement/machine': here('machines/index.ts'),
  escapement: here('src/index.ts'),
};

export default defineConfig({
  resolve: { alias },
  test: {
    globalSetup: ['test/tools/build.ts', 'test/tools/coverage-merge.ts'],
    setupFiles: ['test/tools/coverage-setup.ts'],
    // A busy machine is slow, not wrong; only what hangs comes near these.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Most tests wait for a process or a socket: one more than two cores keeps both at work.
    maxWorkers: 4,
    expect: { poll: { timeout: 10_000 } },
    env: { ESCAPEMENT_RETRY_BASE_MS: '5' },
    projects: [
      {
        extends: true,
        test: { name: 'stories', include: stories, isolate: false, sequence: { concurrent: true } },
      },
      {
        extends: true,
        test: { name: 'rest', isolate: false, include: ['test/**/*.test.ts'], exclude: stories },
      },
    ],
  },
});
