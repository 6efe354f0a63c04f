/**
 * Options that write, run or read elsewhere, in every spelling that getopt and git understand:
 * abbreviated, with `=`, with the value as the next word, among other letters. None runs unasked.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { isReadOnlyCommand, loadShellParser } from '../../services/permissions/shell/read-only.ts';
import { ground } from '../services/permissions/ground.ts';

beforeAll(() => loadShellParser());

/** By program: long options that do harm, and letters that do. */
const harmful: Readonly<Record<string, readonly [long: string, letters: string]>> = {
  sort: ['output compress-program temporary-directory files0-from random-source', 'oTS'],
  date: ['set file reference', 'sfr'],
  file: ['compile magic-file files-from uncompress preserve-date special-files', 'CmfzZps'],
  tail: ['follow retry', 'fF'],
  wc: ['files0-from', ''],
  du: ['files0-from exclude-from dereference', 'LX'],
  grep: ['dereference-recursive exclude-from', 'R'],
  rg: ['pre pre-glob hostname-bin search-zip follow ignore-file path-separator', 'zL'],
  fd: ['exec exec-batch follow base-directory search-path ignore-file', 'xXL'],
  tree: ['output fromfile', 'oRlH'],
  diff: ['paginate recursive from-file to-file exclude-from starting-file', 'lrXS'],
  jq: ['from-file slurpfile rawfile library-path', 'fL'],
  hostname: ['file boot', 'Fb'],
  hexdump: ['format-file', 'f'],
  sha256sum: ['check', 'c'],
  free: ['seconds count', 'sc'],
  pgrep: ['pidfile', 'F'],
  xxd: ['revert', 'r'],
  ...Object.fromEntries(
    ['log', 'show', 'diff', 'blame', 'rev-list', 'reflog', 'shortlog', 'diff-tree'].map((name) => [
      `git ${name}`,
      ['output ext-diff textconv show-signature submodule output-directory', 'O'],
    ]),
  ),
  'git diff': ['output ext-diff textconv no-index submodule', 'O'],
  'git grep': ['open-files-in-pager ext-grep recurse-submodules textconv', 'O'],
  'git blame': ['output contents ignore-revs-file', 'S'],
  'git cat-file': ['textconv filters', ''],
  'git ls-files': ['recurse-submodules exclude-from exclude-per-directory', 'X'],
  'git branch': [
    'delete move copy edit-description set-upstream-to unset-upstream force',
    'dDmMcCfu',
  ],
  'git tag': ['delete force annotate sign file edit message', 'dfasFm'],
  'git remote': ['mirror', ''],
  'git config': ['unset unset-all edit add replace-all remove-section rename-section', 'e'],
  'git --no-pager': ['exec-path bare git-dir work-tree config-env paginate', 'Ccp'],
};

const spelled = fc.constantFrom(...Object.entries(harmful)).chain(([program, [long, letters]]) =>
  fc.record({
    program: fc.constant(program),
    option: fc.oneof(
      fc
        .tuple(fc.constantFrom(...long.split(' ')), fc.nat())
        .map(([name, cut]) => `--${name.slice(0, 2 + (cut % Math.max(1, name.length - 1)))}`),
      ...(letters === ''
        ? []
        : [
            fc
              .tuple(fc.constantFrom('', 'a', 'b', 'i'), fc.constantFrom(...letters))
              .map((parts) => `-${parts.join('')}`),
          ]),
    ),
  }),
);
/** How what is to be hurt stands beside it. */
const value = fc.constantFrom('', '=victim', ' victim', 'victim', ' -- victim', '="victim"');
const place = fc.constantFrom(
  (program: string, option: string) => `${program} ${option} a`,
  (program: string, option: string) => `${program} a ${option}`,
  (program: string, option: string) => `${program} "${option}" a`,
);
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

