#!/usr/bin/env node
/**
 * `npm run fuzz -- --seed N --runs K [--beside B]`: K random walks through the engine; only what
 * always holds is checked. A walk that fails is cut down, kept in `test/fuzz-regressions` (which
 * `npm test` walks again), and said with the command that walks it. One that does not fail again
 * when it is walked alone is a failure, too, but nothing that `npm test` could walk: it is only said.
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
/** More are walked alone, but not cut down. */
const CUT_DOWN_MAX = 6;
/** A process that says nothing for so long hangs: above what a walk, or a walk cut down, may take. */
const SILENCE_MS = 10 * 60_000;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '100' },
    from: { type: 'string', default: '0' },
    beside: { type: 'string', default: '8' },
    script: { type: 'string' },
  },
});
function count(name, least = 0) {
  const number = values[name].trim() === '' ? Number.NaN : Number(values[name]);
  if (Number.isSafeInteger(number) && number >= least) return number;
  console.error(`--${name} must be a whole number of at least ${least}, not "${values[name]}"`);
  return process.exit(2);
}
const [seed, runs, from, beside] = [
  count('seed'),
  count('runs', 1),
  count('from'),
  count('beside', 1),
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
  // Walked in this order: the first of those that are open are at work.
  const open = new Set(what.numbers);
  let isDone = false;
  let end;
  let silence;
  const listen = () => {
    clearTimeout(silence);
    silence = setTimeout(() => {
      end = { name: 'hang', detail: `the process has said nothing for ${SILENCE_MS} ms` };
      child.kill('SIGKILL');
    }, SILENCE_MS);
  };
  listen();
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    listen();
    if (!line.startsWith('{')) return console.log(line);
    const said = JSON.parse(line);
    if (said.type === 'done') isDone = true;
    if (said.type === 'walked') open.delete(said.number);
    hear(said);
  });
  const [code, signal] = await once(child, 'close');
  clearTimeout(silence);
  if (isDone && end === undefined) return;
  end ??= { name: 'stray', detail: `the process ended: ${code ?? signal}` };
  hear({ type: 'stray', ...end, numbers: [...open].slice(0, beside) });
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
      failures.push({ problems: [{ name: said.name ?? 'stray', detail }] });
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

/** @param at more than the first few are not cut down. */
async function report(outDir, { problems, walk, number }, at) {
  const [{ name, detail }] = problems;
  console.log(`\n── ${name} ──\n${brief(detail)}`);
  if (!walk) return;
  const again = await againAlone(outDir, walk, name, at < CUT_DOWN_MAX);
  if (!again) {
    const one = `--seed ${seed} --from ${number} --runs 1`;
    console.log(`alone it does not fail again: it takes a busy machine, or luck. It was ${one}`);
    return;
  }
  const word = name.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase();
  const file = path.join(regressions, `${word}-${seed}-${number}.json`);
  mkdirSync(regressions, { recursive: true });
  writeFileSync(file, `${JSON.stringify(again, null, 2)}\n`);
  console.log(`kept: ${brief(JSON.stringify(again))}\nagain: ${commandFor(file)}`);
}

/** @returns the walk, cut down if wanted, or `undefined` when it does not fail alone. */
async function againAlone(outDir, walk, name, isCutDown) {
  const file = path.join(outDir, 'walk.json');
  writeFileSync(file, JSON.stringify(walk));
  let again;
  const what = isCutDown ? { kind: 'cut down', file, name } : { kind: 'walk', file, times: 2 };
  await order(outDir, what, (said) => {
    if (said.type === 'smaller' && said.tries > 0) again = said.walk;
    if (said.type === 'walked' && said.problems.some((one) => one.name === name)) again = walk;
  });
  return again;
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
