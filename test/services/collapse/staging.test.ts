/** Portions one after the other: what is tried again, what is left as it is, and what ends it. */
import { describe, expect, it } from 'vitest';
import { begin } from '../../../machines/state.ts';
import type { FoldAnswer } from '../../../services/collapse/ask-fold.ts';
import type { Segment } from '../../../services/collapse/segments.ts';
import { createStaging, type StagingDeps } from '../../../services/collapse/staging.ts';
import { emptyHistory } from '../../../services/message-log.ts';
import { user } from '../preprocess/histories.ts';

const state = begin({ queryId: 'q', history: emptyHistory, model: 'm' });
const portion = (words: string): Segment => ({ messages: [user(words)], tokens: 100 });
const wordsOf = ({ messages: [message] }: Segment) => {
  const block = message?.content[0];
  return block?.type === 'text' ? block.text : '';
};
/** `iterate` wakes it and waits until it rests. */
function setup(deps: Partial<StagingDeps>) {
  const asked: string[] = [];
  const staged: string[] = [];
  const reasons: string[] = [];
  const lives: Promise<void>[] = [];
  const staging = createStaging({
    ask: async (_, segment): Promise<FoldAnswer> => {
      asked.push(wordsOf(segment));
      return wordsOf(segment).startsWith('broken')
        ? { ok: false, reason: 'the model said nothing' }
        : { ok: true, summary: 'short' };
    },
    mayPay: () => true,
    fold: async (segment) =>
      wordsOf(segment).startsWith('dense')
        ? undefined
        : { id: 'c', uuids: ['u'], message: user(wordsOf(segment)), tokens: 1 },
    onStaged: ({ message }) => staged.push(wordsOf({ messages: [message], tokens: 0 })),
    beside: (work) => void lives.push(work(new AbortController().signal)),
    onGivenUp: (reason) => reasons.push(reason),
    ...deps,
  });
  const iterate = async (times = 1) => {
    for (let n = 0; n < times; n += 1) {
      staging.wake(state);
      await Promise.all(lives);
    }
  };
  return { staging, asked, staged, reasons, iterate };
}

describe('a portion of which there is not less to say', () => {
  it('is tried twice, and left; those behind it are summed up', async () => {
    const { staging, asked, staged, reasons, iterate } = setup({});
    staging.add([portion('dense 1'), portion('dense 2'), portion('a'), portion('b')]);
    await iterate(5);
    expect(asked).toEqual(['dense 1', 'dense 1', 'dense 2', 'dense 2', 'a', 'b']);
    expect(staged).toEqual(['a', 'b']);
    expect(reasons).toEqual([]);
  });

  it('is not tried again when the past is looked at anew', async () => {
    const { staging, asked, iterate } = setup({});
    const dense = portion('dense');
    staging.add([dense]);
    await iterate(3);
    staging.forget();
    staging.add([{ ...dense }]);
    await iterate(2);
    expect(asked).toEqual(['dense', 'dense']);
  });
});

it('three faults of the model in a row end it, and are said once', async () => {
  const { staging, asked, reasons, iterate } = setup({});
  staging.add([portion('broken'), portion('a')]);
  await iterate(5);
  expect(asked).toEqual(['broken', 'broken', 'broken']);
  expect(reasons).toEqual(['the model said nothing']);
});

it('what the purse does not pay for is no fault of the model, and waits', async () => {
  let isRefused = true;
  const { staging, staged, reasons, iterate } = setup({
    ask: async () =>
      isRefused
        ? { ok: false, reason: 'the budget does not pay for it', isUnpaid: true }
        : { ok: true, summary: 'short' },
  });
  staging.add([portion('a')]);
  await iterate(5);
  isRefused = false;
  await iterate();
  expect([staged, reasons]).toEqual([['a'], []]);
});

it('what throws on the way is a fault, and never rejects the work', async () => {
  const { staging, reasons, iterate } = setup({
    mayPay: () => {
      throw new Error('no purse');
    },
  });
  staging.add([portion('a')]);
  await iterate(4);
  expect(reasons).toEqual(['Error: no purse']);
  expect(staging.current).toBeUndefined();
});

it('… not even when the one who is told throws', async () => {
  const { staging, asked, iterate } = setup({
    onGivenUp: () => {
      throw new Error('nobody there');
    },
  });
  staging.add([portion('broken')]);
  await iterate(5);
  expect(asked).toHaveLength(3);
});
