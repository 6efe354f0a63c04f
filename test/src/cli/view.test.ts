import { expect, it } from 'vitest';
import { emptyView, isColorWanted, showMessage } from '../../../src/cli/view.ts';
import type { SDKMessage } from '../../../src/wire.ts';

const envelope = { uuid: 'u', session_id: 's' };
const usage = {
  input_tokens: 1,
  output_tokens: 1,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
};
const assistant = (uuid: string, content: unknown[]): SDKMessage =>
  ({
    ...envelope,
    uuid,
    type: 'assistant',
    parent_tool_use_id: null,
    message: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'x',
      content,
      stop_reason: null,
      stop_sequence: null,
      usage,
    },
  }) as SDKMessage;
const delta = (text: string, messageUuid: string): SDKMessage => ({
  ...envelope,
  type: 'stream_event',
  event: { type: 'content_block_delta', delta: { type: 'text_delta', text } },
  parent_tool_use_id: null,
  message_uuid: messageUuid,
});
const system = (fields: object): SDKMessage =>
  ({ ...envelope, type: 'system', ...fields }) as SDKMessage;

function show(messages: readonly SDKMessage[], isColored = false): string {
  let state = emptyView;
  let printed = '';
  for (const message of messages) {
    const [next, text] = showMessage(state, message, { isColored });
    state = next;
    printed += text;
  }
  return printed;
}

it('a turn, as a person reads it', () => {
  const printed = show([
    system({ subtype: 'init' }),
    system({
      subtype: 'api_retry',
      attempt: 1,
      max_retries: 10,
      retry_delay_ms: 500,
      error_status: 529,
      error: '529 overloaded_error: Overloaded',
    }),
    delta('I will ', 'a1'),
    delta('look.', 'a1'),
    assistant('a1', [{ type: 'text', text: 'I will look.' }]),
    assistant('a2', [
      { type: 'tool_use', id: 't', name: 'Bash', input: { command: 'npm\n  test' } },
    ]),
    {
      ...envelope,
      type: 'user',
      parent_tool_use_id: null,
      message: {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't', content: 'one\ntwo\nthree\nfour\nfive\nsix' },
        ],
      },
    },
    system({ subtype: 'transition', reason: 'next_turn', iteration: 2 }),
    assistant('a3', [{ type: 'text', text: 'not streamed' }]),
    {
      ...envelope,
      type: 'result',
      subtype: 'success',
      is_error: false,
      terminal_reason: 'completed',
      result: 'not streamed',
      errors: [],
      stop_reason: 'end_turn',
      num_turns: 2,
      duration_ms: 1_234,
      duration_api_ms: 1_000,
      total_cost_usd: null,
      run_cost_usd: null,
      usage,
      modelUsage: {},
      permission_denials: [],
      user_message_uuids: [],
    },
  ]);
  expect(printed.split('\n')).toEqual([
    '  ⚠ 529 overloaded, again in 0.5 s (try 1 of 10)',
    'I will look.',
    '● Bash npm test',
    '  ⎿ output:',
    '    one',
    '    two',
    '    three',
    '    four',
    '    five',
    '    six',
    expect.stringMatching(/^ {2}↻ next_turn: /),
    'not streamed',
    '',
    '✔ completed · 2 model calls · 1.2 s · price unknown',
    expect.any(String),
    '',
  ]);
});

it('a long result is cut, a shell shows its end', () => {
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`).join('\n');
  const answered = (name: string) =>
    show([
      assistant('a', [{ type: 'tool_use', id: 't', name, input: {} }]),
      {
        ...envelope,
        type: 'user',
        parent_tool_use_id: null,
        message: {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 't', content: lines }],
        },
      },
    ]);
  expect(answered('Read')).toContain('… 16 more lines');
  expect(answered('Bash')).toMatch(/… 11 lines, then\n\s+line 12\n/);
  expect(answered('Bash')).toContain('line 20');
});

it('text that was streamed and then taken back ends its line first', () => {
  const printed = show([
    delta('half', 'a1'),
    { ...envelope, type: 'tombstone', message: { uuid: 'a1' } },
  ]);
  expect(printed).toMatch(/^half\n.*taken back/);
});

it.each([
  [{}, true, true],
  [{}, false, false],
  [{ TERM: 'dumb' }, true, false],
  [{ NO_COLOR: '1' }, true, false],
  [{ FORCE_COLOR: '1' }, false, true],
  [{ FORCE_COLOR: '0' }, false, false],
  [{ FORCE_COLOR: '1', NO_COLOR: '1' }, true, false],
])('colours: %j, terminal %s: %s', (environment, isTTY, expected) => {
  expect(isColorWanted(environment, isTTY)).toBe(expected);
});

it('without colours there is not one escape character, with them there is', () => {
  const messages = [system({ subtype: 'informational', level: 'warning', content: 'careful' })];
  expect(show(messages)).not.toContain('\u001b');
  expect(show(messages, true)).toContain('\u001b');
});
