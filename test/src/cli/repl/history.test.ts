import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PromptHistory } from '../../../../src/cli/repl/history.ts';

let folder: string;
let file: string;
let problems: string[];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'escapement-history-'));
  file = path.join(folder, 'home', 'history');
  problems = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function open(at = file): Promise<PromptHistory> {
  const history = new PromptHistory(at, (text) => problems.push(text));
  await history.load();
  return history;
}

it('outlives the session, for its owner alone; several lines stay one entry', async () => {
  const first = await open();
  for (const text of ['one', 'two\nlines', 'two\nlines', ' not this', '  ', 'x'.repeat(20_000)]) {
    first.add(text);
  }
  await first.flush();
  expect((await open()).entries).toEqual(['one', 'two\nlines']);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
});

it('two sessions at once lose nothing', async () => {
  const [one, two] = [await open(), await open()];
  for (let index = 0; index < 50; index++) {
    one.add(`a${index}`);
    two.add(`b${index}`);
  }
  await Promise.all([one.flush(), two.flush()]);
  expect((await open()).entries).toHaveLength(100);
});

it('is bounded, in memory and on disk', async () => {
  const first = await open();
  first.add('first');
  await first.flush();
  writeFileSync(file, Array.from({ length: 3_000 }, (_, n) => `"entry ${n}"\n`).join(''));
  const next = await open();
  expect(next.entries).toHaveLength(1_000);
  expect(next.entries.at(-1)).toBe('entry 2999');
  await next.flush();
  expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(1_001);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it('torn lines are left out, a folder in its place is said once', async () => {
  const torn = path.join(folder, 'torn');
  writeFileSync(torn, '"good"\n"half\n{"no":"string"}\n"also good"\n');
  expect((await open(torn)).entries).toEqual(['good', 'also good']);
  const broken = await open(folder);
  broken.add('one');
  broken.add('two');
  await broken.flush();
  expect(broken.entries).toEqual(['one', 'two']);
  expect(problems).toHaveLength(1);
});
