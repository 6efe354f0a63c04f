/** `npm run fuzz` does not walk nothing. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

it.each([
  ['--runs', '0'],
  ['--runs', 'x'],
  ['--runs', ''],
  ['--seed', '1.5'],
  ['--beside', '0'],
])('%s "%s" is a usage error', (...args) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, ['test/fuzz/run.mjs', ...args], {
    ...{ cwd: root, encoding: 'utf8', timeout: 15_000 },
  });
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^--\w+ must be a whole number of at least [01], not "/);
});
