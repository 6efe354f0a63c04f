import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createReattach } from '../../../services/recovery/reattach.ts';
import { FileState, fingerprintOf } from '../../../services/tools/files/file-state.ts';
import type { Todo } from '../../../services/tools/todos.ts';
import { call, user } from '../preprocess/histories.ts';

const todo = (content: string, status: Todo['status']): Todo => ({
  content,
  status,
  activeForm: content,
});
const signal = new AbortController().signal;
const setup = async (contents: Record<string, string | Buffer>, todos: readonly Todo[] = []) => {
  const folder = await mkdtemp(join(tmpdir(), 'reattach-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const files = new FileState();
  for (const [name, content] of Object.entries(contents)) {
    const path = join(folder, name);
    await writeFile(path, content);
    const fingerprint = fingerprintOf(await stat(path, { bigint: true }), 'h');
    files.noteShown({ realPath: path, path, fingerprint }, 'all', `read ${name}`);
  }
  let n = 0;
  const reattach = createReattach({
    files: () => files,
    todos: () => todos,
    uuid: () => `r${n++}`,
    now: Date.now,
  });
  const run = async (kept = [user('go')], tokensMax = 20_000) => {
    const messages = await reattach({ kept, tokensMax, signal });
    expect(messages.every((m) => m.isMeta && m.origin === 'attachment')).toBe(true);
    return messages.map(({ content: [block] }) => (block?.type === 'text' ? block.text : ''));
  };
  return { folder, files, run };
};

it('CMP-04 open todos come back with their states; a finished list does not', async () => {
  const open = await setup({}, [
    todo('A', 'completed'),
    todo('B', 'in_progress'),
    todo('C', 'pending'),
  ]);
  expect(await open.run()).toEqual([
    'Your todo list, as it stands:\n- [completed] A\n- [in_progress] B\n- [pending] C',
  ]);
  const done = await setup({}, [todo('A', 'completed')]);
  expect(await done.run()).toEqual([]);
});

it('the newest five files as they are now, each cut to its share', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const w = await setup(Object.fromEntries(names.map((name) => [name, `content of ${name}`])));
  await writeFile(join(w.folder, 'f'), 'f has changed');
  const texts = await w.run();
  expect(texts).toHaveLength(5);
  expect(texts[0]).toBe(`${join(w.folder, 'f')}, as it is now:\n\nf has changed`);
  expect(texts.join()).not.toContain('content of a');
  const long = await setup({ big: 'long line \u{1f389}\n'.repeat(20_000) });
  const [text = ''] = await long.run();
  expect(text.length).toBeLessThan(15_200);
  expect(text).toMatch(/more characters: read the file for them\]$/);
});

it('leaves out what the kept rounds show, what is no text, and what is gone', async () => {
  const w = await setup({ kept: 'k', binary: Buffer.from([0, 1, 2, 255]), gone: 'g', here: 'h' });
  await rm(join(w.folder, 'gone'));
  const kept = call('m', 'c', 'Read', { file_path: join(w.folder, 'kept') });
  expect(await w.run([kept])).toEqual([`${join(w.folder, 'here')}, as it is now:\n\nh`]);
});

it('stays within the room that a small window has', async () => {
  const w = await setup({ a: 'x'.repeat(9_000), b: 'y'.repeat(9_000) });
  expect((await w.run(undefined, 1_000)).join('').length).toBeLessThan(3_300);
});

it('a read after the summary shows its file again', async () => {
  const w = await setup({ a: 'x' });
  await w.run();
  expect(w.files.recent(1)[0]?.shown.size).toBe(0);
});
