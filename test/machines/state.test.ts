import { describe, expect, it } from 'vitest';
import {
  begin,
  carry,
  type FailureClass,
  type Flaw,
  flawOf,
  headAfter,
  type QueryState,
  type StopReason,
} from '../../machines/state.ts';

const query = (more: Partial<QueryState>): QueryState => ({
  ...begin({ queryId: 'q', model: 'm', history: { head: '0/', count: 0, tokens: 0 } }),
  ...more,
});
const text = { attempt: [{ uuid: 'a', role: 'assistant', kind: 'text' }] } as const;
const thinking = { attempt: [{ uuid: 'a', role: 'assistant', kind: 'thinking' }] } as const;
const called = { callCount: 1 };

describe('flawOf an answer that ended', () => {
  const cases: [StopReason, string, Partial<QueryState>, Flaw | undefined][] = [
    ['end_turn', 'text', text, undefined],
    ['end_turn', 'a call', called, undefined],
    ['end_turn', 'thinking alone', thinking, 'empty_output'],
    ['end_turn', 'nothing', {}, 'empty_output'],
    ['stop_sequence', 'text', text, undefined],
    ['tool_use', 'a call', called, undefined],
    ['tool_use', 'text and no call', text, 'malformed_tool_use'],
    ['max_tokens', 'text', text, 'max_output_tokens'],
    ['max_tokens', 'a call', called, 'max_output_tokens'],
    ['model_context_window_exceeded', 'text', text, 'prompt_too_long'],
    ['model_context_window_exceeded', 'a call', called, 'prompt_too_long'],
    ['refusal', 'a call', called, 'refusal'],
    ['pause_turn', 'text', text, undefined],
  ];
  it.each(cases)('%s with %s', (stopReason, _, said, flaw) => {
    expect(flawOf(query({ stopReason, ...said }))).toBe(flaw);
  });
});

describe('flawOf a request that failed', () => {
  const cases: [FailureClass, Flaw, Flaw][] = [
    // alone, and after a complete block
    ['connection', 'transport', 'stream_broke'],
    ['truncated', 'transport', 'stream_broke'],
    ['overloaded', 'api', 'stream_broke'],
    ['auth', 'api', 'stream_broke'],
    ['prompt_too_long', 'prompt_too_long', 'prompt_too_long'],
    ['output_cap_too_high', 'prompt_too_long', 'prompt_too_long'],
    ['request_too_large', 'request_too_large', 'request_too_large'],
    ['bad_image', 'bad_image', 'bad_image'],
    ['bug', 'bug', 'bug'],
  ];
  it.each(cases)('%s', (name, alone, after) => {
    const withheld = { class: name, detail: '' };
    expect(flawOf(query({ withheld }))).toBe(alone);
    expect(flawOf(query({ withheld, ...thinking }))).toBe(alone);
    expect(flawOf(query({ withheld, ...text }))).toBe(after);
    expect(flawOf(query({ withheld, ...called }))).toBe(after);
  });
  it('blocking_limit, unless it was sent and refused before', () => {
    const withheld = { class: 'blocking_limit', detail: '' } as const;
    expect(flawOf(query({ withheld }))).toBe('blocking_limit');
    expect(flawOf(query({ withheld, wasRefusedAsTooLong: true }))).toBe('prompt_too_long');
  });
});

describe('a cursor', () => {
  it('moves on within its chain', () => {
    expect(headAfter('3/a', 'b')).toBe('3/b');
    const refs = ['b', 'c'].map((uuid) => ({ uuid, role: 'user', kind: 'note' }) as const);
    expect(carry({ head: '3/a', count: 4, tokens: 9 }, refs)).toEqual({
      ...{ head: '3/c', count: 6, tokens: 9 },
    });
  });
});
