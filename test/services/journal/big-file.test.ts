/** TRN-09: what is old costs nothing. */
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FileJournalStore } from '../../../services/journal/file-store.ts';
import { type Restored, restore } from '../../../services/journal/restore.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'escapement-big-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const MB = 1 << 20;
const stamp = { timestamp: new Date(0).toISOString(), sessionId: 's' };
const line = (value: object) => `${JSON.stringify(value)}\n`;

/** Writes in blocks; many small writes would be what takes the time. */
function fill(path: string, lines: Iterable<string>): void {
  const fd = openSync(path, 'a');
  let block = '';
  for (const one of lines) {
    block += one;
    if (block.length < MB) continue;
    writeSync(fd, block);
    block = '';
  }
  writeSync(fd, block);
  closeSync(fd);
}

function* exchanges(bytes: number, from: string | null): Generator<string> {
  let parentUuid = from;
  const words = 'x'.repeat(4_000);
  for (let sum = 0, n = 0; sum < bytes; n += 1) {
    const uuid = `${from ?? 'old'}-${n}`;
    const type = n % 2 === 0 ? 'user' : 'assistant';
    const message =
      type === 'user'
        ? { role: type, content: [{ type: 'text', text: words }] }
        : { id: `m${n}`, role: type, model: 'm', content: [{ type: 'text', text: words }] };
    const text = line({ parentUuid, type, uuid, ...stamp, message });
    parentUuid = uuid;
    sum += text.length;
    yield text;
  }
}

/** Memory that the reading needs, at its highest; MB above what the process had before. */
async function measured(): Promise<{ restored: Restored; ms: number; peakMb: number }> {
  const before = process.memoryUsage().rss;
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 5);
  const startedAt = performance.now();
  const restored = await restore(new FileJournalStore({ folder }), 's');
  const ms = performance.now() - startedAt;
  clearInterval(watch);
  peak = Math.max(peak, process.memoryUsage().rss);
  if (!restored) throw new Error('no session');
  return { restored, ms, peakMb: (peak - before) / MB };
}

it('100 MB with a summary in the last 5: opened in less than 2 s and 300 MB', async () => {
  const path = join(folder, 's.jsonl');
  const kept = {
    uuid: 'sum',
    role: 'user',
    kind: 'note',
    origin: 'summary',
    ...stamp,
    content: [],
  };
  fill(path, [line({ type: 'escapement', schema: 1, ...stamp })]);
  fill(path, exchanges(96 * MB, null));
  const totals = {
    m: {
      input_tokens: 7,
      output_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    },
  };
  fill(path, [
    line({
      type: 'system',
      subtype: 'compact_boundary',
      uuid: 'b',
      parentUuid: null,
      history: [kept],
      totals,
    }),
  ]);
  fill(path, exchanges(4 * MB, 'b'));
  expect(statSync(path).size).toBeGreaterThan(100 * MB);
  const { restored, ms, peakMb } = await measured();
  expect(restored.messages[0]?.uuid).toBe('sum');
  expect(restored.messages.length).toBeGreaterThan(900);
  expect(restored).toMatchObject({ totals, gaps: 0 });
  expect(ms).toBeLessThan(2_000);
  expect(peakMb).toBeLessThan(300);
});

it('50 MB of which most is progress, and no summary at all: 3 s and 500 MB', async () => {
  const path = join(folder, 's.jsonl');
  let parentUuid: string | null = null;
  function* lines(): Generator<string> {
    for (let n = 0; n < 20_000; n += 1) {
      const uuid = `u${n}`;
      const isMessage = n % 5 === 0;
      const message = { role: 'user', content: 'm'.repeat(2_500) };
      yield isMessage
        ? line({ type: 'user', uuid, parentUuid, ...stamp, message })
        : line({ type: 'progress', uuid, parentUuid, data: 'p'.repeat(2_500) });
      parentUuid = uuid;
    }
  }
  fill(path, lines());
  const { restored, ms, peakMb } = await measured();
  expect(restored.messages).toHaveLength(4_000);
  expect(ms).toBeLessThan(3_000);
  expect(peakMb).toBeLessThan(500);
});

it('gaps everywhere: not quadratic', async () => {
  function* lines(): Generator<string> {
    for (let n = 0; n < 20_000; n += 1) {
      const message = { role: 'user', content: 'm' };
      yield line({ type: 'user', uuid: `u${n}`, parentUuid: `lost${n}`, ...stamp, message });
    }
  }
  fill(join(folder, 's.jsonl'), lines());
  const { restored, ms } = await measured();
  expect(restored.messages).toHaveLength(20_000);
  expect(restored.gaps).toBe(20_000);
  expect(ms).toBeLessThan(3_000);
});
