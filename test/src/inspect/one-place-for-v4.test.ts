/**
 * The name @xstate/inspect stands in one package.json only. Anywhere else npm would give it our
 * XState 5 as its peer, and it would fail when it is used.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const root = new URL('../../../', import.meta.url);
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*package.json'], {
  cwd: root,
  encoding: 'utf8',
}).trim();
const packages = files.split('\n').map((file) => ({
  file,
  text: readFileSync(new URL(file, root), 'utf8'),
}));

it('only the bridge names @xstate/inspect and XState 4', () => {
  const named = packages.filter(({ text }) => text.includes('"@xstate/inspect"'));
  expect(named.map(({ file }) => file)).toEqual(['src/inspect/xstate-inspect/package.json']);
  const versions = packages.map(({ text }) => JSON.parse(text).dependencies?.xstate);
  expect(versions).toEqual(['5.33.3', '4.38.3']);
});
