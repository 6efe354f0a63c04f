/** Links that a repository brings along: the system goes through them before it goes up, or globs. */
import { spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ground } from '../services/permissions/ground.ts';

/** A secret beside the folder of the session, and three links to it in there. */
async function place() {
  const made = await ground({ '/w/a': 'a\n', '/w/sub/b': 'b\n', '/w/sub/deep/c': 'c\n' });
  writeFileSync(join(made.home, 'secret'), 'SECRET\n');
  symlinkSync(made.home, join(made.w, 'out'));
  symlinkSync(join(made.home, 'secret'), join(made.w, 'keys'));
  symlinkSync(join(made.home, 'secret'), join(made.w, 'sub/more'));
  symlinkSync('sub/deep', join(made.w, 'inner'));
  return made;
}

const ways = [
  ...['cat out/../home/secret', 'cat < out/../home/secret', 'cat ./out/.././home/secret'],
  ...['cd -P out/.. && cat home/secret', 'cat sub/../out/../home/secret'],
  ...[
    'cat k*',
    'cat ?eys',
    'cat [k]eys',
    'cat sub/m*',
    'cat */more',
    'cat s*/mor?',
    'cat o*/secret',
  ],
  ...['head -1 *', 'cat inner/../../../home/s*', 'cat o*/../home/secret', 'grep -h S k* a'],
  ...['cat [[:alpha:]]eys', 'cat [!a]eys', 'cat "k"*', 'rg S k*'],
];

describe('a link in the folder', () => {
  it.each(ways)('does not let out what was not named: %s', async (command) => {
    const { w, bash } = await place();
    // The danger is real: a shell shows it (where ripgrep is not there, another row does).
    const isSearch = command.startsWith('rg');
    const shell = spawnSync('bash', ['-c', command], { cwd: w, encoding: 'utf8' });
    if (!isSearch) expect(shell.stdout).toContain('SECRET');
    expect(await bash(command)).toBe('ask');
    expect(await bash(command, {}, 'dontAsk')).toBe('deny');
  });

  it.each(ways.filter((one) => !one.startsWith('cd')))(
    'is seen by a deny rule: %s',
    async (way) => {
      const { home, bash } = await place();
      const deny = [`Read(/${home}/**)`];
      expect(await bash(way, { deny }, 'bypassPermissions')).not.toBe('allow');
    },
  );

  it.each([
    ...['cat inner/../b', 'cat sub/*', 'cat sub/[b]', 'ls sub/d*', 'cat a*', 'cat sub/../a'],
    'cd inner && ls',
  ])('that leads nowhere else changes nothing: %s', async (command) => {
    const { w, bash } = await ground({ '/w/a': 'a\n', '/w/sub/b': 'b\n', '/w/sub/deep/c': 'c\n' });
    symlinkSync('sub/deep', join(w, 'inner'));
    expect(await bash(command)).toBe('allow');
  });
});

describe('a word that is more than it seems', () => {
  it('a file that is named like an option is one', async () => {
    const { bash } = await ground({ '/w/--files0-from=a': '', '/w/a': 'a\n' });
    expect(await bash('wc *')).toBe('ask');
    expect(await bash('wc ./*')).toBe('allow');
  });

  it('a home with a space in it is two words', async () => {
    const { w, bash } = await ground({ '/w/a': 'a\n' }, { home: '/home/two words' });
    expect(w).not.toContain(' ');
    expect(await bash('cat $HOME/a')).toBe('ask');
  });
});
