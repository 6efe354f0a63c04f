import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { begin } from '../../../machines/state.ts';
import { emptyHistory, MessageLog } from '../../../services/message-log.ts';
import type { LogMessage } from '../../../services/messages.ts';
import { createSnip, type Snipped } from '../../../services/preprocess/snip.ts';
import { createTokenCounter } from '../../../services/preprocess/token-count.ts';
import { isRequest } from '../../../services/recovery/split-history.ts';
import { violationsOf } from './as-request.ts';
import { assistant, call, legalHistory, result, user } from './histories.ts';

const snip = async (
  messages: readonly LogMessage[],
  more: { messagesMax?: number; request?: string },
) => {
  const log = new MessageLog();
  const counter = createTokenCounter({ log, fixed: () => ({ system: [], tools: [] }) });
  const snipped: Snipped[] = [];
  let request = more.request;
  const stage = createSnip({
    log,
    counter,
    tell: () => {},
    messagesMax: () => more.messagesMax,
    takeRequest: () => {
      const taken = request;
      request = undefined;
      return taken;
    },
    onSnipped: (what) => snipped.push(what),
    uuid: randomUUID,
    now: Date.now,
  });
  const history = log.append(emptyHistory, messages);
  const state = begin({ queryId: 'q', history, model: 'm' });
  const done = await stage(state, new AbortController().signal);
  return { log, history, after: done.history, snipped, messages: log.at(done.history.head) };
};

it('cuts between rounds, keeps the last request and the last round', async () => {
  await fc.assert(
    fc.asyncProperty(legalHistory(), fc.integer({ min: 1, max: 20 }), async (history, max) => {
      const {
        messages,
        after,
        history: before,
        snipped,
      } = await snip(history, {
        messagesMax: max,
      });
      expect(violationsOf([...messages, user('end')])).toEqual([]);
      if (after.head === before.head) return;
      expect(history.length).toBeGreaterThan(max);
      expect(messages).toContain(history.findLast(isRequest));
      const dropped = new Set(snipped[0]?.dropped);
      const left = history.filter((message) => !dropped.has(message.uuid));
      expect(messages).toEqual([snipped[0]?.boundary, ...left]);
    }),
  );
});

it('does what the host asks for, at the round in which its message stands', async () => {
  const history = [
    user('one'),
    call('m1', 'a'),
    result('a'),
    assistant('m2', 'done'),
    user('two'),
    call('m3', 'b'),
    result('b'),
  ];
  const { messages } = await snip(history, { request: history[4]?.uuid ?? '' });
  expect(messages.slice(1)).toEqual(history.slice(4));
  const inside = await snip(history, { request: history[2]?.uuid ?? '' });
  expect(inside.messages.slice(1)).toEqual(history.slice(1));
});

it('is the same cursor without a wish and below the bound', async () => {
  const { history, after } = await snip([user('one'), assistant('m', 'x')], { messagesMax: 2 });
  expect(after).toBe(history);
});
