/** What every store of sessions must do: a test for each promise, for any test framework. */
import assert from 'node:assert/strict';
import type { JournalRecord, JournalStore } from '../../services/journal/store.ts';
import { SessionInUseError } from '../../services/journal/store.ts';

export interface StorePromise {
  readonly title: string;
  /** Throws an `AssertionError` when the promise is not kept. */
  readonly check: () => Promise<void>;
}

const note = (n: number): JournalRecord => ({ type: 'note', n, text: 'ä\n"€😀\u0000' });

async function readAll(store: JournalStore, sessionId: string): Promise<readonly unknown[]> {
  const records: unknown[] = [];
  for await (const stored of store.readBack(sessionId)) {
    records.push(stored.kind === 'record' ? stored.record : stored);
  }
  return records;
}

async function write(store: JournalStore, sessionId: string, ...numbers: readonly number[]) {
  const writer = await store.open(sessionId);
  for (const n of numbers) writer.append(note(n));
  return writer;
}

const promises: Readonly<Record<string, (store: JournalStore) => Promise<void>>> = {
  'records come back whole, newest first, also while somebody writes': async (store) => {
    const writer = await write(store, 's1', 0, 1, 2);
    await writer.commit();
    assert.deepEqual(await readAll(store, 's1'), [note(2), note(1), note(0)]);
    assert.deepEqual(await store.first('s1'), note(0));
    await writer.close();
  },

  'a session that was closed is gone on with': async (store) => {
    const first = await write(store, 's1', 1);
    await first.close();
    await first.close();
    const second = await write(store, 's1', 2);
    assert.equal(second.cutBytes, 0);
    await second.close();
    assert.deepEqual(await readAll(store, 's1'), [note(2), note(1)]);
  },

  'has one writer: a second one is refused by name until the first has closed': async (store) => {
    const writer = await store.open('s1');
    await assert.rejects(store.open('s1'), SessionInUseError);
    await assert.rejects(store.open('s1'), /s1 is in use/);
    await assert.rejects(store.delete('s1'), SessionInUseError);
    const other = await store.open('s2');
    await other.close();
    await writer.close();
    await (await store.open('s1')).close();
  },

  'knows its sessions, and forgets what is deleted': async (store) => {
    assert.deepEqual(await store.list(), []);
    for (const id of ['s1', 's2']) await (await write(store, id, 1)).close();
    const listed = await store.list();
    assert.deepEqual(listed.map(({ sessionId }) => sessionId).toSorted(), ['s1', 's2']);
    for (const { modifiedMs, sizeBytes } of listed) {
      assert.ok(modifiedMs > 0, 'when it was changed');
      assert.ok(sizeBytes > 10, 'how large it is');
    }
    assert.equal(await store.delete('s1'), true);
    assert.equal(await store.delete('s1'), false);
    assert.deepEqual(await readAll(store, 's1'), []);
    assert.equal(await store.first('s1'), undefined);
    assert.deepEqual(
      (await store.list()).map(({ sessionId }) => sessionId),
      ['s2'],
    );
  },

  'keeps records apart whatever their size': async (store) => {
    const writer = await store.open('s1');
    const sizes = [1, 300_000, 2, 262_143, 262_144, 3];
    for (const size of sizes) writer.append({ type: 'note', text: 'é'.repeat(size) });
    await writer.close();
    const back = (await readAll(store, 's1')) as { text: string }[];
    assert.deepEqual(
      back.map(({ text }) => text.length),
      sizes.toReversed(),
    );
  },

  'what is appended after the close is not stored': async (store) => {
    const writer = await write(store, 's1', 1);
    await writer.close();
    writer.append(note(2));
    assert.deepEqual(await readAll(store, 's1'), [note(1)]);
  },
};

/**
 * The promises of `JournalStore`, each as a test of its own:
 * `for (const { title, check } of journalStorePromises(() => new MyStore())) it(title, check)`.
 *
 * @param makeStore an empty store each time.
 */
export const journalStorePromises = (makeStore: () => JournalStore): readonly StorePromise[] =>
  Object.entries(promises).map(([title, keeps]) => ({ title, check: () => keeps(makeStore()) }));
