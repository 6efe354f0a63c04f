import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Beside, createAhead, type Taken } from '../../../services/attachments/ahead.ts';

/** A query: what works beside it, and its end. */
const query = () => {
  const over = new AbortController();
  const lives: Promise<void>[] = [];
  const beside: Beside = (work) => void lives.push(work(over.signal));
  const end = async () => {
    over.abort();
    await Promise.all(lives);
  };
  return { beside, end };
};
/** Something that is found when the test says so. */
const later = <T>() => {
  let found: (value: T) => void = () => {};
  let failed: (error: Error) => void = () => {};
  const finding = new Promise<T>((resolve, reject) => {
    found = resolve;
    failed = reject;
  });
  return { find: () => finding, found, failed };
};
const { signal } = new AbortController();
const wordsOf = ({ finds }: Taken<string>) => finds.map(({ found }) => found);
const nothing = { finds: [], errors: [] };

describe('what is looked for ahead of time', () => {
  it('is taken once, in the order in which it was begun', async () => {
    const ahead = createAhead<string>(query().beside);
    const [a, b] = [later<string>(), later<string>()];
    ahead.look('a', a.find);
    ahead.look('b', b.find);
    b.found('B');
    a.found('A');
    expect(wordsOf(await ahead.take(signal))).toEqual(['A', 'B']);
    expect(await ahead.take(signal)).toEqual(nothing);
  });

  it('is looked for once at a time', async () => {
    const ahead = createAhead<number>(query().beside);
    let looks = 0;
    const find = async () => ++looks;
    ahead.look('a', find);
    ahead.look('a', find);
    await ahead.take(signal);
    expect(looks).toBe(1);
  });

  it('is left for a later attaching when it is late; the rest is taken', async () => {
    const ahead = createAhead<string>(query().beside);
    const [slow, quick] = [later<string>(), later<string>()];
    ahead.look('slow', slow.find);
    ahead.look('quick', quick.find);
    quick.found('quick');
    expect(wordsOf(await ahead.take(signal))).toEqual(['quick']);
    slow.found('slow');
    await delay(0);
    expect(wordsOf(await ahead.take(signal))).toEqual(['slow']);
  });

  it('is heard of although the process stood still while it was found', async () => {
    const ahead = createAhead<string>(query().beside);
    ahead.look('a', async () => {
      await delay(1);
      return 'A';
    });
    const taking = ahead.take(signal);
    const until = performance.now() + 150;
    while (performance.now() < until);
    expect(wordsOf(await taking)).toEqual(['A']);
  });

  it('ends with its query, without waiting for it, and the next query begins it anew', async () => {
    let current = query();
    const ahead = createAhead<string>((work) => current.beside(work));
    const hanging = later<string>();
    ahead.look('a', hanging.find);
    await current.end();
    hanging.found('of another query');
    await delay(0);
    current = query();
    expect(await ahead.take(signal)).toEqual(nothing);
    ahead.look('a', async () => 'anew');
    expect(wordsOf(await ahead.take(signal))).toEqual(['anew']);
  });

  it('is kept when it was found and its query has ended before it was taken', async () => {
    const current = query();
    const ahead = createAhead<string>(current.beside);
    ahead.look('a', async () => 'A');
    await delay(0);
    await current.end();
    expect(wordsOf(await ahead.take(signal))).toEqual(['A']);
  });

  it('tells once why it could not be found', async () => {
    const ahead = createAhead<string>(query().beside);
    ahead.look('a', () => Promise.reject(new Error('no such luck')));
    expect((await ahead.take(signal)).errors).toEqual([new Error('no such luck')]);
    expect(await ahead.take(signal)).toEqual(nothing);
  });

  it('loses nothing beside a failure, whichever was begun first', async () => {
    const ahead = createAhead<string>(query().beside);
    ahead.look('a', async () => 'A');
    ahead.look('b', () => Promise.reject(new Error('no b')));
    ahead.look('c', () => Promise.reject(new Error('no c')));
    ahead.look('d', async () => 'D');
    const taken = await ahead.take(signal);
    expect(wordsOf(taken)).toEqual(['A', 'D']);
    expect(taken.errors.map(String)).toEqual(['Error: no b', 'Error: no c']);
    expect(await ahead.take(signal)).toEqual(nothing);
  });

  it('gives nothing to one who is gone', async () => {
    const ahead = createAhead<string>(query().beside);
    ahead.look('a', async () => 'A');
    expect(await ahead.take(AbortSignal.abort())).toEqual(nothing);
    expect(wordsOf(await ahead.take(signal))).toEqual(['A']);
  });

  it('is not begun without a query', async () => {
    const ahead = createAhead<string>(() => {});
    ahead.look('a', async () => 'A');
    expect(await ahead.take(signal)).toEqual(nothing);
  });
});
