import { describe, expect, it } from 'vitest';
import { begin, type Cursor } from '../../../machines/state.ts';
import { emptyHistory, MessageLog } from '../../../services/message-log.ts';
import type { LogMessage } from '../../../services/messages.ts';
import { createMicrocompact } from '../../../services/preprocess/microcompact.ts';
import type { StageWord } from '../../../services/preprocess/stage.ts';
import { createTokenCounter } from '../../../services/preprocess/token-count.ts';
import { violationsOf } from './as-request.ts';
import { call, result, user } from './histories.ts';

const setup = () => {
  const log = new MessageLog();
  const counter = createTokenCounter({ log, fixed: () => ({ system: [], tools: [] }) });
  const words: StageWord[] = [];
  const cleared: string[] = [];
  let sized = 0;
  const stage = createMicrocompact({
    log,
    counter: {
      ...counter,
      estimateMessages: (messages) => {
        sized += messages.length;
        return counter.estimateMessages(messages);
      },
    },
    tell: (word) => words.push(word),
    onCleared: (ids) => cleared.push(...ids),
  });
  const run = async (history: Cursor) =>
    (await stage(begin({ queryId: 'q', history, model: 'm' }), new AbortController().signal))
      .history;
  /** How many messages a pass has measured. */
  const sizedBy = async (history: Cursor) => {
    sized = 0;
    return { after: await run(history), sized };
  };
  return { log, words, cleared, run, sizedBy };
};
const made = (n: number, name: string, input: unknown, chars: number) => [
  call(`m${n}`, `c${n}`, name, input),
  result(`c${n}`, `result ${n} ${'word '.repeat(chars / 5)}`),
];
const results = (log: MessageLog, { head }: Cursor) =>
  log
    .at(head)
    .filter((message) => message.kind === 'tool_result')
    .map((message) => JSON.stringify(message.content).length);
const ten = (name: string, chars: number, inputOf = (n: number): unknown => ({ n })) =>
  Array.from({ length: 10 }, (_, n) => made(n, name, inputOf(n), chars)).flat();
const start = (log: MessageLog, messages: readonly LogMessage[]) =>
  log.append(emptyHistory, [user('go'), ...messages]);

describe('microcompact', () => {
  it('old outputs of commands lose their middle, the last five stay whole', async () => {
    const { log, run, words, cleared } = setup();
    const after = await run(start(log, ten('Bash', 30_000)));
    const sizes = results(log, after);
    expect(sizes.slice(0, 5).every((size) => size > 4_000 && size < 6_000)).toBe(true);
    expect(sizes.slice(5).every((size) => size > 30_000)).toBe(true);
    expect(words).toMatchObject([{ stage: 'microcompact', ids: ['c0', 'c1', 'c2', 'c3', 'c4'] }]);
    expect(cleared).toEqual(['c0', 'c1', 'c2', 'c3', 'c4']);
    expect(violationsOf(log.at(after.head))).toEqual([]);
    expect(await run(after)).toBe(after);
  });

  it('all but the newest of identical reads go', async () => {
    const { log, run } = setup();
    const after = await run(
      start(
        log,
        ten('Read', 15_000, () => ({ file_path: '/a' })),
      ),
    );
    const sizes = results(log, after);
    expect(sizes.slice(0, 5).every((size) => size < 300)).toBe(true);
  });

  it('… but not when the newest only says that nothing has changed', async () => {
    const { log, run } = setup();
    const history = start(log, [
      ...made(0, 'Read', { file_path: '/a' }, 90_000),
      ...made(1, 'Read', { file_path: '/a' }, 50),
      ...[2, 3, 4, 5, 6].flatMap((n) => made(n, 'Grep', { n }, 50)),
    ]);
    expect((await run(history)).head).toBe(history.head);
  });

  it('much to read again: the oldest are cleared, in one batch, the last five kept', async () => {
    const { log, run, words } = setup();
    let history: Cursor = start(log, []);
    for (let n = 0; n < 30; n += 1)
      history = await run(log.append(history, made(n, 'Read', { n }, 9_000)));
    // 30 x 3,000 tokens in all: one batch of at least 20,000 each time, not a change a round
    expect(words.length).toBeGreaterThan(0);
    expect(words.length).toBeLessThanOrEqual(3);
    for (const word of words)
      expect('tokensFreed' in word && word.tokensFreed).toBeGreaterThanOrEqual(20_000);
    expect(
      results(log, history)
        .slice(-5)
        .every((size) => size > 9_000),
    ).toBe(true);
    expect(violationsOf(log.at(history.head))).toEqual([]);
  });

  it('leaves alone what frees too little, and tools that nobody knows', async () => {
    const { log, run } = setup();
    const little = start(log, ten('Bash', 12_000));
    expect((await run(little)).head).toBe(little.head);
    const foreign = start(log, ten('mcp__x__y', 50_000));
    expect((await run(foreign)).head).toBe(foreign.head);
  });

  it('what was cleared is no more to be read again: it does not count', async () => {
    const { log, run, words } = setup();
    const small = Array.from({ length: 1_500 }, (_, n) => made(n, 'Grep', { n }, 150)).flat();
    const cleared = await run(start(log, small));
    expect(words).toHaveLength(1);
    // The 1,495 notes alone have more than 40,000 tokens; what is there to be read has less.
    const more = Array.from({ length: 11 }, (_, n) =>
      made(2_000 + n, 'Grep', { n }, 10_000),
    ).flat();
    const grown = log.append(cleared, more);
    expect((await run(grown)).head).toBe(grown.head);
  });

  it('a round is not split, also when its first results can not become shorter', async () => {
    const { log, run, cleared } = setup();
    const ids = ['Edit', 'Edit', 'Bash', 'Bash', 'Bash', 'Bash'].map((name, n) => ({ name, n }));
    const wide = [
      ...ids.map(({ name, n }) => call('wide', `w${n}`, name, { n })),
      ...ids.map(({ n }) => result(`w${n}`, 'word '.repeat(10_000))),
    ];
    const history = start(log, [
      ...ten('Bash', 30_000),
      ...wide,
      ...[20, 21].flatMap((n) => made(n, 'Edit', { n }, 50)),
    ]);
    await run(history); // the last five begin within the wide round
    expect(cleared).toEqual(Array.from({ length: 10 }, (_, n) => `c${n}`));
  });

  it('a pass measures what may become shorter, however long the history is', async () => {
    const { log, run, sizedBy, words } = setup();
    let history: Cursor = start(log, []);
    const most: number[] = [];
    for (let n = 0; n < 600; n += 1) {
      const name = ['Read', 'Edit', 'Bash'][n % 3] ?? '';
      const { after, sized } = await sizedBy(log.append(history, made(n, name, { n }, 6_000)));
      history = after;
      most[Math.floor(n / 200)] = Math.max(most[Math.floor(n / 200)] ?? 0, sized);
      expect(await run(after)).toBe(after);
    }
    expect(words.length).toBeGreaterThan(5);
    const [first = 0, , last = 0] = most;
    expect(last).toBeLessThanOrEqual(first);
  });
});
