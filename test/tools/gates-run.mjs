/**
 * `npm run gates`: the stories of the engine, once for each row of gates (all on, all off, and what
 * it takes that every two meet in all four ways). A row that fails is named; `-- 3` tells one row.
 *
 * Runs on every Node that we support: vite loads the TypeScript.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const root = fileURLToPath(new URL('../../', import.meta.url));
const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const { module } = await runnerImport(`${root}test/tools/gates.ts`, { root, logLevel: 'error' });
/** @type {readonly Record<string, boolean>[]} */
const rows = module.gateRows;
const only = process.argv.slice(2).map(Number);

const failed = [];
for (const [at, gates] of rows.entries()) {
  if (only.length > 0 && !only.includes(at)) continue;
  const open = Object.keys(gates).filter((name) => gates[name]);
  console.log(`row ${at} of ${rows.length}: ${open.join(', ')}`);
  const { status } = spawnSync(
    process.execPath,
    [vitest, 'run', '--project', 'stories', ...['--reporter', 'dot']],
    {
      cwd: root,
      env: { ...process.env, ESCAPEMENT_TEST_GATES: JSON.stringify(gates) },
      stdio: 'inherit',
    },
  );
  if (status !== 0) failed.push(at);
}
console.log(failed.length > 0 ? `rows that failed: ${failed.join(', ')}` : 'every row holds');
process.exitCode = failed.length > 0 ? 1 : 0;
