/** What every store of sessions must do. Used by the tests of each store. */
import { expect, it } from 'vitest';
import type { JournalRecord, JournalStore } from '../../../services/journal/store.ts';
import { SessionInUseError } from '../../../services/journal/store.ts';

const note = (n: number): JournalRecord => ({ type: 'note', n, text: 'ä\n"€😀\u0000' });

async function readAll(store: JournalStore, sessionId: string): Promise<readonly unknown[]> {
  const records: unknown[] = [];
  for await (const stored of store.readBack(sessionId)) {
    records.push(stored.kind === 'record' ? stored.record : stored);
  }
  return records;
}

/** @param makeStore an empty store each time. */
export function conformsToJournalStore(makeStore: () => JournalStore): void {
  it('records come back whole, newest first, also while somebody writes', async () => {
    const store = makeStore();
    const writer = await store.open('s1');
    for (let n = 0; n < 3; n += 1) writer.append(note(n));
    await writer.commit();
    expect(await readAll(store, 's1')).toEqual([note(2), note(1), note(0)]);
    expect(await store.first('s1')).toEqual(note(0));
    await writer.close();
  });

  it('a session that was closed is gone on with', async () => {
    const store = makeStore();
    const first = await store.open('s1');
    first.append(note(1));
    await first.close();
    await first.close();
    const second = await store.open('s1');
    expect(second.cutBytes).toBe(0);
    second.append(note(2));
    await second.close();
    expect(await readAll(store, 's1')).toEqual([note(2), note(1)]);
  });

  it('has one writer: a second one is refused by name until the first has closed', async () => {
    const store = makeStore();
    const writer = await store.open('s1');
    await expect(store.open('s1')).rejects.toThrow(SessionInUseError);
    await expect(store.open('s1')).rejects.toThrow(/s1 is in use/);
    await expect(store.delete('s1')).rejects.toThrow(SessionInUseError);
    const other = await store.open('s2');
    await other.close();
    await writer.close();
    await (await store.open('s1')).close();
  });

  it('knows its sessions, and forgets what is deleted', async () => {
    const store = makeStore();
    expect(await store.list()).toEqual([]);
    for (const id of ['s1', 's2']) {
      const writer = await store.open(id);
      writer.append(note(1));
      await writer.close();
    }
    const listed = await store.list();
    expect(listed.map(({ sessionId }) => sessionId).sort()).toEqual(['s1', 's2']);
    for (const { modifiedMs, sizeBytes } of listed) {
      expect(modifiedMs).toBeGreaterThan(0);
      expect(sizeBytes).toBeGreaterThan(10);
    }
    expect(await store.delete('s1')).toBe(true);
    expect(await store.delete('s1')).toBe(false);
    expect(await readAll(store, 's1')).toEqual([]);
    expect(await store.first('s1')).toBeUndefined();
    expect((await store.list()).map(({ sessionId }) => sessionId)).toEqual(['s2']);
  });

  it('keeps records apart whatever their size', async () => {
    const store = makeStore();
    const writer = await store.open('s1');
    const sizes = [1, 300_000, 2, 262_143, 262_144, 3];
    for (const size of sizes) writer.append({ type: 'note', text: 'é'.repeat(size) });
    await writer.close();
    const back = (await readAll(store, 's1')) as { text: string }[];
    expect(back.map(({ text }) => text.length)).toEqual([...sizes].reverse());
  });

  it('what is appended after the close is not stored', async () => {
    const store = makeStore();
    const writer = await store.open('s1');
    writer.append(note(1));
    await writer.close();
    writer.append(note(2));
    expect(await readAll(store, 's1')).toEqual([note(1)]);
  });
}
