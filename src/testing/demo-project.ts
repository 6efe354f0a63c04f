/** The scratch project of the demo: small, and with a bug that people really write. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Where the bug is: the default sort of JavaScript compares numbers as text. */
export const DEMO_BUG = '[...numbers].sort()';
export const DEMO_FIX = '[...numbers].sort((a, b) => a - b)';

/** Runs the tests of the scratch project. */
export const DEMO_TEST_COMMAND = 'node --test';

/** Files of the scratch project, by path inside of it. */
const DEMO_FILES: Readonly<Record<string, string>> = {
  'package.json': `${JSON.stringify(
    {
      name: 'median-demo',
      version: '1.0.0',
      private: true,
      type: 'module',
      scripts: { test: DEMO_TEST_COMMAND },
    },
    null,
    2,
  )}\n`,
  'src/median.js': `/** The middle value of a list of numbers, or the mean of the middle two. */
export function median(numbers) {
  if (numbers.length === 0) return undefined;
  const sorted = ${DEMO_BUG};
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length % 2 === 1) return sorted[middle];
  return (sorted[middle - 1] + sorted[middle]) / 2;
}
`,
  'test/median.test.js': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { median } from '../src/median.js';

test('median of small numbers', () => {
  assert.equal(median([3, 1, 2]), 2);
});

test('median of response times', () => {
  assert.equal(median([80, 9, 10]), 10);
});

test('median of an even count', () => {
  assert.equal(median([7, 12, 110, 45]), 28.5);
});
`,
};

/**
 * Writes the scratch project into a folder, which is made if need be.
 * *Contract:* the folder is the demo's own; files of these names are overwritten.
 */
export async function writeDemoProject(folder: string): Promise<void> {
  for (const [path, text] of Object.entries(DEMO_FILES)) {
    const file = join(folder, path);
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, text);
  }
}
