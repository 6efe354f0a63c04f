/** A line about a round that the purse does not pay for is not there; nobody has failed in it. */
import { expect, it } from 'vitest';
import { begin } from '../../../machines/state.ts';
import { createRoundDescriber } from '../../../services/describer/round-describer.ts';
import { emptyHistory, MessageLog } from '../../../services/message-log.ts';
import { createSmallModel } from '../../../services/model/ask-small-model.ts';
import { payFrom } from '../../../services/model/pay-from.ts';
import { Purse } from '../../../services/model/purse.ts';
import type { StageWord } from '../../../services/preprocess/stage.ts';
import { call, result, user } from '../preprocess/histories.ts';

const dollarAToken = {
  inputUsdPerMtok: 1e6,
  outputUsdPerMtok: 1e6,
  cacheReadUsdPerMtok: 1e6,
  cacheWriteUsdPerMtok: 1e6,
};

it('is asked for with each round, sent with none, and never given up', async () => {
  const log = new MessageLog();
  const purse = new Purse(10);
  const told: StageWord[] = [];
  const sent: string[] = [];
  let asked = 0;
  const paid = payFrom(
    { purse, priceOf: () => dollarAToken, sizeOf: () => 0, outputTokensMin: 1, waitMs: () => 0 },
    async function* ({ model }) {
      sent.push(model);
      yield { type: 'opened' };
    },
  );
  const describer = createRoundDescriber({
    log,
    smallModel: createSmallModel({
      callModel: (request) => {
        asked += 1;
        return paid(request);
      },
      nameBeside: () => 'small',
      mayPay: () => true, // as it was a moment ago
      onUsage: () => 0,
      makeNote: (text) => user(text),
    }),
    sizeOf: () => 1,
    tell: (word) => told.push(word),
  });
  const state = begin({ queryId: 'q', history: emptyHistory, model: 'm' });
  const over = new AbortController();
  let describe = (_: { type: 'round.describe'; from: string; to: string }): void => {};
  const talking = describer.talk({
    state,
    send: ({ type }) => sent.push(type),
    onCommand: (listener) => {
      describe = listener;
    },
    signal: over.signal,
  });
  let history = log.append(emptyHistory, [user('go')]);
  for (const id of ['a', 'b', 'c', 'd']) {
    const next = log.append(history, [call(`m${id}`, id), result(id)]);
    describe({ type: 'round.describe', from: history.head, to: next.head });
    await describer.settle(state);
    history = next;
  }
  over.abort();
  await talking;
  expect(asked).toBe(4);
  expect([sent, told]).toEqual([[], []]);
});
