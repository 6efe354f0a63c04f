/** `/compact`: a person wants the conversation summed up now. */
import { describe, expect, it } from 'vitest';
import { httpError, SUMMARY_MARK, say, silent } from '../../../src/testing/index.ts';
import type { SDKMessage } from '../../../src/wire.ts';
import { heard, type Story, tell } from '../../tools/story.ts';

const talk = (more: Partial<Story>): Story => ({
  script: {
    replies: [say(`one ${'x'.repeat(30_000)}`), say('two'), say('three')],
  },
  prompts: ['first', 'second', '/compact keep the numbers', 'third'],
  ...more,
});

describe('/compact', () => {
  it('sums up with the wishes of the person, tells the host, and the next turn goes on', async () => {
    const told = await tell(talk({}));
    const turn = told.lines.slice(told.lines.indexOf('status compacting') - 1);
    expect(turn.slice(0, 5)).toEqual([
      'init',
      'status compacting',
      'compact_boundary',
      'status null',
      expect.stringMatching(
        /^end completed "The conversation was summed up: about \d+ tokens now\."$/,
      ),
    ]);
    const boundary = told.messages.find(
      (message) => message.type === 'system' && message.subtype === 'compact_boundary',
    );
    expect(boundary).toMatchObject({ compact_metadata: { trigger: 'manual' } });
    const { pre_tokens: before, post_tokens: after } = metadataOf(boundary);
    expect(after).toBeLessThan(before / 2);
    const [asked] = told.server.requestsOf('compact');
    expect(JSON.stringify(asked?.body)).toContain('keep the numbers');
    const last = told.requests.map(heard).at(-1) ?? [];
    expect(last[0]).toContain(SUMMARY_MARK);
    expect(last.join()).toContain('second');
    expect(last.at(-1)).toBe('user: third');
    // a turn of its own: its prompt is named, its usage is billed, no answer of the loop is counted
    expect(told.results[2]).toMatchObject({ num_turns: 0, is_error: false });
    expect(told.results[2]?.usage.output_tokens).toBeGreaterThan(0);
  });

  it('has nothing to do in an empty session, and says so', async () => {
    const told = await tell({ script: { replies: [] }, prompts: ['/compact'] });
    expect(told.last).toMatchObject({ is_error: false, terminal_reason: 'completed' });
    expect(told.last.result).toMatch(/^Not summed up: /);
    expect(told.server.requests).toEqual([]);
  });

  it('a summary that is refused is an error; the conversation is what it was', async () => {
    const refused = httpError(400, 'invalid_request_error', 'no summary today');
    const story = talk({});
    const told = await tell({ ...story, script: { ...story.script, compactions: [refused] } });
    expect(told.results[2]).toMatchObject({ is_error: true, terminal_reason: 'api_error' });
    expect(told.results[2]?.errors.join()).toContain('no summary today');
    expect(told.requests.map(heard).at(-1)?.join()).toContain('xxx');
    expect(told.last).toMatchObject({ is_error: false, result: 'three' });
  });

  it('a summary that the budget does not pay for is not asked for; the turn says so', async () => {
    // 20,000 tokens at 15 dollars a million, which a summary may have
    const told = await tell({ ...talk({}), options: { maxBudgetUsd: 0.3 } });
    expect(told.results[2]).toMatchObject({
      ...{ terminal_reason: 'budget_exhausted', subtype: 'error_max_budget_usd' },
      errors: [expect.stringMatching(/^Not summed up: the budget of \$0\.3 has .* maxBudgetUsd/)],
    });
    expect(told.server.requestsOf('compact')).toEqual([]);
    expect(told.last).toMatchObject({ is_error: false, result: 'three' });
  });

  it('can be interrupted; the conversation is what it was', async () => {
    const story = talk({
      during: (message, engine) => {
        if (message.type === 'system' && message.subtype === 'status')
          if (message.status === 'compacting') engine.interrupt();
      },
    });
    const slow = say('late', { headersDelayMs: 5_000 });
    const told = await tell({ ...story, script: { ...story.script, compactions: [slow] } });
    expect(told.results[2]).toMatchObject({ terminal_reason: 'aborted_streaming' });
    expect(told.last).toMatchObject({ is_error: false, result: 'three' });
    expect(told.lines).not.toContain('compact_boundary');
  });

  it('a summary that never comes is given up; the conversation is what it was', async () => {
    const { replies = [] } = talk({}).script as { replies?: readonly [] };
    const told = await tell(
      talk({
        script: { replies, compactions: [silent()] },
        limits: { summaryMs: 150 },
      }),
    );
    expect(told.results[2]).toMatchObject({
      terminal_reason: 'model_error',
      errors: ['Not summed up: no summary within 0.15 s.'],
    });
    expect(told.requests.map(heard).at(-1)?.join()).toContain('user: first');
  });

  it('a hook may object', async () => {
    const told = await tell(
      talk({
        options: {
          hooks: {
            PreCompact: [{ hooks: [async () => ({ decision: 'block', reason: 'not now' })] }],
          },
        },
      }),
    );
    expect(told.results[2]).toMatchObject({ is_error: false, terminal_reason: 'hook_stopped' });
    expect(told.results[2]?.result).toContain('not now');
    expect(told.server.requestsOf('compact')).toEqual([]);
  });

  it('engine.compact() is the same without a prompt in between', async () => {
    const said: SDKMessage[] = [];
    await tell(
      talk({
        prompts: ['first', 'second'],
        except: ['usage'],
        after: async (engine) => {
          for await (const message of engine.compact('be short')) said.push(message);
          expect(engine.messages[0]?.origin).toBe('summary');
        },
      }),
    );
    expect(said.at(-1)).toMatchObject({ type: 'result', is_error: false });
    expect(said.some((m) => m.type === 'system' && m.subtype === 'compact_boundary')).toBe(true);
  });
});

const metadataOf = (message: SDKMessage | undefined) => {
  if (message?.type !== 'system' || message.subtype !== 'compact_boundary')
    throw new Error('no boundary');
  return message.compact_metadata;
};
