import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { begin, type Cursor } from '../../../machines/state.ts';
import { emptyHistory, MessageLog } from '../../../services/message-log.ts';
import type { LogMessage } from '../../../services/messages.ts';
import type { StageWord } from '../../../services/preprocess/stage.ts';
import { createTokenCounter } from '../../../services/preprocess/token-count.ts';
import {
  contentReplacementState,
  createToolResultBudget,
  type Replacement,
} from '../../../services/preprocess/tool-result-budget.ts';
import type { Tool } from '../../../services/tools/tool.ts';
import { violationsOf } from './as-request.ts';
import { assistant, call, image, result, user } from './histories.ts';

const tool = (name: string, maxResultSizeChars: number) =>
  ({ name, maxResultSizeChars, description: '', inputSchema: { type: 'object' } }) as Tool;
const tools = [tool('Read', Number.POSITIVE_INFINITY), tool('Bash', 50_000), tool('Tiny', 100)];

const setup = async (state = contentReplacementState(), roundCharsMax = 200_000) => {
  const root = await mkdtemp(join(tmpdir(), 'budget-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const folder = join(root, 'tool-results');
  const log = new MessageLog();
  const counter = createTokenCounter({ log, fixed: () => ({ system: [], tools }) });
  const words: StageWord[] = [];
  const records: Replacement[] = [];
  const make = () =>
    createToolResultBudget({
      log,
      counter,
      tools: () => tools,
      folder,
      state,
      roundCharsMax,
      onReplaced: (record) => records.push(record),
      tell: (word) => words.push(word),
    });
  const stage = make();
  const run = async (history: Cursor, by = stage) =>
    (await by(begin({ queryId: 'q', history, model: 'm' }), new AbortController().signal)).history;
  const add = (history: Cursor, messages: readonly LogMessage[]) => log.append(history, messages);
  return { root, folder, log, words, records, run, add, make, counter };
};
const contentOf = (log: MessageLog, history: Cursor, id: string) => {
  const message = log.at(history.head).find((m) => m.role === 'user' && m.toolUseId === id);
  const [block] = message?.content ?? [];
  return block?.type === 'tool_result' ? block.content : undefined;
};

describe('the budget of tool results', () => {
  it('a result above its tool’s bound goes to a file that only the user can read', async () => {
    const { run, add, log, folder, words, records } = await setup();
    const whole = `${'line of output\n'.repeat(5_000)}THE END`;
    const before = add(emptyHistory, [user('go'), call('m', 'a', 'Bash'), result('a', whole)]);
    const after = await run(before);
    const content = String(contentOf(log, after, 'a'));
    const [record] = records;
    expect(record?.toolUseId).toBe('a');
    expect(content).toContain(record?.path);
    expect(content).toContain('75,007 characters');
    expect(content.length).toBeLessThan(2_500);
    expect(await readFile(record?.path ?? '', 'utf8')).toBe(whole);
    expect((await stat(record?.path ?? '')).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(words).toMatchObject([{ type: 'contextEdit', stage: 'tool_result_budget', ids: ['a'] }]);
    expect(after.tokens).toBeLessThan(5_000);
    expect(violationsOf(log.at(after.head))).toEqual([]);
  });

  it('what fits keeps its head and its cursor', async () => {
    const { run, add, words } = await setup();
    const history = await run(add(emptyHistory, [user('go'), call('m', 'a'), result('a', 'ok')]));
    expect(await run(history)).toBe(history);
    expect(words).toEqual([]);
  });

  it('a tool without bound is exempt, alone and in the sum', async () => {
    const { run, add, log } = await setup();
    const big = 'r'.repeat(250_000);
    const history = [user('go'), call('m', 'a', 'Read'), call('m', 'b', 'Bash')];
    const after = await run(add(emptyHistory, [...history, result('a', big), result('b', 'ok')]));
    expect(contentOf(log, after, 'a')).toBe(big);
    expect(contentOf(log, after, 'b')).toBe('ok');
  });

  it('one round together: the largest go until the rest fits', async () => {
    const { run, add, log, records } = await setup(contentReplacementState(), 100_000);
    const sizes = { a: 30_000, b: 45_000, c: 20_000, d: 40_000 };
    const calls = Object.keys(sizes).map((id) => call('m', id, 'Bash'));
    const results = Object.entries(sizes).map(([id, size]) => result(id, 'x'.repeat(size)));
    const after = await run(add(emptyHistory, [user('go'), ...calls, ...results]));
    expect(records.map(({ toolUseId }) => toolUseId)).toEqual(['b']);
    expect(String(contentOf(log, after, 'd'))).toHaveLength(40_000);
    // rounds do not add up
    const next = await run(
      add(after, [call('n', 'e', 'Bash'), result('e', 'y'.repeat(49_000)), user('and')]),
    );
    expect(String(contentOf(log, next, 'e'))).toHaveLength(49_000);
  });

  it('CONT-07 the preview ends between graphemes', async () => {
    for (const pad of [0, 1, 2, 3]) {
      const { run, add, log } = await setup();
      const whole = 'x'.repeat(2_000 - pad) + '\u{1f389}'.repeat(40_000);
      const after = await run(
        add(emptyHistory, [user('go'), call('m', 'a', 'Bash'), result('a', whole)]),
      );
      const content = String(contentOf(log, after, 'a'));
      expect(content).not.toMatch(/\p{Surrogate}/u);
      expect(content).toContain('x'.repeat(2_000 - pad));
    }
  });

  it('is decided once: sent whole stays whole, also after a resume', async () => {
    const first = await setup();
    const history = [user('go'), call('m', 'a', 'Tiny'), result('a', 'z'.repeat(5_000))];
    const after = await first.run(first.add(emptyHistory, history));
    const again = await first.run(after, first.make()); // a new process, the same state
    expect(again.head).toBe(after.head);
    expect(first.records).toHaveLength(1);

    const resumed = await setup(contentReplacementState(first.records, ['kept']));
    const old = [...history, call('n', 'kept', 'Tiny'), result('kept', 'k'.repeat(5_000))];
    const known = await resumed.run(resumed.add(emptyHistory, old));
    expect(contentOf(resumed.log, known, 'a')).toBe(contentOf(first.log, after, 'a'));
    expect(contentOf(resumed.log, known, 'kept')).toBe('k'.repeat(5_000));
    expect(resumed.records).toEqual([]);
    await expect(readdir(resumed.folder)).rejects.toThrow('ENOENT');
  });

  it('images in a result stay', async () => {
    const { run, add, log } = await setup();
    const content = [{ type: 'text', text: 't'.repeat(60_000) } as const, image()];
    const after = await run(
      add(emptyHistory, [user('go'), call('m', 'a', 'Bash'), result('a', content)]),
    );
    expect(contentOf(log, after, 'a')).toMatchObject([{ type: 'text' }, { type: 'image' }]);
  });

  it('a disk that takes nothing: the beginning is shown, and people are told', async () => {
    const { run, add, log, folder, words } = await setup();
    await writeFile(folder, 'a file where the folder should be');
    const after = await run(
      add(emptyHistory, [user('go'), call('m', 'a', 'Tiny'), result('a', 'w'.repeat(9_000))]),
    );
    expect(String(contentOf(log, after, 'a'))).toContain('could not be saved');
    expect(words).toContainEqual(expect.objectContaining({ type: 'warning' }));
  });

  it('ids that are no file names do not leave the folder', async () => {
    const { run, add, folder, records, root } = await setup();
    const id = '../../evil';
    await run(
      add(emptyHistory, [user('go'), call('m', id, 'Tiny'), result(id, 'w'.repeat(9_000))]),
    );
    expect(records[0]?.path?.startsWith(folder)).toBe(true);
    expect(await readdir(root)).toEqual(['tool-results']);
  });

  it('looks only at what is new', async () => {
    const { run, add, log, counter } = await setup();
    let history = await run(add(emptyHistory, [user('go')]));
    for (let n = 0; n < 50; n += 1) {
      history = await run(
        add(history, [call(`m${n}`, `c${n}`, 'Bash'), result(`c${n}`, 'ok'), assistant('e', 'e')]),
      );
    }
    expect(history.count).toBe(151);
    expect(history.tokens).toBe(counter.estimate(history.head));
    expect(log.at(history.head)).toHaveLength(151);
  });
});
