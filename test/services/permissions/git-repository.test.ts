/** A repository of a stranger must not run anything because the model looks at it. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { suspiciousKey } from '../../../services/permissions/git/config.ts';
import { ground } from './ground.ts';

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
    ...{ cwd, stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' },
  });

async function repository() {
  const { w, bash } = await ground({ '/w/a.txt': 'a\n', '/w/sub/b.txt': 'b\n' });
  git(w, 'init', '-q', '-b', 'main');
  git(w, 'add', '.');
  git(w, 'commit', '-qm', 'one');
  const mark = join(w, '..', 'ran');
  const program = join(w, '..', 'program');
  writeFileSync(program, `#!/bin/sh\ntouch ${mark}\ncat\n`);
  chmodSync(program, 0o755);
  return { w, bash, mark, program };
}

describe('git that only looks', () => {
  it('runs unasked in an ordinary repository, in a folder of it, and in a worktree', async () => {
    const { w, bash } = await repository();
    git(w, 'remote', 'add', 'origin', 'https://example.org/x.git');
    git(w, 'worktree', 'add', '-q', join(w, 'tree'), '-b', 'other');
    for (const command of [
      'git status',
      'git log -1',
      'cd sub && git diff',
      'cd tree && git status',
    ]) {
      expect([command, await bash(command)]).toEqual([command, 'allow']);
    }
  });

  it.each([
    ['core.fsmonitor', 'git status', (program: string) => ['config', 'core.fsmonitor', program]],
    ['diff.external', 'git diff', (program: string) => ['config', 'diff.external', program]],
    ['a filter', 'git status', (program: string) => ['config', 'filter.x.clean', program]],
    ['an included file', 'git status', (program: string) => ['config', 'include.path', program]],
  ])('asks where the configuration runs a program: %s', async (_, command, change) => {
    const { w, bash, mark, program } = await repository();
    git(w, ...change(program));
    writeFileSync(join(w, '.gitattributes'), '*.txt filter=x diff=x\n');
    expect(await bash(command)).toBe('ask');
    // A rule of its owner is a decision about this command.
    expect(await bash(command, { allow: ['Bash(git:*)'] })).toBe('allow');
    if (change(program)[1] !== 'core.fsmonitor') return;
    git(w, 'status'); // and the danger is real
    expect(existsSync(mark)).toBe(true);
  });

  it('asks where a hook would run', async () => {
    const { w, bash, mark, program } = await repository();
    const hook = join(w, '.git/hooks/post-index-change');
    mkdirSync(join(w, '.git/hooks'), { recursive: true });
    writeFileSync(hook, `#!/bin/sh\ntouch ${mark}\n`);
    chmodSync(hook, 0o755);
    expect(await bash('git status')).toBe('ask');
    rmSync(program);
  });

  it('asks in a folder that looks like a repository, after a cd too, with a `.git` that is none', async () => {
    const { w, bash, program } = await repository();
    const bare = join(w, 'sub');
    git(w, 'init', '-q', '--bare', bare);
    execFileSync('git', ['--git-dir', bare, 'config', 'core.fsmonitor', program]);
    expect(await bash('cd sub && git status')).toBe('ask');
    mkdirSync(join(bare, '.git'));
    expect(await bash('cd sub && git status')).toBe('ask');
    expect(await bash('git status')).toBe('allow');
    expect(await bash('cd "$X" && git status')).toBe('ask');
  });
});

describe('a configuration of git', () => {
  it.each([
    [
      '[core]\n\tbare = false\n[remote "origin"]\n\turl = x\n[branch "a"]\n\tmerge = b\n',
      undefined,
    ],
    ['[core] fsmonitor = /x', 'core.fsmonitor'],
    ['[core]\nfsmonitor = true', undefined],
    ['[CORE]\n  FsMonitor = ./x', 'core.FsMonitor'],
    ['[core]\nsshCommand = x', 'core.sshCommand'],
    ['[diff "x"]\nalgorithm = y', 'diff.algorithm'],
    ['[remote "x"]\npromisor = true', 'remote.promisor'],
    ['[gpg]\nprogram = x', 'gpg.program'],
    ['[core]\nbare = \\\nfalse', 'bare = \\'],
    ['nonsense ]', 'nonsense ]'],
  ])('%j: %s', (config, key) => {
    expect(suspiciousKey(config)).toBe(key);
  });
});
