/** What no spelling of a command may reach, tried with many of them, and with a real shell. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  isReadOnlyCommand,
  loadShellParser,
} from '../../../services/permissions/shell/read-only.ts';
import { ground } from './ground.ts';

beforeAll(() => loadShellParser());

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
/** Ways to get a command run, some of them odd. Each takes one and gives one. */
const wraps: readonly ((command: string) => string)[] = [
  (c) => `ls; ${c}`,
  (c) => `ls && ${c}`,
  (c) => `false || ${c}`,
  (c) => `ls | ${c}`,
  (c) => `ls & ${c}`,
  (c) => `ls\n${c}`,
  (c) => `(${c})`,
  (c) => `{ ${c}; }`,
  (c) => `! ${c}`,
  (c) => `if ls; then ${c}; fi`,
  (c) => `if ${c}; then ls; fi`,
  (c) => `while ${c}; do ls; done`,
  (c) => `for f in a b; do ${c}; done`,
  (c) => `case a in a) ${c};; esac`,
  (c) => `echo $(${c})`,
  (c) => `echo "$(${c})"`,
  (c) => `ls <(${c})`,
  (c) => `cat <<EOF\n$(${c})\nEOF`,
  (c) => `echo $(( $(${c}) + 1 ))`,
  (c) => `[[ -n $(${c}) ]]`,
  (c) => `A=$(${c}) ls`,
  (c) => `f() { ${c}; }; f`,
  (c) => `coproc ${c}`,
  (c) => `time ${c}`,
  (c) => `sh -c ${quoted(c)}`,
  (c) => `bash -lc ${quoted(c)}`,
  (c) => `eval ${quoted(c)}`,
  (c) => `trap ${quoted(c)} EXIT`,
  (c) => `ls # nothing\n${c}`,
  (c) => `ls \\\n; ${c}`,
  (c) => `ls > /dev/null; ${c}`,
  (c) => `echo ')' ; ${c}`,
  (c) => `echo "a'b" ; ${c} ; echo 'a"b'`,
];
const prefixes = [
  ...['', 'timeout 5 ', 'nohup ', 'nice -n 5 ', 'env ', 'env A=1 ', 'command ', 'exec ', 'sudo '],
  ...['sudo -u root ', 'xargs ', 'xargs -n 1 ', 'stdbuf -o L ', 'setsid ', 'time -p ', 'A=1 '],
  ...['/bin/', 'find . -exec ', 'watch ', 'builtin '],
];
const guarded = fc
  .tuple(
    fc.constantFrom(...prefixes),
    fc.constantFrom('rm x', 'rm -rf x', '\\rm x', "'rm' x", 'r"m" x', "$'rm' x", 'rm'),
    fc.array(fc.constantFrom(...wraps), { maxLength: 3 }),
  )
  .map(([prefix, rm, chosen]) => chosen.reduce((command, wrap) => wrap(command), prefix + rm));

describe('a denied program', () => {
  it('PERM-04 is reached by no spelling, whatever else is allowed (property)', async () => {
    const { bash } = await ground();
    const some = {
      allow: ['Bash(ls:*)', 'Bash(echo:*)', 'Bash(sudo:*)', 'Bash(env:*)'],
      deny: ['Bash(rm:*)'],
    };
    const all = { allow: ['Bash'], deny: ['Bash(rm:*)'] };
    await fc.assert(
      fc.asyncProperty(guarded, async (command) => {
        expect(await bash(command, some)).not.toBe('allow');
        expect(await bash(command, all)).not.toBe('allow');
      }),
      { numRuns: 400 },
    );
  });

  it('never makes the judge throw, whatever the text (property)', async () => {
    const { bash } = await ground();
    const pieces = fc.constantFrom(
      ...'$(){}[]<>|&;"\'`\\ \n#!*?~=+-',
      'rm',
      'ls',
      '<<E',
      'do',
      'if',
      'case',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { maxLength: 14 }), async (parts) => {
        const decision = await bash(parts.join(''), { allow: ['Bash'], deny: ['Bash(rm:*)'] });
        expect(['allow', 'ask', 'deny']).toContain(decision);
      }),
      { numRuns: 400 },
    );
  });
});

describe('a command that counts as read-only', () => {
  const words = fc.constantFrom(
    ...[
      '-a',
      '-o',
      'out',
      '-n',
      '1',
      '--output=out',
      '-exec',
      'touch',
      ';',
      'a',
      '-delete',
      '*',
      '-s',
    ],
    ...[
      '>',
      '>>',
      '2>&1',
      '&&',
      '|',
      '2>/dev/null',
      '$(touch out)',
      '-f',
      '-name',
      '--',
      '{}',
      '-c',
    ],
    ...[
      '-fprint',
      '-u',
      '<',
      'b',
      '-w',
      '-r',
      'status',
      'log',
      '"a b"',
      '+%F',
      '-e',
      '-i',
      '&>',
      '-D',
    ],
  );
  const programs = fc.constantFrom(
    ...['ls', 'cat', 'find .', 'sort', 'uniq', 'git', 'date', 'env', 'head', 'grep', 'tee', 'diff'],
    ...[
      'touch',
      'file',
      'xargs',
      'wc',
      'echo',
      'test',
      'printf',
      'timeout 1',
      'sh -c',
      'cut',
      'git log',
    ],
  );
  const command = fc
    .tuple(programs, fc.array(words, { maxLength: 5 }))
    .map(([program, rest]) => [program, ...rest].join(' '));

  it('leaves every file as it is, in a real bash (property)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'perm-run-'));
    const state = async () => {
      const names = await readdir(folder);
      return Promise.all(
        names.sort().map(async (name) => `${name}=${await readFile(join(folder, name), 'utf8')}`),
      );
    };
    await writeFile(join(folder, 'a'), 'b\na\n');
    await writeFile(join(folder, 'b'), 'c\n');
    const before = await state();
    let ran = 0;
    await fc.assert(
      fc.asyncProperty(command, async (source) => {
        if (!isReadOnlyCommand(source)) return;
        ran += 1;
        const bash = promisify(execFile)('bash', ['-c', source], { cwd: folder, timeout: 3_000 });
        bash.child.stdin?.end();
        await bash.catch(() => undefined); // many of them fail: what counts is what they leave behind
        expect(await state()).toEqual(before);
      }),
      { numRuns: 350 },
    );
    expect(ran).toBeGreaterThan(10);
  });
});
