/**
 * What CI says of its pieces. The script is run as it is; on its PATH is an `npm` that runs nothing
 * and ends as the test wants, so that each way of going wrong is seen in the last line.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';

const script = fileURLToPath(new URL('../../.ci/run', import.meta.url));

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'escapement-ci-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

interface Ending {
  readonly code?: number;
  readonly passed?: number;
  readonly failed?: number;
  /** Of files that could not be loaded. */
  readonly suites?: number;
  /** How many fail when they run once more, alone; all of them unless told. */
  readonly again?: number;
  readonly says?: string;
}

/** `npm` as the script calls it: writes the report of a suite where it is told to. */
const npm = `#!${process.execPath}
const [verb, name, ...rest] = process.argv.slice(2);
const ending = JSON.parse(process.env.ENDINGS)[verb === 'run' ? name : verb] ?? {};
const isAgain = rest.some((word) => word.endsWith('.test.ts'));
const { passed = 3, failed: atFirst = 0, suites = 0, says, again = atFirst } = ending;
const failed = isAgain ? again : atFirst;
const report = rest.find((word) => word.startsWith('--outputFile.json='))?.split('=')[1];
const testResults = [
  ...Array.from({ length: failed }, (_, at) => ({
    name: process.cwd() + '/test/' + at + '.test.ts',
    status: 'failed',
    assertionResults: [{ status: 'failed', fullName: 'story ' + at }],
  })),
  ...Array.from({ length: suites }, () => ({ name: '/x.test.ts', status: 'failed' })),
];
const text = JSON.stringify({ numPassedTests: passed, testResults });
if (report && says === undefined) require('fs').writeFileSync(report, text);
console.log(says ?? (name === 'test:pack' ? 'pack: 3 passed, 0 failed' : 'ran ' + name));
process.exitCode = isAgain && again === 0 ? 0 : (ending.code ?? 0);
`;

function ci(endings: Readonly<Record<string, Ending>>) {
  for (const name of ['tmux', 'rg', 'git', 'bwrap', 'chromium', 'apt-get']) {
    program(name, '#!/bin/sh\n');
  }
  program('npm', npm);
  const PATH = [folder, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter);
  const { status, stdout } = spawnSync('bash', [script], {
    ...{ encoding: 'utf8', timeout: 60_000 },
    env: { PATH, ENDINGS: JSON.stringify(endings) },
  });
  return { status, last: stdout.trimEnd().split('\n').at(-1), stdout };
}

function program(name: string, text: string): void {
  const file = join(folder, name);
  writeFileSync(file, text);
  chmodSync(file, 0o755);
}

it('all is well: two suites of three, the pack of three, two that only hold', () => {
  expect(ci({})).toMatchObject({ status: 0, last: '11 passed, 0 failed' });
});

it.each<[string, Record<string, Ending>, string]>([
  ['tests fail', { test: { code: 1, passed: 1, failed: 2 } }, '9 passed, 2 failed'],
  ['a test file does not load', { test: { code: 1, suites: 1 } }, '11 passed, 1 failed'],
  ['an error outside of the tests', { test: { code: 1 } }, '11 passed, 1 failed'],
  ['the browser suite ends with an error', { 'test:browser': { code: 1 } }, '11 passed, 1 failed'],
  ['no browser: all is skipped', { 'test:browser': { passed: 0 } }, '8 passed, 1 failed'],
  ['a suite writes no report', { test: { code: 1, says: 'killed' } }, '8 passed, 1 failed'],
  ['the pack ends with an error', { 'test:pack': { code: 1 } }, '11 passed, 1 failed'],
  ['the pack says nothing', { 'test:pack': { says: '' } }, '8 passed, 1 failed'],
  ['a transition is never taken', { 'coverage:chart': { code: 1 } }, '10 passed, 1 failed'],
  ['a walk fails', { fuzz: { code: 1 } }, '10 passed, 1 failed'],
  ['the install fails', { ci: { code: 1 } }, '0 passed, 1 failed'],
  ['the check fails', { check: { code: 1 } }, '0 passed, 1 failed'],
  ['the proof fails', { prove: { code: 1 } }, '0 passed, 1 failed'],
])('%s: it fails, and says so in its last line', (_, endings, last) => {
  expect(ci(endings)).toMatchObject({ status: 1, last });
});

it('a test that passes when it runs once more is counted, and called flaky', () => {
  const { status, last, stdout } = ci({ test: { code: 1, passed: 2, failed: 1, again: 0 } });
  expect({ status, last }).toEqual({ status: 0, last: '11 passed, 0 failed' });
  expect(stdout).toContain('flaky: test/0.test.ts > story 0');
});

it('one of two that fails again has failed: both are named above the last line', () => {
  const { status, last, stdout } = ci({ test: { code: 1, passed: 1, failed: 2, again: 1 } });
  expect({ status, last }).toEqual({ status: 1, last: '10 passed, 1 failed' });
  expect(stdout.trimEnd().split('\n').slice(-3, -1)).toEqual([
    'failed: test/0.test.ts > story 0',
    'flaky: test/1.test.ts > story 1',
  ]);
});

it('many failures are no accident: none runs again', () => {
  const { last } = ci({ test: { code: 1, passed: 1, failed: 6, again: 0 } });
  expect(last).toBe('9 passed, 6 failed');
});
