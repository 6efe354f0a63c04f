/**
 * The store at work: histories that grow, are cut and changed by others, while summaries come late,
 * fail, or come for what is not there any more. Its ports are played; the summaries come when the
 * test says so.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { begin, type Cursor, type QueryState } from '../../../machines/state.ts';
import type { FoldAnswer } from '../../../services/collapse/ask-fold.ts';
import { createCollapse, namesOf } from '../../../services/collapse/collapse.ts';
import type { Collapse, Collapses } from '../../../services/collapse/record.ts';
import type { Segment } from '../../../services/collapse/segments.ts';
import { emptyHistory, MessageLog } from '../../../services/message-log.ts';
import type { LogMessage } from '../../../services/messages.ts';
import { bareUuid, revise } from '../../../services/preprocess/revise.ts';
import type { StageWord } from '../../../services/preprocess/stage.ts';
import { createTokenCounter } from '../../../services/preprocess/token-count.ts';
import { windows } from '../../../services/preprocess/windows.ts';
import { unfolded } from '../../../src/originals.ts';
import { violationsOf } from '../preprocess/as-request.ts';
import { assistant, call, result, user, uuid } from '../preprocess/histories.ts';

/** 6,000 tokens to use; 1,500 protected, 750 a portion. */
const numbers = windows(8_000, 64_000);
const signal = new AbortController().signal;

function world() {
  const log = new MessageLog();
  const counter = createTokenCounter({ log, fixed: () => ({ system: ['be good'], tools: [] }) });
  const collapses: Collapses = new Map();
  const words: StageWord[] = [];
  const asked: Segment[] = [];
  let answer: ((answer: FoldAnswer) => void) | undefined;
  let query = new AbortController();
  const service = createCollapse({
    ...{ log, counter, collapses, tell: (word: StageWord) => words.push(word) },
    numbersOf: () => numbers,
    ask: (_, segment, over) => {
      asked.push(segment);
      return new Promise((resolve) => {
        answer = resolve;
        over.addEventListener('abort', () => resolve({ ok: false, reason: 'aborted' }));
      });
    },
    mayPay: () => true,
    fold: async ({ messages, tokens }, summary): Promise<Collapse> => {
      const id = uuid();
      const note = { uuid: id, kind: 'note', origin: 'summary', isMeta: true } as const;
      return { id, uuids: namesOf(messages), tokens, message: user(summary, note) };
    },
    onStaged: () => {},
    onCommitted: () => {},
    beside: (work) => void work(query.signal),
  });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    ...{ log, counter, collapses, words, asked },
    state: (history: Cursor): QueryState => begin({ queryId: 'q', history, model: 'm' }),
    ...service,
    /** The summary that is on its way is there now. @returns whether there was one. */
    reply: async (said: FoldAnswer = { ok: true, summary: '(short)' }) => {
      const waiting = answer;
      answer = undefined;
      waiting?.(said);
      await settle();
      return waiting !== undefined;
    },
    endQuery: async () => {
      query.abort();
      answer = undefined;
      await settle();
      query = new AbortController();
    },
  };
}

let serial = 0;
const round = (tokens: number): readonly LogMessage[] => {
  serial += 1;
  return [
    call(`a${serial}`, `t${serial}`, 'Dig'),
    result(`t${serial}`, 'word '.repeat(Math.ceil((tokens * 3) / 5))),
  ];
};

type Op =
  | { readonly type: 'round'; readonly tokens: number }
  | {
      readonly type: 'prompt' | 'reply' | 'fail' | 'drain' | 'end' | 'clear' | 'compact' | 'rewind';
    };
const ops = fc.array(
  fc.oneof(
    {
      weight: 16,
      arbitrary: fc.integer({ min: 20, max: 900 }).map((tokens): Op => ({ type: 'round', tokens })),
    },
    { weight: 10, arbitrary: fc.constant<Op>({ type: 'reply' }) },
    {
      weight: 3,
      arbitrary: fc.constantFrom<Op>(
        ...(['prompt', 'fail', 'drain', 'end', 'clear', 'compact', 'rewind'] as const).map(
          (type) => ({ type }),
        ),
      ),
    },
  ),
  { minLength: 30, maxLength: 90 },
);