describe('an option that does harm', () => {
  it('is refused abbreviated, with a value, in a group, wherever it stands (property)', () => {
    fc.assert(
      fc.property(spelled, value, place, ({ program, option }, given, at) => {
        // A whole name of another option (`--no`, `--file`) is that other option.
        const command = at(program, option) + given;
        const isOther = otherOptions.some((one) =>
          new RegExp(`^${escaped(one)}(?![\\w-])`).test(`${program} ${option}`),
        );
        if (!isOther) expect([command, isReadOnlyCommand(command)]).toEqual([command, false]);
      }),
      { numRuns: 3_000 },
    );
  });

  it.each([
    "git grep --open='touch x #' foo",
    'git blame --output=victim a',
    'git rev-list --output=victim HEAD',
    'git reflog --output=victim',
    'git reflog -n expire',
    'git reflog expire',
    'git reflog -n 5 expire',
    'git reflog show --output=victim',
    'git tag --contains HEAD new',
    'git tag --contains -d v1',
    'git tag --points-at HEAD -d v1',
    'git branch --merged main new',
    'git branch --merged=main new',
    'git branch --contains -D main',
    'git symbolic-ref HEAD refs/heads/x',
    'git symbolic-ref -d HEAD',
    'git symbolic-ref -m x HEAD',
    'git worktree add x',
    'git worktree prune',
    'git worktree list x',
    'git stash pop',
    'git stash -- list',
    'git stash show --output=victim',
    'git stash show --ext-diff',
    'git stash show stash@{0} --textconv',
    'git stash list --output=victim',
    'git stash list --show-signature',
    'git stash list --format=%GK',
    'git check-ignore --stdin',
    'git log --grep -- --output=victim',
    'git log --format=%G?',
    'git for-each-ref --format="%(signature)"',
    'git --bare status',
    'git -p log',
    'git config set a b --get',
    'sort --outp=victim f',
    'sort --compress-prog=./evil.sh --buffer-size=1k f',
    'sort -k 1 -o victim',
    'sort -uo victim f',
    'date --se=1',
    'date --fi=/etc/shadow',
    'uniq -f 1 a victim',
    'xxd -ps in out',
    `jq 'import "a" as $d {search: "/root"}; .imports' f`,
    `jq ' include"a"; .' f`,
    `jq 'import @text "a" as a; .' f`,
    `jq 'module {}; import "a" as a; .' f`,
    `jq '# "\nimport "a" as a; .' f`,
    `jq '"a" | modulemeta' f`,
    'xxd f -b',
    'xxd -l 64 f a',
    'xxd -l 64 *',
    "sed -n 'w victim' f",
    "sed -n '1w victim' f",
    "sed -n '1,5p;w victim' f",
    "sed -n '1e touch x' f",
    "sed -n '1r /etc/shadow' f",
    "sed -n '1p' -i f",
    "sed -n '1p' f -i",
    "sed -n '1p' f -e 'w victim'",
    "sed -i '1p' f",
    "sed -n '1p\nw victim' f",
    'sed -n -f a f',
    'awk \'{print $1 > "victim"}\' f',
    'awk \'{print $1 | "sh"}\' f',
    "awk '{system($1)}' f",
    "awk '{print $1; system($2)}' f",
    "awk '{print $1}' -f a",
    "awk -f a '{print $1}'",
    "awk -i inplace '{print $1}' f",
    "awk -v a=b '{print $1}' f",
    "awk '{print $1}' /inet/tcp/0/example.org/80",
    'tree -LR 2',
    'tree -L2R',
    'tree -aLo 2',
    'ps axe',
    'ps -e -u e',
    'ps -u e',
    'ps -ef -u nobody',
    'ps -eo environ',
    'ps axo pid,environ',
    'ps -ef --sort=environ',
    'tree -L 2 -R -H .',
    'ps e',
    'ps -auxe',
    'ps eww -p 1',
    'ps -o environ -p 1',
    'ps "-e -o pid"',
    `jq -n 'import "secret" as $d {search:"/root"}; $d'`,
    'diff -r a b',
    'grep -R foo .',
    'find -L . -name x',
    'find . -fprintf victim x',
    'find . -fls victim',
    'find . -files0-from f',
  ])('%s', async (command) => {
    const { bash } = await ground({ '/w/a': 'a\n', '/w/f': 'b\na\n' });
    expect(isReadOnlyCommand(command)).toBe(false);
    expect(await bash(command)).toBe('ask');
    expect(await bash(command, {}, 'plan')).toBe('deny');
    expect(await bash(command, {}, 'dontAsk')).toBe('deny');
  });

  it('is a danger that is real: an abbreviation overwrites a file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'options-'));
    writeFileSync(join(folder, 'f'), 'b\na\n');
    writeFileSync(join(folder, 'victim'), 'whole\n');
    execFileSync('sort', ['--outp=victim', 'f'], { cwd: folder });
    expect(readFileSync(join(folder, 'victim'), 'utf8')).not.toBe('whole\n');
  });
});

/** Harmless options whose whole name begins the name of a harmful one. */
const otherOptions = [
  ...['grep --exclude', 'du --exclude', 'git ls-files --exclude', 'git blame --ignore-rev'],
  ...['log', 'show', 'diff', 'diff-tree'].map((name) => `git ${name} --text`),
  ...['git grep --text', 'jq --slurp'],
];

