/** What docs/testing.md and the README show of the kit is run here, as it stands there. */
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { query } from 'escapement';
import { callTool, createScriptedServer, overloaded, say } from 'escapement/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { paths, walk } from '../../docs/examples/test-your-guard.ts';

let folder = '';
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'escapement-kit-')));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

describe('docs/examples/test-your-guard.ts', () => {
  const found = paths();
  it('has a path for every transition of its world', () => {
    expect(found.length).toBeGreaterThan(2);
    const taken = new Set(found.flatMap(({ transitions }) => transitions));
    expect(taken.size).toBe(8);
  });
  it.each(found.map((path) => [path.title, path] as const))('%s', (_, path) => walk(path, folder));
  it.each(found.map((path) => [path.title, path] as const))(
    'with failures from seeds: %s',
    async (_, path) => {
      for (const seed of [1, 2, 3]) await walk(path, folder, seed);
    },
  );
});

describe('README.md', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const section = readme.slice(readme.indexOf('## Test what you build on it'));
  const snippet = /```ts\n([\s\S]*?)```/.exec(section)?.[1] ?? '';

  it('the snippet of the kit does what it says', async () => {
    writeFileSync(join(folder, 'package.json'), '{"name":"what-this-is"}');
    vi.spyOn(process, 'cwd').mockReturnValue(folder);
    vi.stubEnv('ESCAPEMENT_HOME', folder);
    vi.stubEnv('ESCAPEMENT_RETRY_BASE_MS', '2');
    vi.stubEnv('ANTHROPIC_BASE_URL', 'http://127.0.0.1:1');
    const said: unknown[][] = [];
    vi.spyOn(console, 'log').mockImplementation((...words) => void said.push(words));
    // The names that it imports are given to it; the rest is run as it stands.
    const body = snippet.replaceAll(/^import .*\n/gm, '');
    const names = { query, callTool, createScriptedServer, overloaded, say };
    const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
    await new AsyncFunction(...Object.keys(names), body)(...Object.values(names));
    expect(said).toEqual([['done', []]]);
  });
});
