/**
 * Before the tests: `dist/cli.mjs`, as it is shipped, when a source is newer than it. Only the CLI
 * and no types, which takes seconds. Several test runs may start at once in one checkout: one of
 * them builds, the others wait for it.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const sources = ['machines', 'services', 'src', 'tsdown.config.ts', 'package.json'];
const built = path.join(root, 'dist', 'cli.mjs');
/** Says why the last build failed; `test/tools/cli.ts` shows it to the tests that need the CLI. */
export const failureFile = path.join(root, 'dist', '.build-failed');
const lock = path.join(root, 'dist', '.build-lock');

const LOCK_MS = 60_000; // far above a build; an older lock belongs to a dead process
const POLL_MS = 100;

/** Milliseconds since 1970 of the newest file below. */
function newest(file: string): number {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats) return 0;
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(0, ...readdirSync(file).map((name) => newest(path.join(file, name))));
}

const isBuilt = (): boolean => {
  const sourceMs = Math.max(...sources.map((name) => newest(path.join(root, name))));
  const isNewer = (file: string) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  // A failed build of these very sources is not tried again, either.
  return Math.max(isNewer(built), isNewer(failureFile)) > sourceMs;
};

function takeLock(): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    const ageMs = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (ageMs > LOCK_MS) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}

/** vitest's globalSetup. A build that fails fails the tests of the CLI, not all others. */
export default async function setup(): Promise<void> {
  mkdirSync(path.dirname(lock), { recursive: true });
  while (!isBuilt()) {
    if (!takeLock()) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      continue;
    }
    try {
      build();
    } finally {
      rmdirSync(lock);
    }
    return;
  }
}

function build(): void {
  const tsdown = path.join(root, 'node_modules', 'tsdown', 'dist', 'run.mjs');
  const env = { ...process.env, ESCAPEMENT_BUILD: 'cli' };
  try {
    execFileSync(process.execPath, [tsdown], { cwd: root, env, stdio: 'pipe' });
    rmSync(failureFile, { force: true });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: Buffer; stderr?: Buffer };
    writeFileSync(failureFile, `${stdout ?? ''}${stderr ?? ''}${error}`);
    console.error('dist/cli.mjs could not be built; the tests of the CLI will say so');
  }
}
