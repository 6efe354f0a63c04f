import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { imageFacts } from '../../../src/testing/image-facts.ts';
import {
  checkRequest,
  RULE_IDS,
  type RuleId,
  SentMemory,
  STRICT_RULES,
  type StrictContext,
  violationLine,
} from '../../../src/testing/index.ts';
import { pdfPages } from '../../../src/testing/pdf-pages.ts';
import { assistant, BASE, user } from './client.ts';

const call = (id: string, input: unknown = {}) => ({ type: 'tool_use', id, name: 'Bash', input });
const result = (id: string, content: unknown = 'done') => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
});
const text = (words: string, more = {}) => ({ type: 'text', text: words, ...more });
const thought = (words: string, signature = `signed ${words}`) => ({
  type: 'thinking',
  thinking: words,
  signature,
});
const mark = { cache_control: { type: 'ephemeral' } };
const body = (messages: unknown, more = {}) => ({ ...BASE, messages, ...more });
const tool = (name: string, schema: unknown = { type: 'object' }) => ({
  name,
  input_schema: schema,
});

/** The rules that are broken, each once. */
const broken = (request: Record<string, unknown>, context: StrictContext = {}): RuleId[] => [
  ...new Set(checkRequest(request, context).map(({ rule }) => rule)),
];

function png(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(33);
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]).copy(bytes);
  bytes.write('IHDR', 12, 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}
function gif(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(13);
  bytes.write('GIF89a', 'latin1');
  bytes.writeUInt16LE(width, 6);
  bytes.writeUInt16LE(height, 8);
  return bytes;
}
/** With an EXIF segment, filler bytes and a thumbnail's frame inside before the real frame. */
function jpeg(width: number, height: number): Buffer {
  const thumbnail = [0xff, 0xd8, 0xff, 0xc0, 0x00, 0x0b, 0x08, 0x00, 0x10, 0x00, 0x10];
  const exif = [0xff, 0xe1, 0x00, 2 + thumbnail.length, ...thumbnail];
  const frame = Buffer.alloc(13);
  frame.set([0xff, 0xff, 0xc2, 0x00, 0x0b, 0x08]);
  frame.writeUInt16BE(height, 6);
  frame.writeUInt16BE(width, 8);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.from(exif), frame]);
}
function webp(kind: 'VP8 ' | 'VP8L' | 'VP8X', width: number, height: number): Buffer {
  const bytes = Buffer.alloc(32);
  bytes.write('RIFF', 0, 'latin1');
  bytes.write(`WEBP${kind}`, 8, 'latin1');
  if (kind === 'VP8X') {
    bytes.writeUIntLE(width - 1, 24, 3);
    bytes.writeUIntLE(height - 1, 27, 3);
  } else if (kind === 'VP8L') {
    bytes.writeUInt32LE(((height - 1) << 14) | (width - 1), 21);
  } else {
    bytes.writeUInt16LE(width, 26);
    bytes.writeUInt16LE(height, 28);
  }
  return bytes;
}
const image = (bytes: Buffer, mediaType: string) => ({
  type: 'image',
  source: { type: 'base64', media_type: mediaType, data: bytes.toString('base64') },
});
const pdf = (pages: number) =>
  Buffer.from(`%PDF-1.4\n<< /Type /Pages /Count ${pages} >>\n${'<</Type/Page>>\n'.repeat(pages)}`);
const document = (bytes: Buffer) => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: bytes.toString('base64') },
});

/** A memory that has sent one message of `claude-test`. */
function memoryOf(blocks: readonly Record<string, unknown>[], paused = false): SentMemory {
  const memory = new SentMemory();
  const message = memory.begin('claude-test');
  for (const block of blocks) message.add(block);
  if (paused) message.pause();
  return memory;
}
const sent = [thought('one'), call('a'), thought('two'), call('b')];
const answered = [result('a'), result('b')];
const thinkingOn = { thinking: { type: 'adaptive' } };
const paused = [text('working'), { type: 'server_tool_use', id: 's', name: 'x', input: {} }];

