import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { expect, test } from 'vitest';
import { box } from './kit.ts';

const sources = fileURLToPath(new URL('../../../../services/tools/files/', import.meta.url));

/** `write-atomically.ts` for a process of its own: this Node can not run TypeScript. */
const bundle = async (folder: string): Promise<string> => {
  await build({
    logLevel: 'silent',
    configFile: false,
    build: {
      ssr: path.join(sources, 'write-atomically.ts'),
      outDir: folder,
      rollupOptions: { output: { entryFileNames: 'write.mjs' } },
    },
  });
  return path.join(folder, 'write.mjs');
};

/** Each starts a process, some 0.2 s. */
const ROUNDS = 12;

const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

test('FILE-09 kill -9 during a write leaves the old or the new content', {
  timeout: 60_000,
}, async () => {
  const b = box();
  const library = await bundle(path.join(b.cwd, 'bundle'));
  const folder = path.join(b.cwd, 'w');
  const file = b.put('w/f', '');
  const script = b.put(
    'child.mjs',
    `import { readFileSync, statSync } from 'node:fs';
     import { writeAtomically } from ${JSON.stringify(library)};
     const target = ${JSON.stringify(file)};
     const before = { stats: statSync(target, { bigint: true }), bytes: readFileSync(target) };
     const bytes = Buffer.alloc(10_000_000, 'new ');
     const { signal } = new AbortController();
     process.stdout.write('ready');
     const result = await writeAtomically({ target, bytes, before, signal });
     process.stdout.write(result.ok ? 'done' : result.message);`,
  );
  const old = Buffer.alloc(1_000_000, 'old ');
  const allowed = new Map([
    [hash(old), 'old'],
    [hash(Buffer.alloc(10_000_000, 'new ')), 'new'],
  ]);
  const seen = new Set<string>();
  for (let round = 0; round < ROUNDS; round += 1) {
    writeFileSync(file, old);
    const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const closed = new Promise((resolve) => child.once('close', resolve));
    await said(child, 'ready');
    // From long before the new content is complete to after it has taken the file's place.
    if (round < ROUNDS - 1) await sleep(round * round);
    else await said(child, 'done');
    child.kill('SIGKILL');
    await closed;
    const state = allowed.get(hash(readFileSync(file)));
    expect(state).toBeDefined();
    seen.add(state ?? '');
  }
  expect([...seen].sort()).toEqual(['new', 'old']);
  // What was left behind is there for no tool.
  writeFileSync(path.join(folder, 'g'), 'new');
  expect(await b.ok('Glob', { pattern: 'w/*' })).toBe(`${path.join(folder, 'g')}\n${file}`);
  expect((await b.ok('Grep', { pattern: 'new', path: 'w' })).split('\n').sort()).toEqual([
    'w/f',
    'w/g',
  ]);
  expect(readdirSync(folder).every((name) => /^(f|g|\.escapement-.*\.tmp)$/.test(name))).toBe(true);
});

const said = (child: ChildProcess, word: string): Promise<void> =>
  new Promise((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes(word)) resolve();
    });
    child.once('close', () => reject(new Error(`ended without "${word}"`)));
  });
