/** TRN-09: what is old is not needed. What it costs is measured by `npm run bench -- journal`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FileJournalStore } from '../../../services/journal/file-store.ts';
import { restore } from '../../../services/journal/restore.ts';
import { chatty, summedTotals, summedUp, torn } from '../../tools/big-sessions.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'escapement-big-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const restored = async () => {
  const found = await restore(new FileJournalStore({ folder }), 's');
  if (!found) throw new Error('no session');
  return found;
};

it('of a session that was summed up, the summary and what came after it', async () => {
  summedUp(join(folder, 's.jsonl'), 12, 4);
  const found = await restored();
  expect(found.messages[0]?.uuid).toBe('sum');
  expect(found.messages.length).toBeGreaterThan(900);
  expect(found).toMatchObject({ totals: summedTotals, gaps: 0 });
});

it('of a session that is mostly progress, its messages', async () => {
  chatty(join(folder, 's.jsonl'), 400);
  expect((await restored()).messages).toHaveLength(400);
});

it('of a session with gaps everywhere, everything', async () => {
  torn(join(folder, 's.jsonl'), 20_000);
  const found = await restored();
  expect(found.messages).toHaveLength(20_000);
  expect(found.gaps).toBe(20_000);
});