type Case = readonly [what: string, request: Record<string, unknown>, context?: StrictContext];
/** For each rule requests that break it (and it alone), and their nearest legal neighbours. */
const cases: Record<RuleId, { readonly broken: readonly Case[]; readonly legal: readonly Case[] }> =
  {
    S1: {
      broken: [
        ['no answer', body([user('x'), assistant([call('a')]), user('no')])],
        [
          'two answers',
          body([user('x'), assistant([call('a')]), user([result('a'), result('a')])]),
        ],
        ['one of two', body([user('x'), assistant([call('a'), call('b')]), user([result('a')])])],
      ],
      legal: [
        [
          'both',
          body([user('x'), assistant([call('a'), call('b')]), user([result('b'), result('a')])]),
        ],
      ],
    },
    S2: {
      broken: [
        ['no call', body([user([result('a')])])],
        [
          'an older call',
          body([
            user('x'),
            assistant([call('a')]),
            user([result('a')]),
            assistant('y'),
            user([result('a')]),
          ]),
        ],
        [
          'server tool without opener',
          body([
            user('x'),
            assistant([{ type: 'web_search_tool_result', tool_use_id: 's', content: [] }]),
            user('y'),
          ]),
        ],
      ],
      legal: [
        [
          'server tool with opener',
          body([
            user('x'),
            assistant([
              { type: 'server_tool_use', id: 's' },
              { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
            ]),
            user('y'),
          ]),
        ],
      ],
    },
    S3: {
      broken: [
        [
          'the same id twice',
          body([
            user('x'),
            assistant([call('a')]),
            user([result('a')]),
            assistant([call('a')]),
            user([result('a')]),
          ]),
        ],
        ['a space in the id', body([user('x'), assistant([call('a b')]), user([result('a b')])])],
        ['input is a list', body([user('x'), assistant([call('a', [])]), user([result('a')])])],
      ],
      legal: [
        ['all letters', body([user('x'), assistant([call('aZ_-9')]), user([result('aZ_-9')])])],
      ],
    },
    S4: {
      broken: [
        ['empty', body([user([text('')])])],
        ['white space', body([user('x'), assistant([text(' \n\t')]), user('y')])],
        ['empty result', body([user('x'), assistant([call('a')]), user([result('a', '')])])],
        [
          'empty text in a result',
          body([user('x'), assistant([call('a')]), user([result('a', [text(' ')])])]),
        ],
        ['empty system block', body([user('x')], { system: [text('')] })],
      ],
      legal: [
        [
          'a result without content',
          body([
            user('x'),
            assistant([call('a')]),
            user([{ type: 'tool_result', tool_use_id: 'a' }]),
          ]),
        ],
      ],
    },
    S5: {
      broken: [['no block', body([user('x'), assistant([]), user('y')])]],
      legal: [['one block', body([user([text('x')])])]],
    },
    S6: {
      broken: [
        ['none', body([])],
        ['first of the assistant', body([assistant('x'), user('y')])],
        ['last of the assistant', body([user('x'), assistant('y')])],
        ['a role of its own', body([user('x'), { role: 'system', content: 'y' }, user('z')])],
        [
          'paused, but changed',
          body([user('x'), assistant([text('worked'), paused[1]])]),
          { memory: memoryOf(paused, true) },
        ],
      ],
      legal: [
        ['paused', body([user('x'), assistant(paused)]), { memory: memoryOf(paused, true) }],
        [
          'paused twice, joined',
          body([user('x'), assistant([text('before'), ...paused])]),
          { memory: memoryOf(paused, true) },
        ],
      ],
    },
    S7: {
      broken: [
        ['text first', body([user('x'), assistant([call('a')]), user([text('y'), result('a')])])],
      ],
      legal: [
        ['text last', body([user('x'), assistant([call('a')]), user([result('a'), text('y')])])],
      ],
    },
    S8: {
      broken: [
        [
          'changed',
          body([
            user('x'),
            assistant([thought('One', 'signed one'), ...sent.slice(1)]),
            user(answered),
          ]),
          { memory: memoryOf(sent) },
        ],
        [
          'invented',
          body([user('x'), assistant([thought('mine'), text('y')]), user('z')]),
          { memory: memoryOf(sent) },
        ],
        [
          'other order',
          body([user('x'), assistant([sent[0], sent[2], sent[1], sent[3]]), user(answered)]),
          { memory: memoryOf(sent) },
        ],
        [
          'missing while thinking is on',
          body([user('x'), assistant([sent[0], sent[1], sent[3]]), user(answered)], thinkingOn),
          { memory: memoryOf(sent) },
        ],
        [
          'another model',
          body([user('x'), assistant(sent), user(answered)], { model: 'other' }),
          { memory: memoryOf(sent) },
        ],
      ],
      legal: [
        [
          'as it came',
          body([user('x'), assistant(sent), user(answered)], thinkingOn),
          { memory: memoryOf(sent) },
        ],
        [
          'left out for another model',
          body([user('x'), assistant([sent[1], sent[3]]), user(answered)], {
            ...thinkingOn,
            model: 'other',
          }),
          { memory: memoryOf(sent) },
        ],
        [
          'left out while thinking is off',
          body([user('x'), assistant([sent[1], sent[3]]), user(answered)]),
          { memory: memoryOf(sent) },
        ],
        [
          'with a cache mark on the call',
          body(
            [user('x'), assistant([...sent.slice(0, 3), { ...sent[3], ...mark }]), user(answered)],
            thinkingOn,
          ),
          { memory: memoryOf(sent) },
        ],
      ],
    },
    S9: {
      broken: [
        [
          'five',
          body([user([1, 2, 3, 4].map((n) => text(`${n}`, mark)))], { system: [text('s', mark)] }),
        ],
        [
          'on thinking',
          body([user('x'), assistant([{ ...thought('t'), ...mark }, text('y')]), user('z')]),
        ],
        [
          'four and the automatic one',
          body([user([1, 2, 3, 4].map((n) => text(`${n}`, mark)))], mark),
        ],
      ],
      legal: [
        [
          'four',
          body([user([1, 2, 3].map((n) => text(`${n}`, mark)))], {
            tools: [{ ...tool('A'), ...mark }],
          }),
        ],
      ],
    },
    S10: {
      broken: [
        ['in a text', body([user('half \ud83d')])],
        [
          'in a key',
          body([user('x'), assistant([call('a', { '\udc00': 1 })]), user([result('a')])]),
        ],
      ],
      legal: [['a whole pair', body([user('whole 😀')])]],
    },
    S11: {
      broken: [
        ['twice', body([user('x')], { tools: [tool('A'), tool('A')] })],
        ['a dot', body([user('x')], { tools: [tool('a.b')] })],
        ['129 letters', body([user('x')], { tools: [tool('a'.repeat(129))] })],
        ['no object', body([user('x')], { tools: [tool('A', { type: 'string' })] })],
        ['anyOf', body([user('x')], { tools: [tool('A', { type: 'object', anyOf: [] })] })],
      ],
      legal: [
        ['128 letters', body([user('x')], { tools: [tool('a'.repeat(128))] })],
        [
          'a tool of the API',
          body([user('x')], { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
        ],
      ],
    },
    S12: {
      broken: [
        ['not what it says', body([user([image(png(1, 1), 'image/jpeg')])])],
        ['no image at all', body([user([image(Buffer.from('<svg/>'), 'image/png')])])],
        ['8001 pixels', body([user([image(png(1, 8001), 'image/png')])])],
        [
          'too many',
          body([user([image(png(1, 1), 'image/png'), image(png(1, 1), 'image/png')])]),
          { imagesMax: 1 },
        ],
        [
          'above 5 MB, in a result',
          body([
            user('x'),
            assistant([call('a')]),
            user([result('a', [image(Buffer.alloc(4_000_000), 'image/png')])]),
          ]),
        ],
      ],
      legal: [
        [
          'of each kind',
          body([
            user([
              image(png(8000, 8000), 'image/png'),
              image(jpeg(10, 20), 'image/jpeg'),
              image(gif(1, 1), 'image/gif'),
              image(webp('VP8L', 1, 1), 'image/webp'),
            ]),
          ]),
        ],
        [
          'by URL',
          body([user([{ type: 'image', source: { type: 'url', url: 'https://x/y.png' } }])]),
        ],
      ],
    },
    S13: {
      broken: [['51 and 50 pages', body([user([document(pdf(51)), document(pdf(50))])])]],
      legal: [['100 pages', body([user([document(pdf(100))])])]],
    },
    S14: {
      broken: [['a byte more', body([user('x')]), { bytes: 32 * 1024 * 1024 + 1 }]],
      legal: [['32 MiB', body([user('x')]), { bytes: 32 * 1024 * 1024 }]],
    },
    S15: {
      broken: [['a token more', body([user('x'.repeat(41))]), { windowTokens: 10 }]],
      legal: [['just fits', body([user('x'.repeat(40))]), { windowTokens: 10 }]],
    },
    SX: {
      broken: [
        ['no model', body([user('x')], { model: '' })],
        ['max_tokens 0', body([user('x')], { max_tokens: 0 })],
        [
          'small thinking budget',
          body([user('x')], {
            max_tokens: 5000,
            thinking: { type: 'enabled', budget_tokens: 1023 },
          }),
        ],
        [
          'thinking budget = max_tokens',
          body([user('x')], {
            max_tokens: 2000,
            thinking: { type: 'enabled', budget_tokens: 2000 },
          }),
        ],
      ],
      legal: [
        [
          'thinking within',
          body([user('x')], {
            max_tokens: 2000,
            thinking: { type: 'enabled', budget_tokens: 1024 },
          }),
        ],
      ],
    },
  };

for (const id of RULE_IDS) {
  describe(id, () => {
    for (const [what, request, context] of cases[id].broken) {
      test(`broken: ${what}`, () => expect(broken(request, context)).toEqual([id]));
    }
    for (const [what, request, context] of cases[id].legal) {
      test(`legal: ${what}`, () => expect(checkRequest(request, context)).toEqual([]));
    }
  });
}

test('every rule has its sentence, in the order of the ids', () => {
  expect(STRICT_RULES.map(({ id }) => id)).toEqual(RULE_IDS);
  for (const { sentence } of STRICT_RULES) expect(sentence).toMatch(/^[a-z].{20,}$/);
});

test('a violation names its place', () => {
  const [violation] = checkRequest(body([user('x'), assistant([call('a')]), user('no')]));
  expect(violation && violationLine(violation)).toBe(
    'S1 messages.1.content.0: tool_use a has 0 tool_results in the next message',
  );
});

test('no JSON makes the rules throw', () => {
  const memory = memoryOf(sent, true);
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom('messages', 'tools', 'system', 'model', 'thinking'),
        fc.jsonValue(),
      ),
      (any) => {
        expect(Array.isArray(checkRequest(any, { memory, windowTokens: 10 }))).toBe(true);
      },
    ),
  );
  const piece = fc.oneof(
    fc.constantFrom(...sent, ...answered, text(''), thought('x'), image(gif(1, 1), 'image/png')),
    fc.jsonValue(),
  );
  const message = fc.record({
    role: fc.constantFrom('user', 'assistant', 3),
    content: fc.oneof(fc.array(piece), fc.jsonValue()),
  });
  fc.assert(
    fc.property(fc.array(message), (messages) => {
      expect(Array.isArray(checkRequest(body(messages), { memory }))).toBe(true);
    }),
  );
});

