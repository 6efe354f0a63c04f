import { expect, it } from 'vitest';
import { begin } from '../../../machines/state.ts';
import {
  type AttachmentSource,
  createAttachments,
} from '../../../services/attachments/attachments.ts';
import { emptyHistory, MessageLog } from '../../../services/message-log.ts';
import type { LogMessage } from '../../../services/messages.ts';
import type { StageWord } from '../../../services/preprocess/stage.ts';
import { asRequest, violationsOf } from '../preprocess/as-request.ts';
import { call, image, result, user } from '../preprocess/histories.ts';

const note = (words: string) => user(words, { kind: 'note', origin: 'attachment', isMeta: true });
const setup = (
  queue: LogMessage[],
  sources: Record<string, AttachmentSource> = {},
  contexts: LogMessage[] = [],
) => {
  const log = new MessageLog();
  const words: StageWord[] = [];
  const attach = createAttachments({
    log,
    queued: async () => () => queue.splice(0),
    contexts: () => contexts.splice(0),
    sources,
    tell: (word) => words.push(word),
  });
  const history = log.append(emptyHistory, [user('go'), call('m', 't1'), result('t1', 'A')]);
  const state = begin({ queryId: 'q', history, model: 'm', limits: { attachMs: 100 } });
  const run = async (signal = new AbortController().signal) =>
    (await attach(state, signal)).messages;
  return { log, words, run, history };
};

it('PAIR-05 a queued prompt stands after the results, once, under its own name', async () => {
  const queue = [user([{ type: 'text', text: 'also check C' }, image()])];
  const [prompt] = queue;
  const { log, run, history } = setup(queue);
  const refs = await run();
  expect(refs.map(({ uuid }) => uuid)).toEqual([prompt?.uuid]);
  expect(queue).toEqual([]);
  expect(await run()).toEqual([]);
  const messages = log.at(
    log.append(
      history,
      refs.map(({ uuid }) => log.get(uuid)),
    ).head,
  );
  expect(violationsOf(messages)).toEqual([]);
  const last = asRequest(messages).messages.at(-1);
  expect(last?.content).toMatchObject([
    { type: 'tool_result', tool_use_id: 't1' },
    { type: 'text', text: expect.stringContaining('while you were working') },
    { type: 'text', text: 'also check C' },
    { type: 'image' },
  ]);
  expect(messages.at(-1)).toMatchObject({ origin: 'prompt' });
});

it('hook contexts first, then what was found, then prompts', async () => {
  const [hook, file, prompt] = [note('hook'), note('file'), user('prompt')];
  const { run } = setup([prompt], { 'changed files': async () => [file] }, [hook]);
  expect((await run()).map(({ uuid }) => uuid)).toEqual([hook.uuid, file.uuid, prompt.uuid]);
});

it('a source that hangs or fails is left out, and people are told', async () => {
  const { run, words } = setup([user('prompt')], {
    memory: () => new Promise(() => {}),
    'changed files': () => {
      throw new Error('no disk');
    },
  });
  expect(await run()).toHaveLength(1);
  expect(words.map((word) => 'text' in word && word.text).sort()).toEqual([
    'changed files is left out: no disk',
    'memory took too long and is left out',
  ]);
});

it('after an abort the queue is left to the next turn', async () => {
  const queue = [user('prompt')];
  const { run } = setup(queue, { memory: () => new Promise(() => {}) });
  const stop = new AbortController();
  const running = run(stop.signal);
  stop.abort();
  expect(await running).toEqual([]);
  expect(queue).toHaveLength(1);
});
