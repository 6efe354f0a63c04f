/** Messages out of bytes, however they are cut and whatever stands between them. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createJsonLines } from '../../../services/mcp/json-lines.ts';

const read = (
  chunks: readonly Uint8Array[],
  lineBytesMax = Number.POSITIVE_INFINITY,
  noiseBytesMax = Number.POSITIVE_INFINITY,
) => {
  const messages: unknown[] = [];
  const noise: string[] = [];
  const floods: string[] = [];
  const hear = createJsonLines({
    onMessage: (message) => messages.push(message),
    onNoise: (line) => noise.push(line),
    onFlood: (why) => floods.push(why),
    ...{ lineBytesMax, noiseBytesMax },
  });
  for (const chunk of chunks) hear(chunk);
  return { messages, noise, floods };
};

it('every message comes once and in order, wherever the bytes are cut (property)', () => {
  const message = fc.record({
    ...{ jsonrpc: fc.constant('2.0'), method: fc.constant('x') },
    text: fc.string({ unit: 'binary' }),
  });
  const garbage = fc.string({ maxLength: 30 }).map((text) => text.replaceAll('\n', ' '));
  fc.assert(
    fc.property(
      fc.array(fc.oneof(message, garbage)),
      fc.array(fc.nat({ max: 40 })),
      (lines, cuts) => {
        const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
        const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''));
        const chunks: Uint8Array[] = [];
        let from = 0;
        for (const size of cuts) {
          chunks.push(bytes.subarray(from, from + size));
          from += size;
        }
        chunks.push(bytes.subarray(from));
        const wanted = lines.filter((line) => typeof line !== 'string');
        expect(read(chunks).messages).toEqual(JSON.parse(JSON.stringify(wanted)));
      },
    ),
  );
});

it('a line without an end is dropped at its bound, and the next one is read', () => {
  const { messages, noise } = read(
    [
      Buffer.from(`{${'x'.repeat(60)}`),
      Buffer.from('y'.repeat(60)),
      Buffer.from('\n{"jsonrpc":"2.0","method":"x"}\n'),
    ],
    100,
  );
  expect(messages).toEqual([{ jsonrpc: '2.0', method: 'x' }]);
  expect(noise).toEqual(['a line of more than 100 bytes was dropped']);
});

it.each([
  ['at its begin', (text: string) => `{"jsonrpc":"2.0","id":7,"result":"${text}"}`],
  ['at its end', (text: string) => `{"result":{"id":5,"is":"${text}"},"jsonrpc":"2.0","id":7}`],
  ['before its end', (text: string) => `{"result":{"is":"${text}"},"id":7,"jsonrpc":"2.0"}`],
])('an answer that is too long is an error for whoever waits for it: id %s', (_, line) => {
  const bytes = Buffer.from(`${line('x'.repeat(900))}\n{"jsonrpc":"2.0","id":8,"result":{}}\n`);
  const chunks = Array.from({ length: Math.ceil(bytes.length / 37) }, (__, n) =>
    bytes.subarray(37 * n, 37 * (n + 1)),
  );
  for (const cut of [chunks, [bytes]]) {
    const { messages } = read(cut, 500);
    expect(messages).toEqual([
      {
        ...{ jsonrpc: '2.0', id: 7 },
        error: { code: -32_000, message: expect.stringMatching(/^the answer has 9\d\d bytes/) },
      },
      { jsonrpc: '2.0', id: 8, result: {} },
    ]);
  }
});

it('a question of a server that is too long answers nobody', () => {
  const line = `{"jsonrpc":"2.0","method":"x","params":"${'x'.repeat(900)}","id":7}\n`;
  expect(read([Buffer.from(line)], 500).messages).toEqual([]);
});

it.each([
  ['{"jsonrpc":"2.0","id":7,"result":null}', 'the answer is no object'],
  ['{"jsonrpc":"2.0","id":7}', 'the answer is no object'],
  ['{"jsonrpc":"2.0","id":7,"error":"no"}', 'the server failed without a word'],
  ['{"jsonrpc":"2.0","id":7,"error":{"message":"disk full"}}', 'disk full'],
])(
  'an answer of a wrong shape is an error, and nobody waits for the deadline: %s',
  (line, words) => {
    const error = { code: -32_603, message: words };
    expect(read([Buffer.from(`${line}\n`)]).messages).toEqual([{ jsonrpc: '2.0', id: 7, error }]);
  },
);

const good = '{"jsonrpc":"2.0","method":"x"}\n';

it.each([
  ['short lines', 'y\n'.repeat(300)],
  ['empty lines', '\n'.repeat(300)],
  ['objects that are no messages', '{"jsonrpc":"2.0"}\n'.repeat(300)],
  ['what only begins like one', '{\n'.repeat(300)],
  ['a line without an end', 'x'.repeat(60_000)],
  ['a message without an end', `{${'x'.repeat(60_000)}`],
])('too much that is no message is said once, and nothing is read after it: %s', (_, text) => {
  const whole = Buffer.from(text + good);
  for (const size of [whole.length, 1_000]) {
    const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (__, n) =>
      whole.subarray(size * n, size * (n + 1)),
    );
    const { messages, floods } = read(chunks, 1_000, 50_000);
    expect({ messages, floods: floods.length }).toEqual({ messages: [], floods: 1 });
  }
});

it('a message takes back what was printed before it', () => {
  const chunks = Array.from({ length: 20 }, () => Buffer.from('log\n'.repeat(100) + good));
  const { messages, floods } = read(chunks, 1_000, 50_000);
  expect({ messages: messages.length, floods }).toEqual({ messages: 20, floods: [] });
});

it('a mark of the byte order and spaces before a message are no noise', () => {
  const { messages, noise } = read([Buffer.from(`\ufeff \t${good}`), Buffer.from(`  ${good}`)]);
  expect({ messages: messages.length, noise }).toEqual({ messages: 2, noise: [] });
});

it('a log that drips for days is no flood', () => {
  let nowMs = 0;
  const floods: string[] = [];
  const hear = createJsonLines({
    onMessage: () => {},
    onNoise: () => {},
    onFlood: (why) => floods.push(why),
    noiseBytesMax: 50_000,
    now: () => nowMs,
  });
  for (let n = 0; n < 2_000; n += 1) {
    hear(Buffer.from('[info] alive\n'));
    nowMs += 1_000;
  }
  expect(floods).toEqual([]);
  for (let n = 0; n < 2_000; n += 1) hear(Buffer.from('[info] alive\n'));
  expect(floods).toHaveLength(1);
});
