/** A line of a journal as a record, or as what is left of one. */
import type { JournalRecord, StoredRecord } from './store.ts';

export function parseLine(line: Buffer): StoredRecord {
  const record = recordIn(line);
  return record ? { kind: 'record', record } : { kind: 'damaged', sizeBytes: line.length };
}

/** `undefined` for what is no JSON object with a type: half a line, runs of NUL, a number. */
export function recordIn(line: Buffer): JournalRecord | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isObject || typeof (value as { type?: unknown }).type !== 'string') return undefined;
    return value as JournalRecord;
  } catch {
    return undefined;
  }
}
