#!/usr/bin/env node
/**
 * `npm run fuzz -- --seed N --runs K [--beside B]`: K random walks through the engine; only what
 * always holds is checked. A walk that fails is cut down, kept in `test/fuzz-regressions` (which
 * `npm test` walks again), and said with the command that walks it.
 *
 *   --from I      the first run of the seed, to walk some of them again
 *   --script F    walks the walk of a file, alone, three times
 *
 * Exit code 1 when something did not hold.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const folder = fileURLToPath(new URL('.', import.meta.url));
const root = path.join(folder, '../..');
const regressions = path.join(root, 'test/fuzz-regressions');
/** More are told, but not cut down. */
const CUT_DOWN_MAX = 6;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '100' },
    from: { type: 'string', default: '0' },
    beside: { type: 'string', default: '8' },
    script: { type: 'string' },
  },
});
function count(name) {
  const number = Number(values[name]);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  console.error(`--${name} must be a whole number of at least 0, not "${values[name]}"`);
  return process.exit(2);
}
const [seed, runs, from, beside] = [
  count('seed'),
  count('runs'),
  count('from'),
  Math.max(1, count('beside')),
];

/** The bundle lies below `node_modules`, so that it finds the same packages. */
async function bundled() {
  const { build } = await import('tsdown');
  const cache = path.join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const outDir = mkdtempSync(path.join(cache, 'fuzz-'));
  await build({
    config: false,
    entry: { worker: path.join(folder, 'worker.ts') },
    outDir,
    format: 'esm',
    platform: 'node',
    dts: false,
    clean: false,
    sourcemap: true,
    logLevel: 'silent',
  });
  return outDir;
}

/** Tells a process what to walk, and hears what it says. */
async function order(outDir, what, hear) {
  const child = spawn(
    process.execPath,
    ['--enable-source-maps', path.join(outDir, 'worker.mjs'), JSON.stringify(what)],
    { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let isDone = false;
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    if (!line.startsWith('{')) return console.log(line);
    const said = JSON.parse(line);
    if (said.type === 'done') isDone = true;
    hear(said);
  });
  const [code, signal] = await once(child, 'close');
  if (!isDone) hear({ type: 'stray', detail: `the process ended: ${code ?? signal}`, numbers: [] });
}

/** The whole walk is in its file. */
const brief = (text) => (text.length > 1_500 ? `${text.slice(0, 1_500)} …` : text);
const shown = ({ name, detail }) => brief(`${name}: ${detail}`);
const commandFor = (file) => `npm run fuzz -- --script ${path.relative(root, file)}`;

/** @returns whether all was well. */
async function walkMany(outDir) {
  const startedAt = performance.now();
  const failures = [];
  const reasons = new Map();
  let done = 0;
  let slowest = { ms: 0, number: 0 };
  const processes = Math.min(os.availableParallelism(), Math.max(1, runs));
  const hear = (said) => {
    if (said.type === 'done' && said.left.length > 0) {
      failures.push({ problems: [{ name: 'left over', detail: said.left.join(', ') }] });
    }
    if (said.type === 'stray') {
      const detail = `${said.detail}\n  while these were walked: ${said.numbers.join(', ')}`;
      failures.push({ problems: [{ name: 'stray', detail }], numbers: said.numbers });
      console.log(`  ${shown(failures.at(-1).problems[0])}`);
    }
    if (said.type !== 'walked') return;
    done += 1;
    if (said.ms > slowest.ms) slowest = said;
    for (const reason of said.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    if (said.problems.length > 0) {
      failures.push(said);
      console.log(`  run ${said.number}: ${said.problems.map(shown).join('\n    ')}`);
    }
    if (done % 100 === 0) console.log(`  ${done} walks, ${failures.length} failed`);
  };
  const numbers = Array.from({ length: runs }, (_, n) => from + n);
  await Promise.all(
    Array.from({ length: processes }, (_, at) =>
      order(
        outDir,
        { kind: 'walks', seed, beside, numbers: numbers.filter((n) => n % processes === at) },
        hear,
      ),
    ),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  const counted = [...reasons].sort(([, a], [, b]) => b - a).map(([name, n]) => `${name} ${n}`);
  console.log(`${counted.length} endings: ${counted.join(', ')}`);
  console.log(
    `seed ${seed}: ${done} walks in ${seconds.toFixed(1)} s ` +
      `(${(done / seconds).toFixed(1)} a second, the slowest, ${slowest.number}, ${(slowest.ms / 1_000).toFixed(1)} s), ` +
      `${failures.length} failed`,
  );
  for (const [at, failure] of failures.entries()) await report(outDir, failure, at);
  return failures.length === 0 && done === runs;
}

async function report(outDir, { problems, walk, number }, at) {
  const [{ name, detail }] = problems;
  console.log(`\n── ${name} ──\n${brief(detail)}`);
  if (!walk) return;
  const word = name.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase();
  const file = path.join(regressions, `${word}-${seed}-${number}.json`);
  mkdirSync(regressions, { recursive: true });
  writeFileSync(file, `${JSON.stringify(walk, null, 2)}\n`);
  if (at < CUT_DOWN_MAX) {
    await order(outDir, { kind: 'cut down', file, name }, (said) => {
      if (said.type !== 'smaller') return;
      if (said.tries === 0) {
        console.log('alone it does not fail: it takes a busy machine, or luck');
        return;
      }
      writeFileSync(file, `${JSON.stringify(said.walk, null, 2)}\n`);
      console.log(`cut down in ${said.tries} tries: ${brief(JSON.stringify(said.walk))}`);
    });
  }
  console.log(`again: ${commandFor(file)}`);
}

async function walkFile(outDir, file) {
  let isWell = true;
  await order(outDir, { kind: 'walk', file: path.resolve(file), times: 3 }, (said) => {
    const problems = said.problems ?? (said.type === 'stray' ? [{ name: 'stray', ...said }] : []);
    if (problems.length > 0) isWell = false;
    for (const problem of problems) console.log(shown(problem));
    if (said.type === 'done' && said.left.length > 0) {
      isWell = false;
      console.log(`left over: ${said.left.join(', ')}`);
    }
  });
  console.log(isWell ? 'nothing is wrong with it' : `it fails; again: ${commandFor(file)}`);
  return isWell;
}

const outDir = await bundled();
try {
  const isWell = values.script ? await walkFile(outDir, values.script) : await walkMany(outDir);
  process.exitCode = isWell ? 0 : 1;
} finally {
  rmSync(outDir, { recursive: true, force: true });
}
