/** Diffs by reference: what was changed, no more, and enough to have the value again. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyChanges,
  changesBetween,
  sameContent,
  shownChanges,
} from '../../src/inspect/changes.ts';
import { Contexts } from '../../src/inspect/contexts.ts';
import { EntryList } from '../../src/inspect/entry-list.ts';
import { preview, stepCaps, valueAt } from '../../src/inspect/preview.ts';
import { scrubber, secretsIn } from '../../src/inspect/redact.ts';

const value = fc.jsonValue({ maxDepth: 4 });
/** Something else made of a value, most of it the same object. */
const edited = (given: unknown): fc.Arbitrary<unknown> => {
  if (Array.isArray(given)) {
    return fc.oneof(
      value.map((one) => [...given, one]),
      fc.constant(given.slice(0, -1)),
      fc
        .nat({ max: Math.max(0, given.length - 1) })
        .chain((at) => value.map((one) => given.map((old, place) => (place === at ? one : old)))),
    );
  }
  if (typeof given === 'object' && given !== null) {
    return fc.oneof(
      fc.tuple(fc.string(), value).map(([key, one]) => ({ ...given, [key]: one })),
      fc.constant(Object.fromEntries(Object.entries(given).slice(1))),
    );
  }
  return value;
};

describe('changes', () => {
  it('applied again they give the value, and nothing is said of what is the same', () => {
    fc.assert(
      fc.property(
        value.chain((one) => fc.tuple(fc.constant(one), edited(one))),
        ([before, after]) => {
          const changes = changesBetween(before, after);
          expect(applyChanges(before, changes)).toEqual(after);
          expect(changesBetween(before, before)).toEqual([]);
        },
      ),
    );
  });

  it('a key `__proto__` is a field like any other: added, changed, taken away, shown', () => {
    const of = (value: unknown) => JSON.parse(`{"deep":{"__proto__":${JSON.stringify(value)}}}`);
    const without = { deep: {} };
    fc.assert(
      fc.property(value, value, (one, other) => {
        const states = [of(one), of(other), without, { deep: { __proto__: null } }];
        for (const before of states) {
          for (const after of states) {
            const changes = changesBetween(before, after);
            const again = applyChanges(before, changes) as { deep: object };
            expect(sameContent(again, after)).toBe(true); // of own keys, whatever their names
            expect(Object.getOwnPropertyNames(again.deep)).toEqual(
              Object.getOwnPropertyNames(after.deep),
            );
          }
        }
      }),
    );
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('polluted');
    const hostile = changesBetween(without, of({ polluted: true }));
    expect(({} as { polluted?: true }).polluted).toBeUndefined();
    expect(JSON.stringify(shownChanges(hostile).ops)).toBe(
      '[{"op":"add","path":["deep","__proto__"],"to":{"polluted":true}}]',
    );
  });

  it('an array that has grown by one is one op, however long it is', () => {
    const before = { messages: Array.from({ length: 5_000 }, (_, n) => ({ n })), other: { a: 1 } };
    const after = { ...before, messages: [...before.messages, { n: 5_000 }] };
    expect(shownChanges(changesBetween(before, after))).toEqual({
      ops: [{ op: 'append', path: ['messages'], from: 5_000, to: 5_001, items: [{ n: 5_000 }] }],
      more: 0,
    });
  });

  it('at most 24 are shown, and the others are counted', () => {
    const before = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`k${n}`, n]));
    const after = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`k${n}`, n + 1]));
    const { ops, more } = shownChanges(changesBetween(before, after));
    expect([ops.length, more]).toEqual([24, 36]);
  });

  it('values that were made anew are the same when their content is', () => {
    const one = { a: Array.from({ length: 50 }, (_, n) => ({ b: [n] })) };
    expect(changesBetween(one, structuredClone(one), sameContent)).toEqual([]);
    expect(changesBetween(one, structuredClone(one))).toHaveLength(1);
  });
});

