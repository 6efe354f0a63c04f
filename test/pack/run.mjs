#!/usr/bin/env node
/**
 * `npm run test:pack`: the packages as they would be published, installed by consumers with and
 * without an XState of their own, by `npm install` and by `npm ci`. The last line counts.
 */
import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const here = path.join(root, 'test', 'pack');
const work = mkdtempSync(path.join(tmpdir(), 'escapement-pack-'));
/** A registry that does not answer must not hang the build. */
const COMMAND_MS = 180_000;
const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=warn'];

let passed = 0;
let failed = 0;
/** @param {string} name @param {() => unknown} holds false or a text: what is wrong */
async function check(name, holds) {
  const wrong = await Promise.resolve()
    .then(holds)
    .catch((error) => String(error));
  const isGood = wrong === undefined || wrong === true;
  isGood ? passed++ : failed++;
  console.log(`${isGood ? '✓' : '✗'} ${name}${isGood ? '' : `\n  ${wrong}`}`);
}

/**
 * @param {string} command @param {readonly string[]} args @param {string} cwd
 * @returns {Promise<{ code: number, stdout: string, stderr: string }>}
 */
const run = (command, args, cwd) =>
  new Promise((resolve) => {
    const options = { cwd, timeout: COMMAND_MS, maxBuffer: 64_000_000 };
    execFile(command, [...args], options, (error, stdout, stderr) => {
      const code = error ? (typeof error.code === 'number' ? error.code : 1) : 0;
      resolve({ code, stdout, stderr: error && !stderr ? String(error) : stderr });
    });
  });
/** @param {Awaited<ReturnType<typeof run>>} result */
const worked = ({ code, stdout, stderr }) =>
  code === 0 || `exit ${code}\n${stdout.slice(-2_000)}\n${stderr.slice(-2_000)}`;

// ── build and pack ──

/** Milliseconds since 1970 of the newest file below. @param {string} file @returns {number} */
function newest(file) {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats) return 0;
  if (!stats.isDirectory()) return stats.mtimeMs;
  const names = readdirSync(file).filter((name) => name !== 'node_modules' && name !== 'dist');
  return Math.max(0, ...names.map((name) => newest(path.join(file, name))));
}
const sources = ['machines', 'services', 'src', 'tsdown.config.ts', 'package.json'];
const built = ['dist/index.mjs', 'dist/index.d.mts', 'src/inspect/xstate-inspect/dist/index.mjs'];
const isBuilt = () => {
  const sourceMs = Math.max(...sources.map((name) => newest(path.join(root, name))));
  return built.every((name) => newest(path.join(root, name)) > sourceMs);
};

/** What may be in a package. */
const wanted =
  /^(dist\/.*\.m?[jt]s|docs\/.*|machines\/[^/]*|(README|CONTRIBUTING)\.md|LICENSE|package\.json)$/;
const FILE_BYTES_MAX = 3_000_000;

/** @param {unknown} target an entry of `exports` or `bin` @returns {string[]} */
const targets = (target) =>
  typeof target === 'string'
    ? [target.replace(/^\.\//, '')]
    : Object.values(/** @type {object} */ (target ?? {})).flatMap(targets);

/** @param {string} folder of the package @returns {Promise<string>} the tarball */
async function pack(folder) {
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', work];
  const packing = await run('npm', args, path.join(root, folder));
  if (packing.code !== 0) throw new Error(packing.stderr);
  const said = JSON.parse(packing.stdout);
  const [report] = Array.isArray(said) ? said : Object.values(said);
  const { default: manifest } = await import(path.join(root, folder, 'package.json'), {
    with: { type: 'json' },
  });
  /** @type {{ path: string, size: number }[]} */
  const files = report.files;
  const names = files.map((file) => file.path);
  await check(`${report.name}: nothing in it that nobody needs`, () => {
    const junk = files.filter((file) => !wanted.test(file.path) || file.size > FILE_BYTES_MAX);
    return junk.length === 0 || junk.map((file) => file.path).join(', ');
  });
  await check(`${report.name}: everything that it promises is in it`, () => {
    const { exports, bin, types } = manifest;
    const promised = [exports, bin, types].flatMap(targets);
    const missing = [...promised, 'README.md', 'LICENSE'].filter((name) => !names.includes(name));
    return missing.length === 0 || missing.join(', ');
  });
  return path.join(work, report.filename);
}

// ── consumers ──

/** @param {string} name @param {Record<string, string>} dependencies @param {string[]} tarballs */
async function consume(name, dependencies, tarballs) {
  const folder = path.join(work, name.replaceAll(' ', '-'));
  mkdirSync(folder);
  const manifest = { name: 'consumer', private: true, type: 'module', dependencies };
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest));
  for (const file of ['consumer.mjs', 'consumer.ts']) {
    cpSync(path.join(here, file), path.join(folder, file));
  }
  const hasXState = 'xstate' in dependencies;
  const uses = async () => {
    const args = ['consumer.mjs', ...(hasXState ? ['--xstate'] : [])];
    const used = await run(process.execPath, args, folder);
    const expected = {
      answer: 'hello',
      machines: hasXState ? ['of the host', 'query'] : ['query'],
      states: 6,
      ours: '5.33.3',
      bridges: '4.38.3',
    };
    const isRight = used.code === 0 && used.stdout.trim() === JSON.stringify(expected);
    return isRight || `${worked(used)}\n${used.stdout}\n${JSON.stringify(expected)}`;
  };
  const installing = await run('npm', ['install', ...quiet, ...tarballs], folder);
  await check(`${name}: npm install`, () => worked(installing));
  await check(`${name}: no conflict of versions`, () => {
    const said = installing.stdout + installing.stderr;
    return !/ERESOLVE|EBADENGINE|peer/i.test(said) || said;
  });
  await check(`${name}: npm ls`, async () => worked(await run('npm', ['ls', '--all'], folder)));
  await check(`${name}: both packages work, each with its XState`, uses);
  await check(`${name}: the CLI starts`, async () => {
    const bin = path.join('node_modules', '.bin', 'escapement');
    return worked(await run(bin, ['--version'], folder));
  });
  await check(`${name}: npm ci`, async () => worked(await run('npm', ['ci', ...quiet], folder)));
  await check(`${name}: … and both still work`, uses);
  return folder;
}

/** @param {string} folder */
async function typed(folder) {
  cpSync(
    path.join(root, 'node_modules', '@types', 'node'),
    path.join(folder, 'node_modules', '@types', 'node'),
    { recursive: true },
  );
  const flags = '--noEmit --strict --skipLibCheck --module NodeNext --target ES2023 --types node';
  const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  return worked(await run(process.execPath, [tsc, ...flags.split(' '), 'consumer.ts'], folder));
}

try {
  if (!isBuilt())
    await check('build', async () => worked(await run('npm', ['run', 'build'], root)));
  const tarballs = [await pack('.'), await pack('src/inspect/xstate-inspect')];
  const [, withXState] = await Promise.all([
    consume('consumer without xstate', {}, tarballs),
    consume('consumer with xstate', { xstate: '^5.0.0' }, tarballs),
  ]);
  await check('the types are found', () => typed(withXState));
} catch (error) {
  await check('packing', () => String(error));
} finally {
  rmSync(work, { recursive: true, force: true });
}
console.log(`pack: ${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
