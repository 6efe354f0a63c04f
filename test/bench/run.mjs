/**
 * Benchmarks, each by its name: `npm run bench -- cost context startup` (all when none is named).
 *
 *   cost     what a long session pays for its prompts, against the best that any client could pay
 *   context  CPU of one pass through the stages before a request, over a long history
 *   journal  what it takes to open a large session again
 *   startup  from the start of the process to the first request
 *
 * A bench is a file beside this one: `<name>.mjs` is run as it is, `<name>.ts` is bundled first.
 * Exit code 1 when a bench misses its own bound.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const root = path.join(folder, '../..');
const known = readdirSync(folder)
  .filter((file) => /\.(mjs|ts)$/.test(file) && file !== 'run.mjs')
  .map((file) => file.replace(/\.(mjs|ts)$/, ''));

const wanted = process.argv.slice(2).filter((name) => !name.startsWith('-'));
const strangers = wanted.filter((name) => !known.includes(name));
if (strangers.length > 0) {
  console.error(`no bench named ${strangers.join(', ')}: there are ${known.join(', ')}`);
  process.exit(2);
}

/** The bundle lies below `node_modules`, so that it finds the same packages. */
async function bundled(name) {
  const { build } = await import('tsdown');
  const cache = path.join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const outDir = mkdtempSync(path.join(cache, 'bench-'));
  await build({
    config: false,
    entry: { [name]: path.join(folder, `${name}.ts`) },
    outDir,
    format: 'esm',
    platform: 'node',
    dts: false,
    clean: false,
    logLevel: 'silent',
  });
  return {
    file: path.join(outDir, `${name}.mjs`),
    done: () => rmSync(outDir, { recursive: true }),
  };
}

async function run(name) {
  const script = path.join(folder, `${name}.mjs`);
  const { file, done } = existsSync(script)
    ? { file: script, done: () => {} }
    : await bundled(name);
  try {
    const child = spawn(process.execPath, [file], { stdio: 'inherit', cwd: root });
    const [code] = await once(child, 'exit');
    return code;
  } finally {
    done();
  }
}

let hasFailed = false;
for (const name of wanted.length > 0 ? wanted : known) {
  console.log(`\n── ${name} ──`);
  if ((await run(name)) !== 0) hasFailed = true;
}
process.exitCode = hasFailed ? 1 : 0;