describe('what people look with', () => {
  it.each([
    ...['ls -lah --color=never', 'cat -n a', 'head -50 a', 'head -n 5 -q a b', 'tail -n +5 a'],
    ...['grep -rnI --include="*.ts" -A 3 foo src', 'grep -c "^a" a', 'grep -rnE -- "--flag" a'],
    ...['rg -n --hidden -g "*.ts" foo', 'rg --files', 'rg -tjs -C2 foo', 'sort -t, -k2,2nr a'],
    ...['find . -type f -mtime -7 -not -path "./x/*"', 'find . -size +10k -perm -u+x'],
    ...['wc -l a b', 'cut -d, -f1,2 a', 'uniq -f 1 a', 'date -d yesterday +%F', 'date -u +%s'],
    ...['diff -u a b', 'du -sh --max-depth=1 .', 'stat -c %s a', 'ps aux', 'ps -ef', 'ps -p 1'],
    ...['ps -e -o pid,cmd', 'tree -L 2 -I node_modules', 'jq -r .a a', 'jq --arg a b .x a'],
    ...['git log --oneline --graph --all -20', 'git log -p -S foo --since="2 weeks ago" -- src'],
    ...[
      'git log --pretty=format:"%h %an" -n 3',
      'git diff --stat HEAD~2 -- a',
      'git diff --cached',
    ],
    ...['git diff --name-only -U0', 'git blame -L 1,5 a', 'git grep -n foo -- "*.ts"'],
    ...['git status -sb', 'git status --porcelain=v2 --branch', 'git show --stat HEAD'],
    ...['git rev-parse --abbrev-ref HEAD', 'git rev-list --count HEAD', 'git reflog -5'],
    ...['git ls-files -o --exclude-standard', 'git shortlog -sn', 'git config --get user.name'],
    ...['git tag --contains HEAD', 'git tag --points-at HEAD', 'git tag --points-at=HEAD'],
    ...['git tag --contains', 'git branch --merged', 'git branch --no-merged main', 'git reflog'],
    ...['git reflog -n 5', 'git reflog -n5', 'git reflog show', 'git reflog show HEAD -n 5'],
    ...['git worktree list --porcelain', 'git stash show', 'git stash show -p stash@{0}'],
    ...['git stash list', 'git stash list --oneline --stat', 'git check-ignore -v a'],
    ...['git symbolic-ref --short HEAD', 'git symbolic-ref refs/remotes/origin/HEAD'],
    ...['git --no-pager log -1', 'git branch -avv', 'git cat-file -p HEAD', 'sort --version'],
    ...["jq -r '.compilerOptions.include' a", 'jq .imports a', `jq '.[] | startswith("import")' a`],
    ...['ps -eo pid,ppid,cmd', 'ps aux --sort=-%mem', 'ps axo pid,cmd', 'ps -u root', 'ps -ax'],
    ...['ps -ef --forest', 'ps -eo pid,cmd --sort=-pid', 'ps -Af', 'ps -u 0 -o pid,cmd'],
    ...['tree -aL 2', 'tree -dL 2', 'tree -L2', "tree -aI 'a|b'", 'xxd -l 64 a'],
    ...['xxd "a b"', 'xxd -s 4 -l64 -p a', 'sed -n 1,10p a', "sed -n '5p' a b", "sed -n '2,$p' a"],
    ...["sed -n '1,2p;7p' 'a b'", "awk '{print $1}' a", "awk -F: '{ print $1, $NF }' a"],
    ...["ls | awk '{print $2}'", "awk -F '|' '{print}' a"],
  ])('%s', (command) => {
    expect(isReadOnlyCommand(command)).toBe(true);
  });

  it.each([
    ...["sed -n '2,$p' a", "awk '{print $1}' a", 'xxd -l 64 a', "jq '.imports' a", 'ps aux'],
  ])('runs unasked: %s', async (command) => {
    const { bash } = await ground({ '/w/a': '{}\n' });
    expect(await bash(command)).toBe('allow');
    expect(await bash(command.replace(/ a$/, ' /etc/passwd'))).toBe(
      command.endsWith(' a') ? 'ask' : 'allow',
    );
    expect(await bash(command, { deny: ['Read(./a)'] })).toBe(
      command.endsWith(' a') ? 'deny' : 'allow',
    );
  });
});

const hasPs = process.platform === 'linux' && spawnSync('ps').status === 0;

describe.skipIf(!hasPs)('what ps shows (needs procps)', () => {
  it('is never the environment of a process, with whatever it is allowed', () => {
    const modes = ['-e', '-ef', '-eF', '-efww', '-A', '-Af', '-f', '-a', '-ax', 'aux', '-auxww'];
    const more = ['auxf', 'ax', 'axf', 'axu', 'x', '-eo pid', 'axo pid,cmd', '-axo cmd', '-u root'];
    const names = ['-u nosuch', '-u e', '-u x', '-u 0 -o args', '-e -u e', '-u'];
    const ends = ['', ' -o args', ' --forest', ' --sort=-%mem', ' --sort pid --forest', ' -p 1'];
    const marked = { ...process.env, COLUMNS: '99999', ESCAPEMENT_MARK: 'of-a-process' };
    const shown = [...modes, ...more, ...names]
      .flatMap((mode) => ends.map((end) => `ps ${mode}${end}`))
      .filter((command) => isReadOnlyCommand(command));
    expect(shown.length).toBeGreaterThan(60);
    const showing = (command: string) =>
      spawnSync('sh', ['-c', `${command}; true`], { env: marked, encoding: 'utf8' }).stdout;
    expect(showing('ps axe')).toContain('of-a-process'); // and it could be
    expect(shown.filter((command) => showing(command).includes('of-a-process'))).toEqual([]);
  });
});
