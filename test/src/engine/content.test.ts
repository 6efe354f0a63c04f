/** What goes back to the model: nothing empty, nothing half, thinking as it came. */
import { describe, expect, it } from 'vitest';
import { isWellFormed } from '../../../services/well-formed.ts';
import {
  callTool,
  message,
  overloaded,
  type ReceivedRequest,
  redactedThinking,
  say,
  text,
  thinking,
  toolUse,
} from '../../../src/testing/index.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { answer, past, user } from '../../tools/past.ts';
import { heard, tell } from '../../tools/story.ts';

interface Sent {
  readonly role: string;
  readonly content: readonly { readonly type: string; readonly [field: string]: unknown }[];
}
const messagesOf = (request: ReceivedRequest | undefined) =>
  (request?.body.messages ?? []) as readonly Sent[];
const look = hostTool('Look', () => 'seen');

describe('what goes back', () => {
  it('CONT-01 an empty text beside a call stays at home, the call goes', async () => {
    const told = await tell({
      script: { replies: [message([text(''), toolUse('Look')]), say('ok')] },
      config: () => ({ tools: [look] }),
    });
    expect(told.requests.map(heard).at(-1)).toEqual([
      'user: do it',
      'assistant: Look({})',
      'user: result seen',
    ]);
  });

  it('CONT-02 tools that succeed silently say so', async () => {
    const told = await tell({
      script: {
        replies: [
          message([
            toolUse('Bash', { command: 'mkdir -p x' }),
            toolUse('Grep', { pattern: 'zzz' }),
            toolUse('Silent'),
          ]),
          say('ok'),
        ],
      },
      config: ({ tools }) => ({
        tools: [...tools, hostTool('Silent', () => '', { call: async () => ({ content: [] }) })],
      }),
    });
    const results = messagesOf(told.requests[1]).at(-1)?.content ?? [];
    expect(results.map((block) => [block.type, block.is_error ?? false])).toEqual([
      ['tool_result', false],
      ['tool_result', false],
      ['tool_result', false],
    ]);
    for (const { content } of results) expect(JSON.stringify(content).length).toBeGreaterThan(6);
  });

  it('CONT-04 interleaved thinking goes back exactly as it came', async () => {
    const told = await tell({
      script: {
        replies: [
          message([
            thinking('one', { signature: 's1' }),
            text(''),
            toolUse('Look', { n: 1 }),
            redactedThinking('ZZZ'),
            thinking(' two ', { signature: 's2' }),
            toolUse('Look', { n: 2 }),
          ]),
          say('ok'),
        ],
      },
      options: { thinking: { type: 'enabled', budgetTokens: 1_024 } },
      config: () => ({ tools: [look] }),
    });
    expect(messagesOf(told.requests[1])[1]?.content).toMatchObject([
      { type: 'thinking', thinking: 'one', signature: 's1' },
      { type: 'tool_use', input: { n: 1 } },
      { type: 'redacted_thinking', data: 'ZZZ' },
      { type: 'thinking', thinking: ' two ', signature: 's2' },
      { type: 'tool_use', input: { n: 2 } },
    ]);
  });

  it('CONT-05 signed thinking goes to no other model, and back to its own untouched', async () => {
    const told = await tell({
      script: {
        replies: [
          message([thinking('x', { signature: 'sig-a' }), toolUse('Look')]),
          overloaded({ times: 3 }),
          say('from b'),
          say('from a'),
        ],
      },
      prompts: ['do it', 'again'],
      options: {
        thinking: { type: 'enabled', budgetTokens: 1_024 },
        fallbackModel: 'claude-haiku-4-5',
      },
      config: () => ({ tools: [look] }),
    });
    const kinds = told.requests.map((request) => [
      request.body.model,
      messagesOf(request)[1]?.content.map(({ type }) => type),
    ]);
    expect(kinds).toEqual([
      ['claude-sonnet-4-5', undefined],
      ...Array(3).fill(['claude-sonnet-4-5', ['thinking', 'tool_use']]),
      ['claude-haiku-4-5', ['tool_use']],
      ['claude-sonnet-4-5', ['thinking', 'tool_use']],
    ]);
    expect(told.lines.filter((line) => line.startsWith('fallback'))).toEqual([
      'fallback claude-sonnet-4-5 → claude-haiku-4-5',
    ]);
  });

  it('CONT-07 an emoji at the limit of a result is never halved', async () => {
    for (const n of [0, 1, 2, 3]) {
      const long = `${'x'.repeat(50_000 - n)}${'🎉'.repeat(10)}`;
      const told = await tell({
        script: { replies: [message([toolUse('Long'), toolUse('Fails')]), say('ok')] },
        config: () => ({
          tools: [
            hostTool('Long', () => long),
            hostTool('Fails', () => {
              throw new Error(long);
            }),
          ],
        }),
      });
      const lines = told.requests.map(heard).at(-1) ?? [];
      for (const line of lines) expect(isWellFormed(line)).toBe(true);
      expect(lines.at(-1)).toContain('x'.repeat(1_000));
    }
  });

  it('CONT-09 a conversation that ended with half an answer goes on with a user message', async () => {
    const told = await tell({
      script: { replies: [say('wer.')] },
      prompts: ['   ', 'go on'],
      config: () => ({ initialMessages: past(user('go'), answer('m1', 'Half of the ans')) }),
    });
    expect(told.results[0]?.terminal_reason).toBe('turn_setup_failed');
    expect(told.requests.map(heard)).toEqual([
      ['user: go', 'assistant: Half of the ans', 'user: go on'],
    ]);
  });

  it('CONT-11 a tool without arguments can be called, with an empty delta and with none', async () => {
    const inputs: unknown[] = [];
    const told = await tell({
      script: {
        replies: [
          message(
            [
              toolUse('status', {}, { id: 't1', rawJson: '' }),
              { type: 'raw', start: { type: 'tool_use', id: 't2', name: 'status', input: {} } },
            ],
            { stopReason: 'tool_use' },
          ),
          say('ok'),
        ],
      },
      config: () => ({
        tools: [
          hostTool('status', (input) => {
            inputs.push(input);
            return 'fine';
          }),
        ],
      }),
    });
    expect(inputs).toEqual([{}, {}]);
    expect(told.requests.map(heard).at(-1)?.at(-1)).toBe('user: result fine + result fine');
  });

  it('a call of a tool that there is not is answered, and the turn goes on', async () => {
    const told = await tell({ script: { replies: [callTool('Nope'), say('ok')] } });
    expect(told.requests.map(heard).at(-1)?.at(-1)).toMatch(/^user: error .*Nope/);
  });
});
