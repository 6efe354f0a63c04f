import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/tools/build.ts'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    pool: 'forks',
    env: { ESCAPEMENT_RETRY_BASE_MS: '5' },
  },
});
