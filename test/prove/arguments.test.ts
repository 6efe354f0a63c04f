/** `npm run prove` does not prove nothing. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

it.each([
  ['--share', 'x'],
  ['--share', '0'],
  ['--share', '1.5'],
  ['--share', ''],
  ['--seed', 'x'],
  ['--seed=-1'],
])('%s %s is a usage error', (...args) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, ['test/prove/run.mjs', ...args], {
    ...{ cwd: root, encoding: 'utf8', timeout: 15_000 },
  });
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^--(share|seed) must be a whole number of at least [01], not "/);
});
