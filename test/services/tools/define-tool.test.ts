import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineTool, preloadTools } from '../../../services/tools/define-tool.ts';
import { fileTools } from '../../../services/tools/files/index.ts';
import { todoWriteTool } from '../../../services/tools/todo-write.ts';
import { contextIn } from './files/kit.ts';

const echo = (
  load: () => void,
  schema = z.strictObject({ word: z.string(), times: z.int().optional() }),
) =>
  defineTool({
    name: 'Echo',
    description: 'Says it again',
    inputSchema: { type: 'object', properties: { word: {}, times: {} }, required: ['word'] },
    isReadOnly: () => true,
    touches: () => ({ kind: 'nothing' }),
    gist: () => 'echo',
    load: async () => {
      load();
      return { schema, call: async ({ word }) => ({ content: word }) };
    },
  });

test('the heavy half is loaded once, when it is needed', async () => {
  let loads = 0;
  const tool = echo(() => {
    loads += 1;
  });
  expect(loads).toBe(0);
  await preloadTools([tool]);
  await tool.parse({ word: 'a' });
  expect(await tool.call({ word: 'b' }, contextIn('/'))).toEqual({ content: 'b' });
  expect(loads).toBe(1);
});

test('a load that failed is tried again', async () => {
  let loads = 0;
  const tool = echo(() => {
    loads += 1;
    if (loads === 1) throw new Error('no such module');
  });
  await preloadTools([tool]);
  expect(await tool.parse({ word: 'a' })).toEqual({ ok: true, input: { word: 'a' } });
});

test('input that was changed after it was parsed is judged again', async () => {
  const output = await echo(() => undefined).call({ word: 7, extra: 1 }, contextIn('/'));
  expect(output).toEqual({
    content:
      'Invalid input: `word`: expected string, received number; unexpected parameter `extra`. ' +
      'Parameters: word, times?.',
    isError: true,
  });
  expect(await echo(() => undefined).parse('word')).toMatchObject({ ok: false });
});

test('what the tools touch is seen without loading them', () => {
  const touches = (name: string, input: Record<string, unknown>) =>
    fileTools()
      .find((tool) => tool.name === name)
      ?.touches(input);
  expect(touches('Read', { file_path: '~/a' })).toEqual({ kind: 'read', paths: ['~/a'] });
  expect(touches('MultiEdit', { file_path: 'a' })).toEqual({ kind: 'edit', paths: ['a'] });
  expect(touches('Glob', { pattern: '*.ts' })).toEqual({ kind: 'read', paths: ['.'] });
  expect(touches('Glob', { pattern: '../x/**/*.ts', path: 'src' })).toEqual({
    kind: 'read',
    paths: ['x'],
  });
  expect(touches('Glob', { pattern: '/etc/*', path: 'src' })).toEqual({
    kind: 'read',
    paths: ['/etc'],
  });
  expect(touches('Glob', { pattern: '/*' })).toEqual({ kind: 'read', paths: ['/'] });
  expect(touches('Grep', { pattern: 'x' })).toEqual({ kind: 'read', paths: ['.'] });
  expect(touches('Grep', {})).toEqual({ kind: 'read', paths: ['.'] });
});

test('descriptions are short', () => {
  const tools = [...fileTools(), todoWriteTool];
  const chars = tools.reduce((sum, { description }) => sum + description.length, 0);
  expect(chars).toBeLessThan(1_200);
});

test('listing the tools imports nothing heavy', async () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'escapement-tools-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  await build({
    logLevel: 'silent',
    configFile: false,
    build: {
      ssr: fileURLToPath(new URL('../../../services/tools/files/index.ts', import.meta.url)),
      outDir: folder,
      rollupOptions: { output: { entryFileNames: 'index.mjs' } },
    },
  });
  // No package can be found from there, so an import that is not lazy fails.
  const script = "import('./index.mjs').then((m) => console.log(m.fileTools().length))";
  expect(execFileSync(process.execPath, ['-e', script], { cwd: folder, encoding: 'utf8' })).toBe(
    '6\n',
  );
});