describe('images', () => {
  test.each([
    ['png', png(300, 200), 'image/png'],
    ['jpeg behind a thumbnail', jpeg(300, 200), 'image/jpeg'],
    ['gif', gif(300, 200), 'image/gif'],
    ['webp, lossy', webp('VP8 ', 300, 200), 'image/webp'],
    ['webp, lossless', webp('VP8L', 300, 200), 'image/webp'],
    ['webp, extended', webp('VP8X', 300, 200), 'image/webp'],
  ])('%s', (_what, bytes, mediaType) => {
    expect(imageFacts(bytes)).toEqual({ mediaType, width: 300, height: 200 });
  });

  test('cut or arbitrary bytes never throw', () => {
    const whole = [png(9, 9), jpeg(9, 9), gif(9, 9), webp('VP8 ', 9, 9), webp('VP8X', 9, 9)];
    for (const bytes of whole) {
      for (let length = 0; length < bytes.length; length++) imageFacts(bytes.subarray(0, length));
    }
    fc.assert(
      fc.property(fc.constantFrom(...whole), fc.uint8Array(), (head, tail) => {
        imageFacts(Buffer.concat([head.subarray(0, 12), tail]));
      }),
    );
    expect(imageFacts(Buffer.from('hello'))).toBeUndefined();
  });
});

test('PDF pages are counted in compressed object streams too', () => {
  const compressed = deflateSync(Buffer.from('<</Type /Page /Parent 1 0 R>> '.repeat(7)));
  const bytes = Buffer.concat([
    Buffer.from(`%PDF-1.7\n<</Type /ObjStm /N 7 /Length ${compressed.length}>>\nstream\r\n`),
    compressed,
    Buffer.from('\nendstream\n<</Type/Page>>'),
  ]);
  expect(pdfPages(bytes)).toBe(8);
  expect(pdfPages(Buffer.from('/Type /ObjStm stream\nno zlib endstream'))).toBe(0);
});
