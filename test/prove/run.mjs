#!/usr/bin/env node
/**
 * `npm run prove`: the proof on the chart at its full size, and a table of what was proved. Exits
 * with 1 when anything does not hold. `-- --share 8 --seed 3`: an eighth of the mutants, and which.
 * A share that leaves no mutant proves nothing, and does not hold.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    share: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
  },
});

for (const [name, least] of Object.entries({ share: 1, seed: 0 })) {
  const number = values[name].trim() === '' ? Number.NaN : Number(values[name]);
  if (Number.isSafeInteger(number) && number >= least) continue;
  console.error(`--${name} must be a whole number of at least ${least}, not "${values[name]}"`);
  process.exit(2);
}

const folder = mkdtempSync(path.join(tmpdir(), 'escapement-prove-'));
const file = path.join(folder, 'report.json');
const env = {
  ...process.env,
  ESCAPEMENT_PROVE_SHARE: values.share,
  ESCAPEMENT_PROVE_SEED: values.seed,
  ESCAPEMENT_PROVE_REPORT: file,
};
const parts = ['test/prove', 'test/conformance/explored', 'test/conformance/ranking'];
const args = ['vitest', 'run', ...parts, 'test/conformance/deadlines', '--project', 'rest'];
const startedAt = Date.now();
const { status, stdout, stderr } = spawnSync('npx', [...args, '--reporter=dot'], {
  env,
  encoding: 'utf8',
});

if (existsSync(file)) {
  const { numbers, header, rows, survivors } = JSON.parse(readFileSync(file, 'utf8'));
  const line = (cells) => cells.map((cell) => String(cell).padStart(10)).join('');
  console.log(line(header));
  for (const row of rows) console.log(line(row));
  console.log();
  for (const [name, value] of Object.entries(numbers)) console.log(`${name}: ${value}`);
  for (const [name, why] of survivors) console.log(`alive: ${name}\n       ${why}`);
}
rmSync(folder, { recursive: true, force: true });
const isFine = status === 0;
if (!isFine) console.log(stdout, stderr);
const seconds = ((Date.now() - startedAt) / 1_000).toFixed(0);
console.log(`prove: ${isFine ? 'holds' : 'DOES NOT HOLD'}, ${seconds} s`);
process.exitCode = isFine ? 0 : 1;
