/**
 * Runs a suite of vitest for CI: `node .ci/suite.mjs <npm script>`. Files in which a test failed run
 * once more, alone. What fails again has failed; what passes then is flaky: it counts as passed, and
 * is named where nobody overlooks it, since a flaky test is a fault of its own. Names come as
 * `failed: …` and `flaky: …`, the last line is `N passed, N failed`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';

/** More than this are no accident, and not worth the time. */
const MAX_FILES_AGAIN = 5;

const [script] = process.argv.slice(2);
const folder = mkdtempSync(path.join(tmpdir(), 'escapement-suite-'));

/**
 * @param {readonly string[]} files of this suite; all when empty.
 * @returns exit code and what vitest reports: undefined when it wrote none.
 */
function run(files) {
  const report = path.join(folder, `${files.length}.json`);
  const told = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const { status } = spawnSync('npm', ['run', script, '--', ...told, ...files], {
    stdio: 'inherit',
  });
  try {
    return { status, report: JSON.parse(readFileSync(report, 'utf8')) };
  } catch {
    return { status };
  }
}

/** Failed tests by file; a file that could not be loaded is one of its own. */
function failures({ testResults = [] }) {
  return testResults.flatMap(({ name, status, assertionResults = [] }) => {
    const file = path.relative(process.cwd(), name);
    const tests = assertionResults.filter((test) => test.status === 'failed');
    if (tests.length > 0) return tests.map((test) => ({ file, title: test.fullName }));
    return status === 'failed' ? [{ file, title: '(could not be run)' }] : [];
  });
}

/** The failures that stay after their files have run again. */
function again(first) {
  const files = [...new Set(first.map((failure) => failure.file))];
  if (files.length === 0 || files.length > MAX_FILES_AGAIN) return first;
  console.log(`ci: ${first.length} failed, once more: ${files.join(' ')}`);
  const { status, report } = run(files);
  // an error that belongs to no test, or nothing that ran, clears nobody
  if (!report || report.numPassedTests === 0) return first;
  const second = failures(report);
  return status !== 0 && second.length === 0 ? first : second;
}

const { status, report } = run([]);
const first = report ? failures(report) : [];
const last = first.length > 0 ? again(first) : [];
const same = (one) => (other) => one.file === other.file && one.title === other.title;
const flaky = first.filter((failure) => !last.some(same(failure)));
rmSync(folder, { recursive: true, force: true });

for (const { file, title } of last) console.log(`failed: ${file} > ${title}`);
for (const { file, title } of flaky) console.log(`flaky: ${file} > ${title}`);
const passed = (report?.numPassedTests ?? 0) + flaky.length;
console.log(`${passed} passed, ${last.length} failed`);
// an error outside of the tests stays an error
process.exitCode = last.length > 0 || (status !== 0 && first.length === 0) ? 1 : 0;
