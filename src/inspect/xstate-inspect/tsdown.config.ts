import { defineConfig } from 'tsdown';

/** Its own build: what it shares with the inspector is bundled, what it depends on is not. */
export default defineConfig({
  entry: { index: 'src/index.ts' },
  format: 'esm',
  platform: 'node',
  target: 'node20',
  outDir: 'dist',
  dts: true,
  clean: true,
});
