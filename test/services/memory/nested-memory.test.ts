/** Instructions of a part of the project, when finding them takes a while. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { begin } from '../../../machines/state.ts';
import { createNestedMemory, forgetToldIn } from '../../../services/memory/nested-memory.ts';
import { emptyHistory } from '../../../services/message-log.ts';
import type { StageWord } from '../../../services/preprocess/stage.ts';
import { fileStateOf } from '../../../services/tools/files/file-state.ts';
import { SessionToolState } from '../../../src/session.ts';

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'escapement-memory-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (name: string, text: string) => {
  mkdirSync(join(root, name, '..'), { recursive: true });
  writeFileSync(join(root, name), text);
};
const state = begin({ queryId: 'q', history: emptyHistory, model: 'm' });
const never = new AbortController().signal;

/** A session that has read files in these folders, and a guard that takes its time. */
const setup = (folders: readonly string[]) => {
  const toolState = new SessionToolState();
  const noteRead = (folder: string) => {
    const path = join(root, folder, 'a.ts');
    const fingerprint = { sizeBytes: 0n, mtimeNs: 0n };
    fileStateOf(toolState).noteShown({ realPath: path, path, fingerprint }, 'all', 'toolu');
  };
  for (const folder of folders) noteRead(folder);
  const over = new AbortController();
  const lives: Promise<void>[] = [];
  const loaded = new Set<string>();
  const waiting: (() => void)[] = [];
  const words: StageWord[] = [];
  const asked: string[] = [];
  let uuids = 0;
  const memory = createNestedMemory({
    ...{ root, userHome: root, toolState, loaded },
    tell: (word) => void words.push(word),
    mayRead: async (path) => {
      asked.push(path.slice(root.length + 1));
      if (path.includes('broken')) throw new Error('no guard');
      return path.includes('slow')
        ? new Promise((resolve) => waiting.push(() => resolve(true)))
        : delay(0, true);
    },
    beside: (work) => void lives.push(work(over.signal)),
    uuid: () => `u${++uuids}`,
    now: () => new Date(0),
  });
  const attached = async () => JSON.stringify(await memory.source(state, never));
  return {
    memory,
    attached,
    loaded,
    over,
    lives,
    noteRead,
    ...{ words, asked },
    letGo: () => waiting.splice(0).map((go) => go()),
  };
};

it('what is late is attached later, once, and the rest at once', async () => {
  write('slow/CLAUDE.md', 'slow rule');
  write('quick/CLAUDE.md', 'quick rule');
  const { memory, attached, letGo } = setup(['slow', 'quick']);
  memory.prefetch();
  const first = await attached();
  expect(first).toContain('quick rule');
  expect(first).not.toContain('slow rule');
  letGo();
  expect(await attached()).toMatch(/^(?!.*quick rule).*slow rule/);
  expect(await attached()).toBe('[]');
});

it('what two files import is attached once', async () => {
  write('shared.md', 'shared rule');
  write('a/CLAUDE.md', 'rule of a\n@../shared.md');
  write('b/CLAUDE.md', 'rule of b\n@../shared.md');
  const { attached, noteRead } = setup(['a', 'b']);
  const text = await attached();
  expect(text).toContain('rule of a');
  expect(text).toContain('rule of b');
  expect(text.match(/shared rule/g)).toHaveLength(1);
  write('c/CLAUDE.md', 'rule of c\n@../shared.md');
  noteRead('c');
  const later = await attached();
  expect(later).toContain('rule of c');
  expect(later).not.toContain('shared rule');
});

it('the end of the query ends the look; what was not attached counts as unread', async () => {
  write('slow/CLAUDE.md', 'slow rule');
  const { memory, attached, loaded, over, lives, letGo } = setup(['slow']);
  memory.prefetch();
  over.abort();
  await Promise.all(lives);
  letGo();
  await delay(5);
  expect(await attached()).toBe('[]');
  expect([...loaded]).toEqual([]);
});

it('after a summary, which keeps none of it, it is attached again', async () => {
  write('a/CLAUDE.md', 'rule of a');
  const { attached, loaded } = setup(['a']);
  expect(await attached()).toContain('rule of a');
  expect(await attached()).toBe('[]');
  loaded.clear();
  expect(await attached()).toContain('rule of a');
});

it('a failure takes nothing from what was found beside it, and is said', async () => {
  write('a/CLAUDE.md', 'rule of a');
  write('broken/CLAUDE.md', 'never read');
  write('c/CLAUDE.md', 'rule of c');
  const { attached, words } = setup(['a', 'broken', 'c']);
  const text = await attached();
  expect(text).toContain('rule of a');
  expect(text).toContain('rule of c');
  expect(words).toEqual([
    { type: 'warning', text: 'nested instructions are left out in part: no guard' },
  ]);
});

it('what gives nothing is opened once, and again when it has changed', async () => {
  write('a/CLAUDE.md', '  ');
  const { attached, asked } = setup(['a']);
  expect(await attached()).toBe('[]');
  expect(await attached()).toBe('[]');
  expect(asked).toEqual(['a/CLAUDE.md']);
  write('a/CLAUDE.md', 'now a rule');
  expect(await attached()).toContain('now a rule');
});

it('a link to what a summary has taken out of sight gives it again', async () => {
  write('rules.md', 'the rules');
  write('a/AGENTS.md', '');
  rmSync(join(root, 'a', 'AGENTS.md'));
  symlinkSync('../rules.md', join(root, 'a', 'AGENTS.md'));
  const { attached, loaded } = setup(['a']);
  expect(await attached()).toContain('the rules');
  expect(await attached()).toBe('[]');
  loaded.clear();
  expect(await attached()).toContain('the rules');
});

it('of messages that are out of sight, and of no others, it is attached again', async () => {
  write('a/CLAUDE.md', 'rule of a');
  write('b/CLAUDE.md', 'rule of b');
  const { memory, loaded, noteRead } = setup(['a']);
  const [first] = await memory.source(state, never);
  noteRead('b');
  await memory.source(state, never);
  forgetToldIn(loaded, [first?.uuid ?? '', 'of something else']);
  const again = JSON.stringify(await memory.source(state, never));
  expect(again).toContain('rule of a');
  expect(again).not.toContain('rule of b');
});
