import { expect, it } from 'vitest';
import { createLegalize } from '../../../services/preprocess/legalize.ts';
import { createReactiveCompact } from '../../../services/recovery/reactive-compact.ts';
import { say } from '../../../src/testing/index.ts';
import { violationsOf } from '../preprocess/as-request.ts';
import { assistant, call, result, user } from '../preprocess/histories.ts';
import { type Given, prose, world } from './world.ts';

const signal = new AbortController().signal;
const setup = async (given: Given) => {
  const w = await world(given);
  const { compact } = w;
  const rung = createReactiveCompact({ compact, tell: w.deps.tell });
  return { ...w, rung };
};
const rounds = (count: number) =>
  Array.from({ length: count }, (_, n) => [call(`m${n}`, `c${n}`), result(`c${n}`, prose(4_000))]);

it('makes a stuck request shorter', async () => {
  const w = await setup({ history: [user('go'), ...rounds(4).flat()] });
  const answer = await w.rung(w.stateWith(w.history), signal);
  expect(answer).toMatchObject({ type: 'compact.done', usd: 0.5 });
});

it('fails without a request: first exchange, aborted', async () => {
  const first = await setup({ history: [user('go'), ...rounds(1).flat()] });
  expect(await first.rung(first.stateWith(first.history), signal)).toEqual({
    type: 'compact.failed',
    usd: 0,
  });
  expect(first.told('compactSkipped')).toMatchObject([
    { reason: expect.stringContaining('one exchange') },
  ]);
  expect((await first.rung(first.stateWith(first.history), AbortSignal.abort())).type).toBe(
    'compact.failed',
  );
  expect(first.server.requests).toEqual([]);
});

it('PAIR-03 what came while the summary was written is there once, after the summary', async () => {
  const history = [
    user('go'),
    call('m1', 'A'),
    call('m1', 'B'),
    result('A', prose(4_000)),
    result('B', prose(4_000)),
    assistant('m2', 'text'),
    user('more'),
    assistant('m3', 'more text'),
  ];
  const late = user('queued meanwhile');
  const w = await setup({
    history,
    script: {
      compactions: [
        () => {
          w.log.append(w.history, [late]); // the old chain grows during the request
          return say('<summary>short</summary>');
        },
      ],
    },
  });
  const answer = await w.rung(w.stateWith(w.history), signal);
  if (answer.type !== 'compact.done') throw new Error(answer.type);
  // the chart adds what it holds on top of the answer's history
  const after = w.messagesAt(w.log.append(answer.history, [late]));
  expect(after.filter((message) => message === late)).toHaveLength(1);
  expect(after[0]).toMatchObject({ origin: 'summary' });
  expect(violationsOf(after)).toEqual([]);
});

it('PAIR-02 for every number of kept rounds the next request is legal as it is', async () => {
  for (let windowTokens = 8_000; windowTokens <= 96_000; windowTokens += 8_000) {
    const many = Array.from({ length: 40 }, (_, n) => [
      call(`m${n}`, `k${n}`),
      result(`k${n}`, prose(1_300)),
    ]).flat();
    const w = await setup({ history: [user('go'), ...many], windowTokens });
    const answer = await w.rung(w.stateWith(w.history), signal);
    if (answer.type !== 'compact.done') throw new Error(answer.type);
    const messages = w.messagesAt(answer.history);
    expect(violationsOf(messages)).toEqual([]);
    const legalize = createLegalize({ ...w.deps, pricesOf: () => undefined });
    const { history } = await legalize(w.stateWith(answer.history), signal);
    expect(history.head).toBe(answer.history.head);
    expect(w.server.requests).toHaveLength(1);
  }
});
