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
  readonly says?: string;
}

/** `npm` as the script calls it: writes the report of a suite where it is told to. */
const npm = `#!${process.execPath}
const [verb, name, ...rest] = process.argv.slice(2);
const { code = 0, passed = 3, failed = 0, suites = 0, says } =
  JSON.parse(process.env.ENDINGS)[verb === 'run' ? name : verb] ?? {};
const report = rest.find((word) => word.startsWith('--outputFile.json='))?.split('=')[1];
const text = JSON.stringify({
  numPassedTests: passed, numFailedTests: failed, numFailedTestSuites: suites,
});
if (report && says === undefined) require('fs').writeFileSync(report, text);
console.log(says ?? (name === 'test:pack' ? 'pack: 3 passed, 0 failed' : 'ran ' + name));
process.exitCode = code;
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
