import { describe, expect, it } from 'vitest';
import type { FailureClass } from '../../../machines/state.ts';
import { mediaOf } from '../../../services/preprocess/media.ts';
import { createStripMedia } from '../../../services/recovery/strip-media.ts';
import { violationsOf } from '../preprocess/as-request.ts';
import { assistant, call, image, PIXEL, result, user } from '../preprocess/histories.ts';
import { world } from './world.ts';

const text = (words: string) => ({ type: 'text', text: words }) as const;
const strip = async (
  history: Parameters<typeof world>[0]['history'],
  failure: FailureClass,
  detail = '',
  userContext = '',
) => {
  const w = await world({ history });
  const { log, counter, tell } = w.deps;
  const rung = createStripMedia({
    log,
    counter,
    tell,
    onStripped: () => {},
    partsOf: () => ({ model: 'm', userContext }),
  });
  const answer = await rung(w.stateWith(w.history, { withheld: { class: failure, detail } }));
  const messages = answer.type === 'media.stripped' ? w.messagesAt(answer.history) : [];
  return { ...w, answer, messages, left: messages.map((message) => mediaOf(message).length) };
};

describe('stripping media', () => {
  it('takes out all when nobody knows which one was refused; text and answers stay', async () => {
    const { answer, messages, told, words } = await strip(
      [user([text('look'), image()]), call('m1', 'a'), result('a', [image(), text('a picture')])],
      'bad_image',
      'Could not process image',
    );
    expect(answer).toMatchObject({ type: 'media.stripped', left: 0 });
    expect(messages[0]?.content).toMatchObject([
      { text: 'look' },
      { text: expect.stringContaining('image left out') },
    ]);
    expect(JSON.stringify(messages)).toContain('a picture');
    expect(violationsOf(messages)).toEqual([]);
    expect(told('contextEdit')).toMatchObject([{ stage: 'media_strip' }]);
    expect(words).toHaveLength(1);
  });

  it('FILE-11 takes out only the one that the API names, whatever stands in front of it', async () => {
    const history = () => [
      user([text('look'), image(), image(`${PIXEL}AAAA`)]),
      call('m1', 'a'),
      result('a', [text('x'), image()]),
      assistant('m2', 'hm'),
      user([image()]),
    ];
    const prompt = 'messages.0.content.2.image.source.base64: Could not process image';
    expect((await strip(history(), 'bad_image', prompt)).left).toEqual([1, 0, 1, 0, 1]);
    const inResult = 'messages.2.content.0.tool_result.content.1.image.source.base64.data: too big';
    expect((await strip(history(), 'bad_image', inResult)).left).toEqual([2, 0, 0, 0, 1]);
    const shifted = 'messages.0.content.2.image.source.base64: Could not process image';
    const withContext = await strip(history(), 'bad_image', shifted, 'today is Monday');
    expect(withContext.left).toEqual([1, 0, 1, 0, 1]);
    expect(JSON.stringify(withContext.messages[0])).toContain('AAAA');
    // a place where no image is: better all than none
    const nowhere = 'messages.1.content.0.image.source: ?';
    expect((await strip(history(), 'bad_image', nowhere)).left).toEqual([0, 0, 0, 0, 0]);
  });

  it('FILE-14 too many bytes: the oldest go until less than half is left', async () => {
    const big = image(PIXEL + 'A'.repeat(30_000));
    const history = [0, 1, 2, 3].flatMap((n) => [
      call(`m${n}`, `c${n}`),
      result(`c${n}`, [{ ...big } as typeof big]),
    ]);
    const { answer, left, messages } = await strip([user('go'), ...history], 'request_too_large');
    expect(left.filter((count) => count > 0)).toHaveLength(1);
    expect(left.at(-1)).toBe(1);
    expect(answer).toMatchObject({ left: 1 });
    expect(violationsOf(messages)).toEqual([]);
  });

  it('has nothing to do where no media is', async () => {
    const { answer, words } = await strip([user('go')], 'request_too_large');
    expect(answer).toEqual({ type: 'media.absent' });
    expect(words).toEqual([]);
  });
});
