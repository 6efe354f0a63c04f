/**
 * A line for people about each round of tools: asked of the small model beside the loop, shown when
 * it is there, and never waited for longer than a moment.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  callTool,
  callTools,
  forever,
  message,
  overloaded,
  type Script,
  say,
  silent,
  text,
} from '../../../src/testing/index.ts';
import type { SDKMessage } from '../../../src/wire.ts';
import { type Story, tell } from '../../tools/story.ts';

const summariesOf = (messages: readonly SDKMessage[]) =>
  messages.flatMap((one) => (one.type === 'tool_use_summary' ? [one] : []));

/** Two rounds of reading, then an answer that takes its time. */
const story = (script: Partial<Script> = {}, more: Partial<Story> = {}): Story => ({
  prepare: ({ cwd }) => writeFileSync(join(cwd, 'a.txt'), 'a secret of state\n'),
  script: ({ cwd }) => ({
    replies: [
      callTool('Read', { file_path: join(cwd, 'a.txt') }),
      callTools([
        ['Glob', { pattern: '*.txt' }],
        ['Glob', { pattern: '*.md' }],
      ]),
      say('done', { headersDelayMs: 300 }),
    ],
    toolSummaries: [say('Read a.txt'), say('"Looked for texts and notes."\nAnd more.')],
    ...script,
  }),
  gates: { emitToolUseSummaries: true },
  ...more,
});