describe('contexts of a bounded list', () => {
  it('each that is kept can be had again, also when those before it are gone', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 2 }), { minLength: 150, maxLength: 400 }), (edits) => {
        const contexts = new Contexts();
        const list = new EntryList({ stepsMax: 60, bytesMax: 1 << 30 }, scrubber(), (gone) =>
          contexts.forget(gone),
        );
        const all = new Map<number, unknown>();
        let context: { items: number[]; count: number } = { items: [], count: 0 };
        for (const [n, edit] of edits.entries()) {
          context =
            edit === 0
              ? { ...context, count: n }
              : { ...context, items: edit === 1 ? [...context.items, n] : context.items.slice(1) };
          const instance = `i${n % 3}`;
          const noted = contexts.note(instance, context);
          const raw = { ...noted, event: undefined, isLast: false };
          const { seq } = list.push({ kind: 'step', instance } as never, raw);
          all.set(seq, context);
        }
        for (let seq = list.first; seq < list.next; seq += 1) {
          expect(contexts.at(list, seq)?.value).toEqual(all.get(seq));
        }
        expect(list.next - list.first).toBeLessThanOrEqual(60);
      }),
      { numRuns: 20 },
    );
  });
});

describe('a preview', () => {
  it('of whatever: it can be sent, is small, and never throws', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withMap: true,
          withSet: true,
          withDate: true,
          withTypedArray: true,
          withNullPrototype: true,
          withSparseArray: true,
        }),
        (one) => {
          const text = JSON.stringify(
            preview(one, { ...stepCaps, items: 5, keys: 5, depth: 3, chars: 50 }),
          );
          expect(text.length).toBeLessThan(100_000);
        },
      ),
    );
  });
  it('says what it cannot show', () => {
    const loop: Record<string, unknown> = { deep: { deep: { deep: { deep: { deep: 1 } } } } };
    loop.self = loop;
    loop.$ = 'mine';
    const nasty = {
      get bad() {
        throw new Error('no');
      },
    };
    expect(preview(loop)).toMatchObject({ self: { $: { is: 'cycle' } }, $$: 'mine' });
    expect(preview(nasty)).toMatchObject({ $: { is: 'error', name: 'unreadable' } });
    expect(preview(Array.from({ length: 900 }, (_, n) => n))).toMatchObject({
      $: { is: 'array', length: 900, tail: expect.arrayContaining([899]) },
    });
    expect(preview('x'.repeat(1_000))).toMatchObject({ $: { is: 'string', length: 1_000 } });
    expect(valueAt({ a: [{ b: 1 }] }, ['a', 0, 'b'])).toBe(1);
    expect(valueAt({}, ['constructor', 'name'])).toBeUndefined();
  });
});

