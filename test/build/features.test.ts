/**
 * Mechanisms that a bundle may leave out: without one its code is gone, not only switched off, and
 * what is left still works. The bundles are made as a host makes its own, by a bundler that defines
 * the constant.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Rolldown } from 'tsdown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as features from '../../services/features.ts';
import { callTool, say, startScriptedServer } from '../../src/testing/index.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
type Feature = keyof typeof features;

/** The modules that are nothing but the mechanism, and words that nothing else says. */
const mechanisms: Record<Feature, { modules: readonly string[]; words: readonly string[] }> = {
  HISTORY_SNIP: {
    modules: ['services/preprocess/snip.ts', 'src/snip-replay.ts'],
    words: ['createSnip', 'messages before this were dropped'],
  },
  CACHED_MICROCOMPACT: {
    modules: [
      'services/model/context-editing.ts',
      'services/preprocess/cached-microcompact.ts',
      'src/cached-microcompact.ts',
    ],
    words: ['clear_tool_uses_20250919', 'context-management-2025-06-27', 'applied_edits'],
  },
  CONTEXT_COLLAPSE: {
    modules: [
      'services/collapse/ask-fold.ts',
      'services/collapse/choose-batch.ts',
      'services/collapse/collapse.ts',
      'services/collapse/fold-prompt.ts',
      'services/collapse/project.ts',
      'services/collapse/render.ts',
      'services/collapse/segments.ts',
      'services/collapse/staging.ts',
      'src/context-collapse.ts',
    ],
    words: ['createCollapse', "You shorten the record of an agent's work"],
  },
  REACTIVE_COMPACT: {
    modules: ['services/recovery/reactive-compact.ts'],
    words: ['createReactiveCompact'],
  },
  TOKEN_BUDGET: {
    modules: ['machines/token-budget.ts', 'src/prompt-budget.ts'],
    words: ['checkTokenBudget', 'of the token budget is used'],
  },
};
const names = Object.keys(mechanisms) as Feature[];

/** The library, with its packages left outside. Below the root, so that they are found. */
async function bundle(without: readonly Feature[]): Promise<{ file: string; code: string }> {
  const define = Object.fromEntries(without.map((name) => [`ESCAPEMENT_${name}`, 'false']));
  const input = join(root, 'src/index.ts');
  const build = await Rolldown.rolldown({
    ...{ input, platform: 'node', cwd: root, transform: { define } },
    external: /^[^./]/,
  });
  const dir = mkdtempSync(join(folder, 'bundle-'));
  const { output } = await build.write({ dir, format: 'esm', entryFileNames: 'index.mjs' });
  const code = output.map((part) => (part.type === 'chunk' ? part.code : '')).join('\n');
  return { file: join(dir, 'index.mjs'), code };
}
/** Modules of which anything is left: the bundler says where each begins. */
const modulesIn = (code: string) =>
  new Set([...code.matchAll(/^\/\/#region (.*)$/gm)].map(([, name]) => name));

let folder = '';
beforeAll(() => {
  const cache = join(root, 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, 'escapement-bundles-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A turn with a tool, in a process of its own. @returns what the host got of the result. */
async function turnWith(file: string, settings: Record<string, unknown> = {}) {
  const server = await startScriptedServer({
    replies: [callTool('Glob', { pattern: '*.none' }), say('done')],
  });
  const home = mkdtempSync(join(tmpdir(), 'escapement-bundle-home-'));
  const program = `
    const { query } = await import(${JSON.stringify(file)});
    const options = ${JSON.stringify({ cwd: home, model: 'claude-sonnet-4-5', settingSources: [], settings })};
    for await (const message of query({ prompt: 'do it', options }))
      if (message.type === 'result') console.log(message.terminal_reason, message.result);`;
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    ESCAPEMENT_HOME: home,
    ANTHROPIC_BASE_URL: server.url,
    ANTHROPIC_API_KEY: 'a key of no value',
  };
  try {
    const node = await run(process.execPath, ['--input-type=module', '-e', program], { env });
    expect(server.violations).toEqual([]);
    return node.stdout.trim();
  } finally {
    await server.close();
    rmSync(home, { recursive: true, force: true });
  }
}

describe('a bundle', () => {
  it('has every mechanism, unless it is told otherwise', async () => {
    expect(Object.keys(features).sort()).toEqual([...names].sort());
    const { code } = await bundle([]);
    const there = modulesIn(code);
    for (const { modules, words } of Object.values(mechanisms)) {
      expect(modules.filter((name) => !there.has(name))).toEqual([]);
      expect(words.filter((word) => !code.includes(word))).toEqual([]);
    }
  });

  it.each(names)('without %s has none of its code, all of the others’, and works', async (name) => {
    const { code, file } = await bundle([name]);
    const there = modulesIn(code);
    for (const other of names) {
      const { modules, words } = mechanisms[other];
      const [isThere, left] = other === name ? [false, []] : [true, modules];
      expect(modules.filter((module) => there.has(module))).toEqual(left);
      expect(words.every((word) => code.includes(word) === isThere)).toBe(true);
    }
    expect(await turnWith(file)).toBe('completed done');
  });

  it('without any of them works, and says so when it is asked for one', async () => {
    const { code, file } = await bundle(names);
    const words = names.flatMap((name) => mechanisms[name].words);
    expect(words.filter((word) => code.includes(word))).toEqual([]);
    expect(await turnWith(file)).toBe('completed done');
    for (const settings of [
      { contextCollapse: true },
      { cachedMicrocompact: true },
      { historySnip: { maxMessages: 10 } },
      { tokenBudget: 5_000 },
    ]) {
      const [key] = Object.keys(settings);
      await expect(turnWith(file, settings)).rejects.toThrow(`${key}: this build has been made`);
    }
    const { QueryEngine } = await import(file);
    for (const config of [
      { gates: { contextCollapse: true } },
      { gates: { cachedMicrocompact: true } },
      { historySnip: { maxMessages: 10 } },
      { tokenBudget: 5_000 },
    ])
      expect(() => new QueryEngine(config)).toThrow('this build has been made without it');
  });
});

describe('our own build', () => {
  const tsdown = join(root, 'node_modules/tsdown/dist/run.mjs');
  const build = (without: string, dir: string) =>
    run(process.execPath, [tsdown, '--out-dir', dir], {
      cwd: root,
      env: { ...process.env, ESCAPEMENT_BUILD: 'cli', ESCAPEMENT_WITHOUT: without },
    });

  it('leaves out what the environment names', { timeout: 120_000 }, async () => {
    const dir = join(folder, 'cli');
    await build('CONTEXT_COLLAPSE,TOKEN_BUDGET', dir);
    const files = readdirSync(dir, { recursive: true, encoding: 'utf8' });
    const all = files
      .filter((name) => name.endsWith('.mjs'))
      .map((name) => readFileSync(join(dir, name), 'utf8'))
      .join('');
    expect(all).not.toContain('createCollapse');
    expect(all).not.toContain('checkTokenBudget');
    expect(all).toContain('createSnip');
  });

  it('refuses a name that there is not', async () => {
    await expect(build('CONTEXT_COLAPSE', join(folder, 'none'))).rejects.toThrow(
      /there is no CONTEXT_COLAPSE, only .*CONTEXT_COLLAPSE/,
    );
  });
});

it('the session knows none of them by name', () => {
  const files = ['query-engine.ts', 'engine-state.ts', 'submit.ts', 'enter-query.ts'];
  const engine = files.map((file) => readFileSync(join(root, 'src', file), 'utf8')).join('\n');
  expect([...names, 'features.ts'].filter((name) => engine.includes(name))).toEqual([]);
});