describe('with the gate open', () => {
  it('each round is described once, by the calls that it had', async () => {
    const told = await tell(story());
    expect(
      summariesOf(told.messages).map(({ summary, preceding_tool_use_ids: ids }) => [summary, ids]),
    ).toEqual([
      ['Read a.txt', ['toolu_scripted_1']],
      ['Looked for texts and notes', ['toolu_scripted_2', 'toolu_scripted_3']],
    ]);
    // A line is no part of the conversation.
    expect(JSON.stringify(told.requests.at(-1)?.body)).not.toContain('Looked for texts');
    expect(told.last.result).toBe('done');
  });

  it('a settings file opens it', async () => {
    const told = await tell(
      story({}, { gates: {}, options: { settings: { emitToolUseSummaries: true } } }),
    );
    expect(told.server.requestsOf('tool_summary')).toHaveLength(2);
  });

  it('the small model is shown the calls and the beginning of what they gave', async () => {
    const told = await tell(story({}, { config: () => ({ smallModel: 'claude-haiku-4-5' }) }));
    const [first] = told.server.requestsOf('tool_summary');
    expect(first?.body).toMatchObject({ model: 'claude-haiku-4-5', max_tokens: 100 });
    expect(first?.body).not.toHaveProperty('tools');
    expect(JSON.stringify(first?.body.messages)).toMatch(/Read .*a\.txt.*a secret of state/);
    // Its cost is on the bill of the turn, under its own name.
    expect(told.last.modelUsage['claude-haiku-4-5']?.outputTokens).toBeGreaterThan(0);
  });

  it('a line that is late is waited for at the next round, and then given up', async () => {
    const told = await tell(
      story({ toolSummaries: [silent(), say('Looked for texts')] }, { limits: { attachMs: 100 } }),
    );
    expect(summariesOf(told.messages).map(({ summary }) => summary)).toEqual(['Looked for texts']);
    const gone = await told.server.until(({ type }) => type === 'client_closed', 0);
    expect(gone).toBeDefined();
  });

  it('… also when it has begun to answer: what it has used is billed', async () => {
    const slow = message([text('Read a.txt')], {
      fault: { kind: 'stall', after: 'message_start' },
    });
    const told = await tell(
      story({ toolSummaries: [slow, say('Looked for texts')] }, { limits: { attachMs: 300 } }),
    );
    expect(summariesOf(told.messages)).toHaveLength(1);
    expect(told.last.usage).toEqual(told.server.billed({ includingBroken: true }));
  });

  it('the end of the turn ends it, and its usage counts', async () => {
    const slow = message([text('Read a.txt')], {
      fault: { kind: 'stall', after: 'message_start' },
    });
    const told = await tell(
      story({
        toolSummaries: [slow],
        replies: [callTool('Glob', { pattern: '*' }), say('done', { headersDelayMs: 300 })],
      }),
    );
    expect(summariesOf(told.messages)).toEqual([]);
    expect(told.last.terminal_reason).toBe('completed');
    expect(await told.server.until(({ type }) => type === 'client_closed', 0)).toBeDefined();
  });

  it('an abort ends it as well', async () => {
    const told = await tell(
      story(
        { toolSummaries: [silent()], replies: [callTool('Glob', { pattern: '*' }), silent()] },
        {
          during: async (_, engine, { server }) => {
            if (server.requestsOf('tool_summary').length > 0) engine.interrupt();
          },
          begin: (engine, { server }) => {
            void server
              .until((entry) => entry.type === 'request' && entry.purpose === 'tool_summary')
              .then(() => engine.interrupt());
          },
        },
      ),
    );
    expect(told.last.terminal_reason).toBe('aborted_streaming');
    expect(summariesOf(told.messages)).toEqual([]);
  });

  it('a server that cannot do it is asked three times, and says why once', async () => {
    const replies = Array.from({ length: 6 }, (_, n) => callTool('Glob', { pattern: `*.${n}` }));
    const told = await tell(
      story({ toolSummaries: forever(overloaded()), replies: [...replies, say('done')] }),
    );
    expect(told.server.requestsOf('tool_summary')).toHaveLength(3);
    expect(told.lines.filter((line) => line.includes('not described any more'))).toHaveLength(1);
    expect(told.last.result).toBe('done');
  });

  it('… and so is one whose lines come too late', async () => {
    const replies = Array.from({ length: 6 }, (_, n) => callTool('Glob', { pattern: `*.${n}` }));
    const told = await tell(
      story(
        { toolSummaries: forever(silent()), replies: [...replies, say('done')] },
        { limits: { attachMs: 100 } },
      ),
    );
    expect(told.server.requestsOf('tool_summary')).toHaveLength(3);
    expect(told.lines.filter((line) => line.includes('not described any more'))).toHaveLength(1);
    expect(told.last.result).toBe('done');
  });

  it('a budget that has hardly any room left is not spent on it', async () => {
    const summariesWith = async (smallModel: string) => {
      const told = await tell({
        script: {
          replies: [
            callTool('Glob', { pattern: '*' }, { usage: { output_tokens: 10_000 } }),
            say('done', { headersDelayMs: 100 }),
          ],
        },
        options: { maxBudgetUsd: 0.22, tools: ['Glob'], systemPrompt: 'Be brief.' },
        config: () => ({ smallModel }),
        gates: { emitToolUseSummaries: true },
      });
      expect(told.last.result).toBe('done');
      return told.server.requestsOf('tool_summary').length;
    };
    // About 0.06 dollars are left. A line by the dear model may cost 0.01, more than a tenth of it.
    expect(await summariesWith('claude-haiku-4-5')).toBe(1);
    expect(await summariesWith('claude-opus-4-1')).toBe(0);
    expect(await summariesWith('a-model-without-a-price')).toBe(0);
  });

  it('agents have none', async () => {
    const told = await tell(
      story({
        replies: [
          callTool('Task', {
            description: 'look',
            prompt: 'look around',
            subagent_type: 'general-purpose',
          }),
          { ...callTool('Glob', { pattern: '*' }), when: { firstTextIncludes: 'look around' } },
          { ...say('nothing there'), when: { firstTextIncludes: 'look around' } },
          say('done', { headersDelayMs: 300 }),
        ],
      }),
    );
    expect(told.last.result).toBe('done');
    expect(summariesOf(told.messages)).toHaveLength(1);
    expect(told.server.requestsOf('tool_summary')).toHaveLength(1);
  });
});

it('with the gate shut no model is asked', async () => {
  const told = await tell(story({}, { gates: { emitToolUseSummaries: false } }));
  expect(told.server.requestsOf('tool_summary')).toEqual([]);
  expect(summariesOf(told.messages)).toEqual([]);
});
