/** The oldest turns go, without a summary: on request of the host, or above a number of messages. */
import { describe, expect, it } from 'vitest';
import { replaySnip } from '../../../src/snip-replay.ts';
import { say } from '../../../src/testing/index.ts';
import { heard, tell } from '../../tools/story.ts';

const replies = Array.from({ length: 8 }, (_, n) => say(`answer ${n}`));
const prompts = Array.from({ length: 8 }, (_, n) => `prompt ${n}`);
const editsOf = (lines: readonly string[]) => lines.filter((line) => line === 'context_edit snip');

describe('snip', () => {
  it('on request of the host: what came before a message is gone, and the host is told', async () => {
    let stored: readonly string[] = [];
    const told = await tell({
      script: { replies: replies.slice(0, 5) },
      prompts: prompts.slice(0, 5),
      during: (message, engine) => {
        const isEdit = message.type === 'system' && message.subtype === 'context_edit';
        // the engine's own store has followed when the host hears of it
        if (isEdit) stored = engine.messages.map(({ uuid }) => uuid);
        if (message.type !== 'result' || message.result !== 'answer 3') return;
        const [third] = engine.messages.filter((m) => JSON.stringify(m).includes('prompt 2'));
        engine.snip(third?.uuid ?? '');
      },
    });
    expect(editsOf(told.lines)).toHaveLength(1);
    const edit = told.messages.find((m) => m.type === 'system' && m.subtype === 'context_edit');
    if (edit?.type !== 'system' || edit.subtype !== 'context_edit') throw new Error('not told');
    expect(edit).toMatchObject({ stage: 'snip', tokens_freed: expect.any(Number) });
    expect(edit.ids).toHaveLength(4);
    expect(stored.some((uuid) => edit.ids.includes(uuid))).toBe(false);
    const last = told.requests.map(heard).at(-1) ?? [];
    expect(last.join()).not.toContain('prompt 1');
    expect(last[0]).toContain('(The 4 messages before this were dropped.)');
    expect(last.join()).toContain('prompt 2');
    expect(last.at(-1)).toBe('user: prompt 4');
  });

  it('above a number of messages, in batches: most requests find their prefix again', async () => {
    const told = await tell({
      script: { replies },
      prompts,
      options: { settings: { historySnip: { maxMessages: 6 } } },
    });
    const edits = editsOf(told.lines).length;
    expect(edits).toBeGreaterThan(0);
    expect(edits).toBeLessThan(4);
    expect(told.history.length).toBeLessThanOrEqual(8);
    for (const request of told.requests) expect(heard(request).length).toBeLessThanOrEqual(7);
  });

  it('a store of the host follows with the same function', () => {
    const store = ['a', 'b', 'c'].map((uuid) => ({ uuid }) as never);
    const said = { type: 'system', subtype: 'context_edit', stage: 'snip', ids: ['a', 'b'] };
    expect(replaySnip(said as never, store)).toEqual({ messages: [{ uuid: 'c' }], executed: true });
    const other = { ...said, stage: 'microcompact' };
    expect(replaySnip(other as never, store)).toBeUndefined();
  });
});
