/** Instructions: which files count, what they import, and who may instruct. */
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { importsIn, withImports } from '../../../services/memory/imports.ts';
import { loadMemory } from '../../../services/memory/memory-files.ts';

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'memory-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));
const write = (files: Readonly<Record<string, string>>) => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
};
const load = (cwd: string, sources: readonly ('user' | 'project' | 'local')[]) =>
  loadMemory({ cwd: join(root, cwd), home: join(root, 'home'), userHome: root, sources });

describe('which files count', () => {
  it('user, then from the root of the repository down to the working folder', async () => {
    write({
      'home/AGENTS.md': 'of the user',
      'outside.md': 'x',
      'CLAUDE.md': 'above the repository',
      'repo/.git/HEAD': '',
      'repo/CLAUDE.md': 'of the repository',
      'repo/pkg/AGENTS.md': 'of the package',
      'repo/pkg/sub/CLAUDE.md': 'of a part',
      'repo/pkg/CLAUDE.local.md': 'of this machine',
    });
    const words = async (sources: readonly ('user' | 'project' | 'local')[]) =>
      (await load('repo/pkg', sources)).texts.map((text) => text.split('\n').at(-1));
    expect(await words(['user', 'project', 'local'])).toEqual([
      'of the user',
      'of the repository',
      'of the package',
      'of this machine',
    ]);
    expect(await words(['user'])).toEqual(['of the user']);
    expect(await words(['project'])).toEqual(['of the repository', 'of the package']);
    expect(await words([])).toEqual([]);
  });

  it('a link between the two names is read once, and one out of the project not at all', async () => {
    write({ 'repo/.git/HEAD': '', 'repo/AGENTS.md': 'once', 'secret.md': 'secret' });
    symlinkSync('AGENTS.md', join(root, 'repo/CLAUDE.md'));
    mkdirSync(join(root, 'repo/.claude'));
    symlinkSync('../../secret.md', join(root, 'repo/.claude/CLAUDE.md'));
    const { texts } = await load('repo', ['project']);
    expect(texts).toEqual([`From ${join(root, 'repo/AGENTS.md')}:\nonce`]);
  });
});

describe('imports', () => {
  it.each([
    ['see @docs/a.md and @./b.md.', ['docs/a.md', './b.md']],
    ['(@c.md) @~/d.md @../e.md', ['c.md', '~/d.md', '../e.md']],
    ['mail me@example.org', []],
    ['`@code.md` and\n```\n@fenced.md\n```\nthen @real.md', ['real.md']],
    ['@twice.md @twice.md', ['twice.md']],
  ])('%j', (text, paths) => {
    expect(importsIn(text)).toEqual(paths);
  });

  it('in order, each once, circles included, five deep', async () => {
    write({
      'a.md': 'A @b.md @missing.md',
      'b.md': 'B @a.md @c.md',
      ...Object.fromEntries(
        ['c', 'd', 'e', 'f', 'g'].map((name, at, all) => [
          `${name}.md`,
          `${name} @${all[at + 1]}.md`,
        ]),
      ),
    });
    const text = await withImports(
      join(root, 'a.md'),
      { within: root, userHome: root },
      new Set<string>(),
    );
    const heads = [...(text ?? '').matchAll(/^From .*\/(\w)\.md:/gm)].map(([, name]) => name);
    expect(heads).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  it('of a project do not leave it; those of the user may name any file', async () => {
    write({ 'repo/CLAUDE.md': '@../key.pem @~/key.pem', 'key.pem': 'private' });
    const path = join(root, 'repo/CLAUDE.md');
    const known = () => new Set<string>();
    const of = (within?: string) =>
      withImports(path, { userHome: root, ...(within ? { within } : {}) }, known());
    expect(await of(join(root, 'repo'))).not.toContain('private');
    expect(await of()).toContain('private');
  });

  it('thousands of mentions, in circles, are no thousands of looks', async () => {
    const names = Array.from({ length: 300 }, (_, n) => `part-${n}.md`);
    const all = names.map((name) => `@${name}`).join('\n');
    write(Object.fromEntries(['a.md', ...names].map((name) => [name, all])));
    const text = await withImports(join(root, 'a.md'), { userHome: root }, new Set());
    const read = text?.match(/^From /gm)?.length ?? 0;
    expect(read).toBeGreaterThan(1);
    expect(read).toBeLessThanOrEqual(201);
  });

  it('a pipe, a binary or a huge file is no instruction', async () => {
    write({ 'bin.md': 'a\0b', 'huge.md': 'x'.repeat(300_000), 'sparse.md': '' });
    truncateSync(join(root, 'sparse.md'), 100 << 20);
    execFileSync('/bin/sh', ['-c', 'mkfifo "$1"', 'sh', join(root, 'pipe.md')]);
    for (const name of ['bin.md', 'huge.md', 'sparse.md', 'pipe.md', 'nothing.md']) {
      expect(await withImports(join(root, name), { userHome: root }, new Set())).toBeUndefined();
    }
  });
});
