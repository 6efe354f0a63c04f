/** Places that somebody has removed, or that can be none; outputs that take nothing. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { say } from '../../../src/testing/index.ts';
import { type CliBox, cliPath, openCliBox } from '../../tools/cli.ts';

let box: CliBox;
afterEach(() => box?.close());
const one = () => openCliBox({ replies: [say('ok')] });
const asked = ['-p', 'x', '--model=claude-sonnet-5-5'];
/** A line for people, and nothing of our insides. */
const oneLine = /^escapement: [^\n]+\n$/;
const frames = /\n\s+at |internal error/;

describe('a working folder that is gone', () => {
  it.each([[asked], [['doctor']], [['inspect']], [['demo']], [['mcp', 'login', 'x']], [[]]])(
    '%j is one line with a remedy',
    async (args) => {
      box = await one();
      const script = `mkdir gone && cd gone && rmdir ../gone && exec "$@" </dev/null`;
      const child = spawn('sh', ['-c', script, 'sh', process.execPath, cliPath(), ...args], {
        ...{ cwd: box.cwd, env: box.env, stdio: ['ignore', 'pipe', 'pipe'] },
      });
      const [stderr, [code]] = await Promise.all([textOf(child.stderr), once(child, 'exit')]);
      expect(stderr).toMatch(oneLine);
      expect(stderr).toMatch(/the working folder does not exist any more: go to another one/);
      expect(code).toBe(2);
    },
  );
});

describe('a home that can be none', () => {
  it.each(['/dev/null', '/dev/null/x', '/dev/null/x/y', `/tmp/${'n'.repeat(300)}`])(
    '%s is one line',
    async (ESCAPEMENT_HOME) => {
      box = await one();
      const run = await box.run(asked, '', { ESCAPEMENT_HOME });
      expect(run.stderr).toMatch(oneLine);
      expect(run.stderr).not.toMatch(frames);
      expect(run.code).toBeGreaterThan(0);
      expect(box.server.requests).toHaveLength(0);
      const doctor = await box.run(['doctor'], '', { ESCAPEMENT_HOME });
      expect(doctor.stderr + doctor.stdout).not.toMatch(frames);
      expect(doctor.code).toBeGreaterThan(0);
    },
  );
});

describe('a folder of a stranger', () => {
  const files = ['.mcp.json', '.claude/settings.json', '.claude/settings.local.json', 'CLAUDE.md'];
  const sources = '--setting-sources=user,project,local';

  it.each([
    ['pipes', (file: string) => execFileSync('/bin/sh', ['-c', 'mkfifo "$1"', 'sh', file])],
    ['folders', (file: string) => mkdirSync(file)],
  ])('with %s for files holds nobody up, and shows nothing of our insides', async (_, make) => {
    box = await one();
    mkdirSync(path.join(box.cwd, '.claude'));
    for (const file of files) make(path.join(box.cwd, file));
    for (const args of [asked, [...asked, sources], ['doctor']]) {
      const run = await box.run(args);
      expect(run.stderr + run.stdout).not.toMatch(frames);
      expect(run.signal).toBeNull();
    }
  });

  it('whose .claude is a file', async () => {
    box = await one();
    writeFileSync(path.join(box.cwd, '.claude'), 'x');
    for (const args of [[...asked, sources], ['doctor']]) {
      const run = await box.run(args);
      expect(run.stderr + run.stdout).not.toMatch(frames);
    }
  });
});

it.each([
  ['--cwd', '/dev/null/x'],
  ['--add-dir', '/dev/null/x'],
  ['--settings', '/dev/null/x'],
  ['--mcp-config', '/dev/null/x'],
  ['--resume', '../../x'],
])('%s %s: nothing of our insides', async (flag, value) => {
  box = await one();
  const run = await box.run([...asked, flag, value]);
  expect(run.stderr).not.toMatch(frames);
});

describe.skipIf(process.platform !== 'linux')('an output that takes nothing', () => {
  it.each([[['--help']], [['--version']], [['doctor']], [asked], [['inspect', '--all']]])(
    '%j > /dev/full is no success',
    async (args) => {
      box = await one();
      const full = openSync('/dev/full', 'w');
      const child = spawn(process.execPath, [cliPath(), ...args], {
        ...{ cwd: box.cwd, env: box.env, stdio: ['ignore', full, 'pipe'] },
      });
      closeSync(full);
      const [stderr, [code]] = await Promise.all([
        textOf(child.stderr as NonNullable<typeof child.stderr>),
        once(child, 'exit'),
      ]);
      expect(stderr).toMatch(/the output was lost: .*ENOSPC/);
      expect(code).toBe(1);
    },
  );

  it('a reader that has had enough is no fault: --help | head -1', async () => {
    box = await one();
    const script = `{ "$@"; echo "rc $?" >&2; } | head -c 1 >/dev/null`;
    const child = spawn('sh', ['-c', script, 'sh', process.execPath, cliPath(), '--help'], {
      ...{ cwd: box.cwd, env: box.env, stdio: ['ignore', 'pipe', 'pipe'] },
    });
    expect(await textOf(child.stderr)).toBe('rc 0\n');
  });
});
