import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Apart from the other tests: these need Chromium, and one at a time is fast enough. */
export default defineConfig({
  test: {
    name: 'browser',
    root: fileURLToPath(new URL('../../', import.meta.url)),
    include: ['test/browser/**/*.spec.ts'],
    globalSetup: ['test/browser/say-what-is-missing.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    fileParallelism: false,
    expect: { poll: { timeout: 10_000 } },
    env: { ESCAPEMENT_RETRY_BASE_MS: '5' },
  },
});
