import { describe } from 'vitest';
import { MemoryJournalStore } from '../../../services/journal/memory-store.ts';
import { conformsToJournalStore } from './conformance.ts';

describe('sessions in memory', () => conformsToJournalStore(() => new MemoryJournalStore()));