describe('the store of collapses', () => {
  it('never loses or doubles a message, whatever happens around it', async () => {
    let committed = 0;
    await fc.assert(
      fc.asyncProperty(ops, async (all) => {
        const w = world();
        /** As it was said: what must come back. */
        let said: readonly LogMessage[] = [user('the task')];
        let history = w.log.append(emptyHistory, said);
        const add = (messages: readonly LogMessage[]) => {
          said = [...said, ...messages];
          history = w.log.append(history, messages);
        };
        for (const op of all) {
          switch (op.type) {
            case 'round':
              add(round(op.tokens));
              break;
            case 'prompt':
              add([assistant(`w${serial}`, 'well'), user('another wish')]);
              serial += 1;
              break;
            case 'reply':
              await w.reply();
              break;
            case 'fail':
              await w.reply({ ok: false, reason: 'no' });
              break;
            case 'end':
              await w.endQuery();
              break;
            case 'drain': {
              const drained = await w.drain(w.state(history));
              if (drained.type === 'collapse.drained') history = drained.history;
              break;
            }
            case 'clear': {
              // As microcompact does it: other versions of old results.
              const messages = w.log.at(history.head);
              const cleared = messages.map((message, at) =>
                message.kind === 'tool_result' && at < messages.length / 2
                  ? revise(message, message.content)
                  : message,
              );
              history = w.log.rewriteFrom(history.head, cleared, 0);
              break;
            }
            case 'compact': {
              const summary = user('(all of it)', {
                kind: 'note',
                origin: 'summary',
                isMeta: true,
              });
              const kept = w.log.at(history.head).slice(-2);
              if (kept[0]?.role !== 'assistant') break;
              said = [summary, ...kept];
              history = w.log.rewrite(said, 0);
              break;
            }
            case 'rewind': {
              const at = Math.floor(said.length / 2) * 2 - 1;
              if (said[at]?.kind !== 'tool_result') break;
              said = said.slice(0, at + 1);
              history = w.log.rewrite(unfolded(w, said), 0);
              break;
            }
          }
          const before = history.head;
          history = (await w.collapse(w.state(history), signal)).history;
          const view = w.log.at(history.head);
          expect(history.count).toBe(view.length);
          if (history.head !== before) expect(violationsOf([...view, user('go on')])).toEqual([]);
          expect(unfolded(w, view).map((m) => bareUuid(m.uuid))).toEqual(
            said.map((m) => bareUuid(m.uuid)),
          );
          // Decided once: a second look changes nothing.
          const again = await w.collapse(w.state(history), signal);
          expect(again.history.head).toBe(history.head);
        }
        const lists = [...w.collapses.values()].map(({ uuids }) => uuids.join());
        expect(new Set(lists).size).toBe(lists.length); // nothing is paid for twice
        committed += [...w.collapses.values()].filter(({ isCommitted }) => isCommitted).length;
        expect(w.counter.estimate(history.head)).toBeGreaterThan(0);
      }),
      { numRuns: 60 },
    );
    expect(committed).toBeGreaterThan(60); // the test is about something
  }, 60_000);

  it('asks for each portion once, the oldest first, one at a time', async () => {
    const w = world();
    let history = w.log.append(emptyHistory, [user('go')]);
    for (let n = 0; n < 12; n += 1) {
      history = w.log.append(history, round(400));
      history = (await w.collapse(w.state(history), signal)).history;
    }
    expect(w.asked).toHaveLength(1);
    while (await w.reply()) {}
    const names = w.asked.flatMap(({ messages }) => messages.map((m) => m.uuid));
    expect(w.asked.length).toBeGreaterThan(1);
    expect(new Set(names).size).toBe(names.length);
    const order = w.log
      .at(history.head)
      .map((m) => m.uuid)
      .filter((name) => names.includes(name));
    expect(names.filter((name) => order.includes(name))).toEqual(order);
  });

  it('a portion whose summary has failed comes again; the third failure in a row is the last', async () => {
    const w = world();
    let history = w.log.append(emptyHistory, [
      user('go'),
      ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].flatMap(() => round(400)),
    ]);
    const pass = async () => {
      history = (await w.collapse(w.state(history), signal)).history;
    };
    for (const said of ['fail', 'fail', 'reply', 'fail', 'fail', 'fail', 'fail']) {
      await pass();
      await w.reply(said === 'reply' ? undefined : { ok: false, reason: 'no' });
      if (said === 'reply') await w.reply({ ok: false, reason: 'no' }); // the next one follows at once
    }
    const first = w.asked.map(({ messages }) => messages[0]?.uuid);
    expect(new Set(first.slice(0, 3)).size).toBe(1);
    expect(new Set(first.slice(3)).size).toBe(1);
    expect(first).toHaveLength(6);
    expect(w.words.filter((word) => word.type === 'warning')).toHaveLength(1);
  });

  it('a query that has ended begins nothing, and the next one does', async () => {
    const w = world();
    const history = w.log.append(emptyHistory, [
      user('go'),
      ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].flatMap(() => round(400)),
    ]);
    await w.collapse(w.state(history), signal);
    await w.endQuery();
    expect(w.asked).toHaveLength(1);
    await w.collapse(w.state(history), signal);
    expect(w.asked).toHaveLength(2);
    expect(w.asked[1]).toEqual(w.asked[0]);
    expect(w.words).toEqual([]);
  });

  it.each(['compact', 'collapse', 'tool_summary', 'hook_agent'] as const)(
    'nothing is collapsed for an errand: %s',
    async (querySource) => {
      const w = world();
      const history = w.log.append(emptyHistory, [
        user('go'),
        ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].flatMap(() => round(500)),
      ]);
      await w.collapse({ ...w.state(history), querySource }, signal);
      expect(w.asked).toEqual([]);
    },
  );
});
