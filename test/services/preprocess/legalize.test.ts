import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { begin, type Cursor, carry, type Transition } from '../../../machines/state.ts';
import { emptyHistory, MessageLog } from '../../../services/message-log.ts';
import type { LogMessage } from '../../../services/messages.ts';
import { defaultMediaLimits, type MediaLimits } from '../../../services/preprocess/legal-blocks.ts';
import { createLegalize } from '../../../services/preprocess/legalize.ts';
import type { StageWord } from '../../../services/preprocess/stage.ts';
import { createTokenCounter } from '../../../services/preprocess/token-count.ts';
import { violationsOf } from './as-request.ts';
import {
  assistant,
  brokenHistory,
  call,
  image,
  legalHistory,
  PIXEL,
  result,
  user,
} from './histories.ts';

const setup = (mediaLimits: MediaLimits = defaultMediaLimits) => {
  const log = new MessageLog();
  const words: StageWord[] = [];
  const counter = createTokenCounter({ log, fixed: () => ({ system: ['be good'], tools: [] }) });
  const legalize = createLegalize({
    log,
    counter,
    mediaLimits,
    tell: (word) => words.push(word),
    pricesOf: (model) =>
      model === 'm' ? { cacheReadUsdPerToken: 1, cacheWriteUsdPerToken: 10 } : undefined,
  });
  const run = (history: Cursor, model = 'm', transition?: Transition) =>
    legalize(
      { ...begin({ queryId: 'q', history, model }), transition },
      new AbortController().signal,
    );
  return { log, words, counter, run };
};
const add = (log: MessageLog, history: Cursor, messages: readonly LogMessage[]) => {
  for (const message of messages) log.put(message);
  log.extend(history.head, messages);
  return carry(history, messages);
};

describe('legalize', () => {
  it('keeps the head of a legal history and says nothing', async () => {
    await fc.assert(
      fc.asyncProperty(legalHistory(), async (messages) => {
        const { log, run, words } = setup();
        const history = add(log, emptyHistory, messages);
        const { history: legal } = await run(history);
        expect(legal.head).toBe(history.head);
        expect((await run(legal)).history).toBe(legal);
        expect(words).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  it('is legal at every step of a history that grows and breaks again and again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(brokenHistory(), { maxLength: 4 }), async (parts) => {
        const { log, run, words } = setup();
        let history = emptyHistory;
        for (const part of parts) {
          history = (await run(add(log, history, part))).history;
          expect(violationsOf(log.at(history.head))).toEqual([]);
          expect(history.count).toBe(log.at(history.head).length);
          const told = words.length;
          expect((await run(history)).history).toBe(history);
          expect(words).toHaveLength(told);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('an answer that goes on after a repair is looked at as a whole', async () => {
    const { log, run } = setup();
    const said = (apiId: string | undefined, ...content: LogMessage['content']) => {
      const { apiId: _, ...message } = assistant('m1', 'x');
      return { ...message, content, ...(apiId === undefined ? {} : { apiId }) };
    };
    const first = await run(add(log, emptyHistory, [user('go'), assistant('m1', 'half')]));
    const search = { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} } as const;
    const found = { type: 'web_search_tool_result', tool_use_id: 's1', content: [] as [] } as const;
    const { history } = await run(
      add(log, first.history, [said('m1', search), said(undefined, found), user('and?')]),
    );
    expect(violationsOf(log.at(history.head))).toEqual([]);
  });

  it('tells what it repaired; the broken history stays in the log', async () => {
    const { log, run, words } = setup();
    const broken = add(log, emptyHistory, [user('go'), call('m1', 'a'), user('more')]);
    const { history } = await run(broken);
    expect(history.head).not.toBe(broken.head);
    expect(log.at(broken.head)).toHaveLength(3);
    expect(log.at(history.head)).toHaveLength(4);
    expect(words).toEqual([
      { type: 'historyRepaired', repairs: [expect.stringMatching(/call a .*unknown/)] },
    ]);
  });

  it('a repair at the end is appended: what was sent before keeps its place', async () => {
    const { log, run } = setup();
    const broken = add(log, emptyHistory, [user('go'), assistant('m1', 'half')]);
    const { history } = await run(broken);
    expect(log.since(broken.head, history.head)).toHaveLength(1);
    expect(log.at(history.head).slice(0, 2)).toEqual(log.at(broken.head));
  });

  it('LIM-05 a paused answer stays last; it is looked at again when it has gone on', async () => {
    const { log, run, words } = setup();
    const asks = assistant('m1', {
      type: 'server_tool_use',
      id: 's1',
      name: 'web_search',
      input: {},
    });
    const finds = assistant('m2', {
      type: 'web_search_tool_result',
      tool_use_id: 's1',
      content: [],
    });
    const start = (await run(add(log, emptyHistory, [user('go')]))).history;
    const paused = add(log, start, [asks]);
    const pause: Transition = { reason: 'pause_turn_continuation', attempt: 1 };
    expect((await run(paused, 'm', pause)).history.head).toBe(paused.head);
    const answered = add(log, paused, [finds, user('thanks')]);
    expect((await run(answered)).history.head).toBe(answered.head);
    expect(words).toEqual([]);
  });

  it('an id of the part that is known to be legal is not used again', async () => {
    const { log, run } = setup();
    const first = (await run(add(log, emptyHistory, [user('a'), call('m1', 'x'), result('x')])))
      .history;
    const { history } = await run(add(log, first, [call('m2', 'x'), result('x', 'two')]));
    expect(violationsOf(log.at(history.head))).toEqual([]);
    expect(log.at(history.head).at(-1)?.content).toMatchObject([
      { tool_use_id: 'x_2', content: 'two' },
    ]);
  });

  it('FILE-14 counts media of the known part too, and leaves the oldest out', async () => {
    const { log, run } = setup({ ...defaultMediaLimits, messagesBytesMax: 10_000 });
    let history = emptyHistory;
    for (const n of [0, 1, 2, 3]) {
      const picture = result(`c${n}`, [image(PIXEL + 'A'.repeat(3_000))]);
      history = (await run(add(log, history, [user(`${n}`), call(`m${n}`, `c${n}`), picture])))
        .history;
    }
    const kept = log
      .at(history.head)
      .filter((message) => JSON.stringify(message.content).includes('"image"'));
    expect(kept.map((message) => message.toolUseId)).toEqual(['c2', 'c3']);
    expect(violationsOf(log.at(history.head))).toEqual([]);
  });

  it('prices the prompt: what the cache has at its price, the rest as written', async () => {
    const { log, run, counter } = setup();
    const first = (await run(add(log, emptyHistory, [user('go '.repeat(1_000))]))).history;
    counter.noteUsage(first.head, { input_tokens: 1_000, output_tokens: 0 });
    const second = await run(add(log, first, [assistant('m1', 'x'), user('y'.repeat(30))]));
    const written = second.history.tokens - 1_000;
    expect(written).toBeGreaterThan(5);
    expect(second.promptUsd).toBe(1_000 + 10 * written);
    expect((await run(second.history, 'unpriced')).promptUsd).toBe(0);
  });
});
