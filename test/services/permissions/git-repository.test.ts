/** A repository of a stranger must not run anything because the model looks at it. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { suspiciousKey } from '../../../services/permissions/git/config.ts';
import { ground } from './ground.ts';

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
    ...{ cwd, stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' },
  });

let refreshed = 0;

/** A `git status` that has to write the index. */
function refresh(folder: string): void {
  const file = join(git(folder, 'rev-parse', '--show-toplevel').trim(), 'a.txt');
  refreshed += 1;
  utimesSync(file, 1, refreshed);
  git(folder, 'status');
}

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

  it('runs unasked with hooks in a folder of their own, until one of them is for who looks', async () => {
    const { w, bash, mark } = await repository();
    const folder = join(w, '.husky/_');
    git(w, 'config', 'core.hooksPath', '.husky/_');
    expect(await bash('git status')).toBe('allow'); // there is no such folder
    mkdirSync(folder, { recursive: true });
    const write = (path: string) => {
      writeFileSync(path, `#!/bin/sh\ntouch ${mark}\n`);
      chmodSync(path, 0o755);
    };
    write(join(folder, 'pre-commit'));
    // Git stands at the top when it runs one, wherever it was called.
    mkdirSync(join(w, 'sub/.husky/_'), { recursive: true });
    write(join(w, 'sub/.husky/_/post-index-change'));
    for (const command of ['git status', 'cd sub && git status', 'git diff', 'git log -1']) {
      expect([command, await bash(command)]).toEqual([command, 'allow']);
    }
    refresh(join(w, 'sub'));
    expect(existsSync(mark)).toBe(false);

    write(join(folder, 'post-index-change'));
    expect(await bash('git status')).toBe('ask');
    expect(await bash('cd sub && git status')).toBe('ask');
    refresh(join(w, 'sub'));
    expect(existsSync(mark)).toBe(true); // and the danger is real

    rmSync(join(w, '.husky'), { recursive: true });
    symlinkSync(join(w, 'sub/.husky'), join(w, '.husky'));
    expect(await bash('git status')).toBe('ask');
    git(w, 'config', 'core.hooksPath', '/dev/null');
    expect(await bash('git status')).toBe('allow');
    for (const odd of ['~/hooks', '%(prefix)/x', 'a b', '"x', 'x ; y']) {
      git(w, 'config', 'core.hooksPath', odd);
      expect([odd, await bash('git status')]).toEqual([odd, 'ask']);
    }
  });

  it('takes a list of commits that blame passes over only from the work tree', async () => {
    const { w, bash } = await repository();
    const set = (path: string) => git(w, 'config', 'blame.ignoreRevsFile', path);
    symlinkSync('/etc', join(w, 'etc'));
    symlinkSync('/etc/passwd', join(w, 'linked'));
    for (const path of ['.git-blame-ignore-revs', 'a.txt', 'sub/b.txt', join(w, 'a.txt')]) {
      set(path);
      expect([path, await bash('git blame a.txt')]).toEqual([path, 'allow']);
    }
    for (const path of ['/etc/passwd', '../x', 'etc/passwd', 'linked', '~/x', 'sub']) {
      set(path);
      expect([path, await bash('git blame a.txt')]).toEqual([path, 'ask']);
    }
  });

  it('runs unasked where commits are signed, and there are many files', async () => {
    const { w, bash, mark, program } = await repository();
    const keys = ['commit.gpgSign', 'tag.gpgSign', 'core.commitGraph', 'feature.manyFiles'];
    for (const key of keys) git(w, 'config', key, 'true');
    git(w, 'config', 'core.editor', program);
    git(w, 'add', 'a.txt'); // writes the index anew
    const looks = ['status', 'log -1 --stat', 'diff', 'tag --list', 'branch --list', 'stash list'];
    for (const look of looks) {
      expect([look, await bash(`git ${look}`)]).toEqual([look, 'allow']);
      git(w, ...look.split(' '));
    }
    expect(existsSync(mark)).toBe(false);
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
    ['[commit]\ngpgSign = true\n[tag]\ngpgSign\n[gpg]\nformat = ssh', undefined],
    ['[core]\ncommitGraph = true\neditor = vim\n[feature]\nmanyFiles = true', undefined],
    ['[log]\nshowSignature = true', 'log.showSignature'],
    ['[gpg "ssh"]\nprogram = x', 'gpg.program'],
    ['[core]\npager = x', 'core.pager'],
    ['[core]\nhooksPath = x', 'core.hooksPath'],
    ['[blame]\nignoreRevsFile = x', 'blame.ignoreRevsFile'],
  ])('%j: %s', async (config, key) => {
    expect(await suspiciousKey(config)).toBe(key);
  });
});
