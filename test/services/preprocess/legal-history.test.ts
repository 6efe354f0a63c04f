import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultMediaLimits } from '../../../services/preprocess/legal-blocks.ts';
import { repairHistory } from '../../../services/preprocess/legal-history.ts';
import { violationsOf } from './as-request.ts';
import {
  assistant,
  brokenHistory,
  call,
  image,
  legalHistory,
  PIXEL,
  result,
  thought,
  user,
} from './histories.ts';

const blocksOf = (messages: ReturnType<typeof repairHistory>['messages']) =>
  messages.flatMap((message) => message.content);

describe('a repaired history', () => {
  it('is legal, whatever it was', () => {
    fc.assert(
      fc.property(brokenHistory(), (history) => {
        expect(violationsOf(repairHistory(history).messages)).toEqual([]);
      }),
      { numRuns: 800 },
    );
  });

  it('is not repaired again', () => {
    fc.assert(
      fc.property(brokenHistory(), (history) => {
        const once = repairHistory(history);
        const twice = repairHistory(once.messages);
        expect(twice.repairs).toEqual([]);
        expect(twice.messages).toBe(once.messages);
      }),
      { numRuns: 800 },
    );
  });

  it('is the same when it is repaired from the same history again', () => {
    fc.assert(
      fc.property(brokenHistory(), (history) => {
        expect(repairHistory(history)).toEqual(repairHistory(history));
      }),
    );
  });

  it('has a name of its own for every message', () => {
    fc.assert(
      fc.property(brokenHistory(), (history) => {
        const uuids = repairHistory(history).messages.map((message) => message.uuid);
        expect(new Set(uuids).size).toBe(uuids.length);
      }),
    );
  });

  it('says what was done exactly when something was done', () => {
    fc.assert(
      fc.property(brokenHistory(), (history) => {
        const { messages, repairs } = repairHistory(history);
        expect(repairs.length === 0).toBe(messages === history);
      }),
    );
  });
});

it('a legal history is returned as it is', () => {
  fc.assert(
    fc.property(legalHistory(), (history) => {
      expect(violationsOf(history)).toEqual([]);
      const { messages, repairs } = repairHistory(history);
      expect(repairs).toEqual([]);
      expect(messages).toBe(history);
    }),
  );
});

describe('calls and results', () => {
  it('a call without a result is answered: the outcome is unknown', () => {
    const history = [user('go'), call('m1', 'a'), call('m1', 'b'), result('b'), user('more')];
    const { messages } = repairHistory(history);
    const answer = messages.find((message) => message.toolUseId === 'a' && message.role === 'user');
    expect(answer).toMatchObject({ origin: 'repair', kind: 'tool_result' });
    expect(answer?.content).toMatchObject([{ tool_use_id: 'a', is_error: true }]);
    expect(JSON.stringify(answer?.content)).toContain('outcome is unknown');
    expect(messages.filter((message) => history.includes(message))).toEqual(history);
  });

  it('PAIR-02 a result whose call is gone is dropped, and nothing else', () => {
    const history = [user('go'), result('gone'), assistant('m1', 'hm'), user('more')];
    const { messages } = repairHistory(history);
    expect(messages).toEqual([history[0], history[2], history[3]]);
  });

  it('a result that came late goes to its call instead of being invented', () => {
    const late = result('a', 'the real one');
    const history = [user('go'), call('m1', 'a'), user('hello?'), assistant('m2', 'hm'), late];
    const { messages } = repairHistory(history);
    expect(messages.slice(0, 4)).toEqual([history[0], history[1], late, history[2]]);
    expect(JSON.stringify(messages)).not.toContain('unknown');
  });

  it('ids that a provider uses again are told apart, each with its own result', () => {
    const history = [
      user('go'),
      call('m1', 'call_0'),
      result('call_0', 'first'),
      call('m2', 'call_0'),
      result('call_0', 'second'),
    ];
    const blocks = blocksOf(repairHistory(history).messages);
    expect(blocks.slice(3)).toMatchObject([
      { type: 'tool_use', id: 'call_0_2' },
      { type: 'tool_result', tool_use_id: 'call_0_2', content: 'second' },
    ]);
  });

  it('PAIR-08 the same call twice in one answer stays once', () => {
    const history = [user('go'), call('m1', 't1'), call('m1', 't1'), result('t1'), result('t1')];
    expect(repairHistory(history).messages).toEqual([history[0], history[1], history[3]]);
  });

  it('input that is no object becomes {}', () => {
    const history = [user('go'), call('m1', 'a', 'Read', 'x'), result('a')];
    expect(blocksOf(repairHistory(history).messages)[1]).toMatchObject({ id: 'a', input: {} });
  });
});