describe('secrets', () => {
  const key = ['sk', 'ant', 'api03', 'q'.repeat(40)].join('-');
  const texts: Readonly<Record<string, unknown>> = {
    'a key by its form': { text: `use ${key} now` },
    'a header by its name': {
      authorization: 'Bearer abcdefgh12345678',
      'x-api-key': 'hidden-by-name',
    },
    'a header in the text of a command': {
      command: 'curl -H "Authorization: Bearer abcdefgh12345678"',
    },
    'an assignment': { command: 'export ANTHROPIC_API_KEY=plainwordsecret; run' },
    'JSON inside of a text': { text: JSON.stringify({ api_key: 'hidden-by-name' }) },
    'a private key': {
      text: `-----BEGIN ${'RSA'} PRIVATE KEY-----\nabc\n-----END ${'RSA'} PRIVATE KEY-----`,
    },
    'a value of the environment': { text: 'the word is swordfish-99, "quoted"' },
  };
  const scrub = scrubber(secretsIn({ MY_TOKEN: 'swordfish-99', PATH: '/usr/bin' }));
  for (const [name, said] of Object.entries(texts)) {
    it(`${name} is taken out, and the rest is as it was`, () => {
      const text = scrub(JSON.stringify(said));
      expect(() => JSON.parse(text)).not.toThrow();
      expect(text).toContain('[redacted]');
      for (const secret of [
        key,
        'abcdefgh12345678',
        'hidden-by-name',
        'plainwordsecret',
        'swordfish',
        '\\nabc\\n',
      ]) {
        expect(text).not.toContain(secret);
      }
    });
  }
  const digits = '0123456789'.repeat(4);
  const forms: readonly (readonly [written: string, secret: string])[] = [
    ['DB_PASSWORD=correct-horse', 'correct-horse'],
    [`AWS_SECRET_ACCESS_KEY=${digits}`, digits],
    [`GITHUB_TOKEN=${digits}`, digits],
    ['password: hunter2hunter2', 'hunter2hunter2'],
    ['https://example.com/?token=abc123def', 'abc123def'],
    ['postgres://app:s3cret@db/one', 's3cret'],
    ['curl -u me:s3cret https://example.com', 's3cret'],
    ['machine a login me password s3cret', 's3cret'],
    ['Cookie: session=abc; other=def', 'session=abc'],
    ['Bearer abcdefgh12345678', 'abcdefgh12345678'],
    [key, key],
    [`ghp_${digits}`, digits],
    [`npm_${digits}`, digits],
    [`glpat-${digits}`, digits],
    [`sk_${'live'}_${digits}`, digits],
    [`AKIA${digits.slice(0, 16)}`, digits.slice(0, 16)],
    [`eyJ${digits}.${digits}.${digits}`, digits],
  ];
  it.each(forms)(
    '%s: also at the begin of a line, after a tab, in JSON of JSON',
    (form, secret) => {
      for (const before of ['', ' ', '\n', '\t', '\r\n', 'one\n', '3\t', '\u0001', '"', "'", '(']) {
        for (const text of [`${before}${form}`, `${before}${form}\nnext`]) {
          const nested = JSON.stringify({ text: JSON.stringify({ text }) });
          for (const json of [JSON.stringify({ text }), nested]) {
            const clean = scrub(json);
            expect(clean).not.toContain(secret);
            expect(() => JSON.parse(clean)).not.toThrow();
          }
        }
      }
    },
  );
  it('a password is taken out, whatever is in it and however deep its JSON lies in texts', () => {
    const names = ['password', 'client_secret', 'token', 'privateKey', 'Authorization', 'api-key'];
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.stringMatching(/^["\\\\\n a-]*$/)),
        fc.constantFrom(...names),
        fc.nat({ max: 3 }),
        fc.string(),
        (password, name, depth, after) => {
          // nothing in front of it, nothing behind: what is left is what was there without it
          const inTexts = (said: string) => {
            let value: unknown = { id: 7, [name]: said, n: 1, after: `x${after}` };
            for (let level = 0; level < depth; level += 1) value = { text: JSON.stringify(value) };
            return JSON.stringify(value);
          };
          const expected = password === '' ? '' : '[redacted]';
          expect(scrub(inTexts(password))).toBe(scrub(inTexts(expected)));
          if (!/passw|secret|token|key|author/i.test(after)) {
            expect(scrub(inTexts(password))).toBe(inTexts(expected));
          }
        },
      ),
      { numRuns: 300 },
    );
  });
  it('also when its text was cut before its end', () => {
    const cut = JSON.stringify({ password: 'abc"def ghi' }).slice(0, -6);
    expect(scrub(JSON.stringify({ head: cut, n: 1 }))).toBe(
      JSON.stringify({ head: '{"password":"[redacted]', n: 1 }),
    );
    const pem = `-----BEGIN ${'EC'} PRIVATE KEY-----\nMIIabc+/=\nDEF`;
    expect(scrub(JSON.stringify({ head: pem, n: 1 }))).toBe(
      JSON.stringify({ head: '[redacted]', n: 1 }),
    );
  });
  it('a text that is made to be hard takes as long as any other', () => {
    const hard = [
      ...['a-', 'eyJ-', 'A_', '\\\\', '"a', '"token" ', 'SECRET ', 'sk-'],
      ...['token=', 'a.token:', '://a:', ' -u a:', 'Cookie: ', 'login a password ', '\\n'],
      ...['-----BEGIN PRIVATE KEY-----', 'Bearer ', '\\"', '"password":"\\\\'],
    ];
    for (const part of hard) {
      // 400 kB: what is quadratic would take minutes
      const text = `${part.repeat(400_000 / part.length)} token`;
      expect(scrub(JSON.stringify({ text })).length).toBeGreaterThan(0);
    }
  }, 60_000);
  it('what is no secret stays: numbers of tokens, words, paths', () => {
    const said = {
      max_tokens: 8_000,
      text: 'the basic token of the cookie jar',
      path: '/usr/bin/task-skip',
      code: 'function login(password: string, token?: string) { return secret; }',
      address: 'https://example.com:8080/a@b',
    };
    expect(JSON.parse(scrub(JSON.stringify(said)))).toEqual(said);
  });
});
