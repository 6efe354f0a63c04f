/** Session files of any size, for the tests of what they hold and the bench of what they cost. */
import { closeSync, openSync, writeSync } from 'node:fs';

export const MB = 1 << 20;
export const stamp = { timestamp: new Date(0).toISOString(), sessionId: 's' };
export const line = (value: object) => `${JSON.stringify(value)}\n`;

/** Writes in blocks; many small writes would be what takes the time. */
export function fill(path: string, lines: Iterable<string>): void {
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

/** Questions and answers of 4,000 characters each, in a chain. */
export function* exchanges(bytes: number, from: string | null): Generator<string> {
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

/** A session of `oldMb`, its summary, and `newMb` after that. */
export function summedUp(path: string, oldMb: number, newMb: number): void {
  const summary = { uuid: 'sum', role: 'user', kind: 'note', origin: 'summary', ...stamp };
  fill(path, [line({ type: 'escapement', schema: 1, ...stamp })]);
  fill(path, exchanges(oldMb * MB, null));
  fill(path, [
    line({
      type: 'system',
      subtype: 'compact_boundary',
      uuid: 'b',
      parentUuid: null,
      history: [{ ...summary, content: [] }],
      totals: summedTotals,
    }),
  ]);
  fill(path, exchanges(newMb * MB, 'b'));
}
export const summedTotals = {
  m: {
    input_tokens: 7,
    output_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
  },
};

/** A session of which four lines in five are the progress of a tool. */
export function chatty(path: string, messages: number): void {
  function* lines(): Generator<string> {
    let parentUuid: string | null = null;
    for (let n = 0; n < messages * 5; n += 1) {
      const uuid = `u${n}`;
      const message = { role: 'user', content: 'm'.repeat(2_500) };
      yield n % 5 === 0
        ? line({ type: 'user', uuid, parentUuid, ...stamp, message })
        : line({ type: 'progress', uuid, parentUuid, data: 'p'.repeat(2_500) });
      parentUuid = uuid;
    }
  }
  fill(path, lines());
}

/** A session in which no message has its parent. */
export function torn(path: string, messages: number): void {
  function* lines(): Generator<string> {
    for (let n = 0; n < messages; n += 1) {
      const message = { role: 'user', content: 'm' };
      yield line({ type: 'user', uuid: `u${n}`, parentUuid: `lost${n}`, ...stamp, message });
    }
  }
  fill(path, lines());
}