describe('text', () => {
  it('CONT-01 an empty text block beside a call goes, thinking stays byte for byte', () => {
    const history = [
      user('go'),
      thought('m1', ' two '),
      assistant('m1', ''),
      call('m1', 't1'),
      result('t1'),
    ];
    const { messages } = repairHistory(history);
    expect(messages).toEqual([history[0], history[1], history[3], history[4]]);
    expect(messages[1]).toBe(history[1]);
  });

  it('CONT-02 a tool that said nothing says so', () => {
    const history = [user('go'), call('m1', 'a'), result('a', '')];
    expect(blocksOf(repairHistory(history).messages)[2]).toMatchObject({ content: '(no output)' });
  });

  it('CONT-07 half of an emoji is replaced, the text before it is unchanged', () => {
    const history = [user('go'), call('m1', 'a'), result('a', 'xxx\ud83c')];
    expect(blocksOf(repairHistory(history).messages)[2]).toMatchObject({ content: 'xxx\uFFFD' });
  });

  it('CONT-09 a history that ends with an answer is asked to go on', () => {
    const { messages } = repairHistory([user('go'), assistant('m1', 'half of the ans')]);
    expect(messages.at(-1)).toMatchObject({ role: 'user', isMeta: true, origin: 'repair' });
  });

  it('words beside a call that came after its result do not end the history', () => {
    const history = [user('go'), call('m1', 'a'), result('a', 'seen'), assistant('m1', 'then')];
    expect(repairHistory(history).messages).toBe(history);
  });

  it('LIM-05 an answer that the API paused stays last and unchanged', () => {
    const search = assistant('m1', {
      type: 'server_tool_use',
      id: 's1',
      name: 'web_search',
      input: { query: 'q' },
    });
    const history = [user('go'), assistant('m1', 'searching'), search];
    expect(repairHistory(history, { isPaused: true }).messages).toBe(history);
    // … and is closed once somebody else has spoken
    const later = repairHistory([...history, user('next')]).messages;
    expect(later).toEqual([history[0], history[1], expect.objectContaining({ role: 'user' })]);
  });

  it('an answer of nothing but thinking is left out', () => {
    const history = [user('go'), thought('m1', 'hm'), user('more')];
    expect(repairHistory(history).messages).toEqual([history[0], history[2]]);
  });
});

describe('media', () => {
  it('FILE-11 an image above the limit becomes text; a small one stays', () => {
    const limits = { ...defaultMediaLimits, imageCharsMax: 1_000 };
    const big = user([{ type: 'text', text: 'look' }, image('A'.repeat(1_001)), image()]);
    const { messages, repairs } = repairHistory([big], { limits });
    expect(messages[0]?.content).toMatchObject([
      { text: 'look' },
      { type: 'text', text: expect.stringContaining('1001 characters') },
      { type: 'image' },
    ]);
    expect(repairs).toHaveLength(1);
  });

  it('an image with too many pixels becomes text, one with a wrong type gets the right one', () => {
    const wide = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x23\x28\0\0\0\x01', 'latin1');
    const jpeg = Buffer.from('\xff\xd8\xff\xe0\0\x04\0\0\xff\xc0\0\x11\x08\0\x10\0\x20', 'latin1');
    const { messages } = repairHistory([
      user([image(wide.toString('base64')), image(jpeg.toString('base64'))]),
    ]);
    expect(messages[0]?.content).toMatchObject([
      { type: 'text', text: expect.stringContaining('9000 x 1 pixels') },
      { type: 'image', source: { media_type: 'image/jpeg' } },
    ]);
  });

  it('FILE-14 too many bytes: the oldest media go first, and calls stay answered', () => {
    const limits = { ...defaultMediaLimits, messagesBytesMax: 10_000 };
    const rounds = [0, 1, 2, 3, 4].flatMap((n) => [
      call(`m${n}`, `c${n}`),
      result(`c${n}`, [image(PIXEL + 'A'.repeat(3_000))]),
    ]);
    const { messages } = repairHistory([user('go'), ...rounds], { limits });
    const kinds = messages
      .filter((message) => message.kind === 'tool_result')
      .map((message) => JSON.stringify(message.content).includes('"image"'));
    expect(kinds).toEqual([false, false, false, true, true]);
    expect(violationsOf(messages)).toEqual([]);
  });

  it('S12 more images than a request can carry: the oldest go', () => {
    const history = [user(Array.from({ length: 101 }, () => image()))];
    const blocks = blocksOf(repairHistory(history).messages);
    expect(blocks.filter((block) => block.type === 'image')).toHaveLength(80);
    expect(blocks[0]).toMatchObject({ type: 'text' });
  });

  it('S13 a document with more pages than a request can carry becomes text', () => {
    const pdf = Buffer.from('%PDF-1.4 << /Type /Pages /Count 150 >>').toString('base64');
    const history = [
      user([
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } },
      ]),
    ];
    expect(blocksOf(repairHistory(history).messages)).toMatchObject([
      { type: 'text', text: expect.stringContaining('150 pages') },
    ]);
  });
});
