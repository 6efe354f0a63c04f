import { describe, it } from 'vitest';
import { MemoryJournalStore } from '../../../services/journal/memory-store.ts';
import { journalStorePromises } from '../../../src/testing/index.ts';

describe('sessions in memory', () => {
  for (const { title, check } of journalStorePromises(() => new MemoryJournalStore()))
    it(title, check);
});
