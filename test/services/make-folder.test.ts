/** Folders where a file system does not answer as others do. */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder } from '../../services/make-folder.ts';

test('all that leads to it is made, once', () => {
  const root = mkdtempSync(join(tmpdir(), 'escapement-folder-'));
  const deep = join(root, 'a', 'b', 'c');
  makeFolder(deep, 0o700);
  makeFolder(deep, 0o700);
  expect(statSync(deep).mode & 0o777).toBe(0o700);
  expect(existsSync(deep)).toBe(true);
  rmSync(root, { recursive: true });
});

test.runIf(existsSync('/proc/self'))('a place that takes no folders says so at once', () => {
  expect(() => makeFolder('/proc/escapement/projects')).toThrow(/ENOENT|EACCES|EPERM|EROFS/);
});
