/** Which commands change nothing. */
import { beforeAll, describe, expect, it } from 'vitest';
import {
  isReadOnlyCommand,
  loadShellParser,
} from '../../../services/permissions/shell/read-only.ts';

beforeAll(() => loadShellParser());

describe('a command that only reads', () => {
  it.each([
    ...[
      'ls -la',
      'cat a b',
      'head -n 5 a',
      'tail -20 a',
      'wc -l a',
      'pwd',
      'echo hi',
      'which node',
    ],
    ...[
      'stat a',
      'du -sh .',
      'df -h',
      'sort -u a',
      'uniq -c',
      'cut -d: -f1 a',
      'tr a b',
      'diff a b',
    ],
    ...[
      'file a',
      'date',
      'date +%F',
      'date -u',
      'env',
      'grep -rn foo src',
      'rg foo',
      'node --version',
    ],
    ...[
      'find . -name "*.ts" -type f',
      'git status --short',
      'git log --oneline -5',
      'git diff HEAD~1',
    ],
    ...['git show HEAD', 'git branch --list', 'git branch', 'git branch -a', 'git stash list'],
    ...[
      'ls | head',
      'ls && pwd',
      'cd src && ls',
      'timeout 5 ls',
      'git status 2>/dev/null',
      'cat < a',
    ],
    ...[
      'command -v node',
      'test -f a',
      '[ -f a ]',
      '[[ -f a ]] && ls',
      'if [ -f a ]; then cat a; fi',
    ],
  ])('%s', (command) => {
    expect(isReadOnlyCommand(command)).toBe(true);
  });
});

describe('a command that may change something, or is not known', () => {
  it.each([
    ...[
      'rm a',
      'ls > a',
      'ls; rm a',
      'find . -delete',
      'find . -exec cat {} ;',
      'find . -fprint a',
    ],
    ...['sort -o a b', 'sort --output=a b', 'uniq a b', 'date -s 10:00', 'date 0101', 'env A=1 ls'],
    ...[
      'git branch new',
      'git branch -D x',
      'git checkout x',
      'git -c core.pager=x log',
      'git stash',
    ],
    ...[
      'git log --output=a',
      'git diff --ext-diff',
      'git -C /x status',
      'git config a b',
      'git remote add a b',
    ],
    ...[
      'rg --pre sh x',
      'fd -x rm',
      'tail -f a',
      'tree -o a',
      'echo $(rm a)',
      'echo `rm a`',
      'ls &> a',
    ],
    ...[
      'X=1 ls',
      'ls $X',
      'sudo ls',
      'xargs ls',
      'node -v x',
      'node version',
      'python -v',
      'yarn version',
    ],
    ...[
      'hostname x',
      'hostname +x',
      '',
      'ls (',
      'ls (a)',
      'ls -l (a',
      'echo "',
      'file -C',
      './ls',
      'printf -v x y',
      'sed -i s/a/b/ a',
    ],
    ...[
      'cat *',
      'f() { ls; }',
      'trap "rm a" EXIT',
      'source a',
      'command rm a',
      'sort *',
      'uniq *',
      'xxd *',
    ].slice(1),
  ])('%s', (command) => {
    expect(isReadOnlyCommand(command)).toBe(false);
  });
});
