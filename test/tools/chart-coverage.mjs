/**
 * Prints which transitions of the chart the tests have taken. Reads what the last runs of the test
 * files have written; `--run` runs them all first. Ends with 1 when a transition was never taken.
 *
 * Runs on every Node that we support: vite loads the TypeScript.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const root = fileURLToPath(new URL('../../', import.meta.url));
const file = path.join(root, 'test', 'tools', 'coverage-report.ts');
const { module: report } = await runnerImport(file, { root, logLevel: 'error' });

if (process.argv.includes('--run') || report.readParts().length === 0) {
  const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const { status } = spawnSync(process.execPath, [vitest, 'run'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) console.log('some tests failed: what they would have taken is not counted');
}
const coverage = report.writeCoverage();
console.log(report.coverageTable(coverage).join('\n'));
process.exitCode = report.neverTaken(coverage).length > 0 ? 1 : 0;
