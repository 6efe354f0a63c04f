/**
 * What it costs to open a large session again (TRN-09): time against parsing every line of the file,
 * which is what a reader without an idea would do, and memory above what the process had.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileJournalStore } from '../../services/journal/file-store.ts';
import { restore } from '../../services/journal/restore.ts';
import { chatty, MB, summedUp, torn } from '../tools/big-sessions.ts';

interface Bench {
  readonly name: string;
  readonly write: (path: string) => void;
  /** Times of parsing all lines; MB of memory. */
  readonly bound: { readonly ratio: number; readonly peakMb: number };
}

const benches: readonly Bench[] = [
  {
    name: '100 MB, summed up 4 MB before its end',
    write: (path) => summedUp(path, 96, 4),
    bound: { ratio: 1, peakMb: 300 },
  },
  {
    name: '50 MB, mostly progress, never summed up',
    write: (path) => chatty(path, 4_000),
    bound: { ratio: 2, peakMb: 500 },
  },
  // quadratic would be some hundred times
  {
    name: '20,000 messages without a parent',
    write: (path) => torn(path, 20_000),
    bound: { ratio: 20, peakMb: 300 },
  },
];

async function opened(folder: string): Promise<{ ms: number; peakMb: number }> {
  const before = process.memoryUsage().rss;
  let peak = before;
  const look = () => {
    peak = Math.max(peak, process.memoryUsage().rss);
  };
  const watch = setInterval(look, 5);
  const startedAt = performance.now();
  await restore(new FileJournalStore({ folder }), 's');
  const ms = performance.now() - startedAt;
  clearInterval(watch);
  look();
  return { ms, peakMb: (peak - before) / MB };
}

function parsed(path: string): number {
  const startedAt = performance.now();
  for (const text of readFileSync(path, 'utf8').split('\n')) if (text !== '') JSON.parse(text);
  return performance.now() - startedAt;
}

for (const { name, write, bound } of benches) {
  const folder = mkdtempSync(join(tmpdir(), 'escapement-bench-'));
  try {
    write(join(folder, 's.jsonl'));
    const { ms, peakMb } = await opened(folder);
    const ratio = ms / parsed(join(folder, 's.jsonl'));
    const isGood = ratio <= bound.ratio && peakMb <= bound.peakMb;
    console.log(
      `${name}: ${ms.toFixed(0)} ms, ${ratio.toFixed(2)} x parsing all of it (at most ${bound.ratio}), ` +
        `${peakMb.toFixed(0)} MB (at most ${bound.peakMb})${isGood ? '' : '  MISSED'}`,
    );
    if (!isGood) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
