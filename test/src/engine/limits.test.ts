/** Answers that are cut, paused, refused or empty: each has its own bounded way on. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { callTool, forever, message, say, text, toolUse } from '../../../src/testing/index.ts';
import { summing } from '../../tools/gates.ts';
import { heard, tell } from '../../tools/story.ts';

const RESUME = 'user: You reached the output limit.';

describe('answers that do not end well', () => {
  it('LIM-01 a Write that was cut is not run; the same is asked again with more room', async () => {
    const told = await tell({
      script: ({ cwd }) => ({
        replies: [
          message([toolUse('Write', {}, { rawJson: `{"file_path":"${join(cwd, 'big.md')}"` })], {
            stopReason: 'max_tokens',
          }),
          say('ok, smaller'),
        ],
      }),
      prepare: ({ cwd }) => writeFileSync(join(cwd, 'big.md'), 'KEEP ME'),
      check: ({ cwd }) => expect(readFileSync(join(cwd, 'big.md'), 'utf8')).toBe('KEEP ME'),
    });
    expect(told.transitions).toEqual(['max_output_tokens_escalate']);
    expect(told.requests.map(heard)).toEqual([['user: do it'], ['user: do it']]);
    expect(told.lines.some((line) => line.includes('Write'))).toBe(false);
  });

  it('LIM-01 a cut call after a whole one: the whole one counts, the cut one is explained', async () => {
    const told = await tell({
      script: {
        replies: [
          message(
            [
              toolUse('Bash', { command: 'echo x >> log; cat log' }),
              toolUse('Bash', {}, { rawJson: '{"command": "echo y >> l' }),
            ],
            { stopReason: 'max_tokens' },
          ),
          say('ok'),
        ],
      },
      check: ({ cwd }) => expect(readFileSync(join(cwd, 'log'), 'utf8')).toBe('x\n'),
    });
    expect(told.transitions).toEqual(['max_output_tokens_recovery']);
    const [, , results] = told.requests.map(heard).at(-1) ?? [];
    expect(results).toMatch(/^user: result x \+ error .*output.*limit.* \+ You reached/s);
  });

  it('LIM-03 recovery is bounded, and a finished turn refills it', async () => {
    const cutAnswer = say('part', { stopReason: 'max_tokens' });
    const told = await tell({
      script: {
        replies: [
          { ...cutAnswer, times: 3 },
          callTool('Bash', { command: 'echo between' }),
          { ...cutAnswer, times: 'always' },
        ],
      },
    });
    expect(told.last).toMatchObject({
      terminal_reason: 'max_output_tokens',
      subtype: 'error_during_execution',
      num_turns: 8,
    });
    expect(told.transitions).toEqual([
      'max_output_tokens_escalate',
      'max_output_tokens_recovery',
      'max_output_tokens_recovery',
      'next_turn',
      'max_output_tokens_recovery',
      'max_output_tokens_recovery',
      'max_output_tokens_recovery',
    ]);
    const last = told.requests.map(heard).at(-1) ?? [];
    expect(last.filter((line) => line.startsWith(RESUME)).length).toBe(5);
    expect(last.filter((line) => line.includes('part')).length).toBe(5);
  });

  it('LIM-05 a paused answer with a server tool goes back unchanged', async () => {
    const search = { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'q' } };
    const told = await tell({
      script: {
        replies: [
          message([text('searching'), { type: 'raw', start: search }], {
            stopReason: 'pause_turn',
          }),
          say('answer'),
        ],
      },
    });
    expect(told.requests.map(heard).at(-1)).toEqual([
      'user: do it',
      'assistant: searching + [server_tool_use]',
    ]);
    expect(told.last).toMatchObject({ terminal_reason: 'completed', num_turns: 2 });
  });

  it('LIM-05 a server that always pauses is stopped', async () => {
    const told = await tell({
      script: { replies: forever(say('hm', { stopReason: 'pause_turn' })) },
      limits: { pausesMax: 3 },
    });
    expect(told.last.terminal_reason).toBe('no_progress');
    expect(told.requests.length).toBe(4);
  });

  it('LIM-07 a refusal without a word: one request, and nothing empty is kept', async () => {
    const told = await tell({
      script: { replies: [message([], { stopReason: 'refusal' }), say('Gladly.')] },
      prompts: ['do harm', 'do good'],
    });
    expect(told.results.map((r) => [r.terminal_reason, r.is_error])).toEqual([
      ['refusal', true],
      ['completed', false],
    ]);
    expect(told.requests.length).toBe(2);
  });

  it('LIM-07 a refusal after a call: the call is answered, and the session goes on', async () => {
    const told = await tell({
      script: {
        replies: [
          message([toolUse('Bash', { command: 'sleep 5; touch done' })], { stopReason: 'refusal' }),
          say('Gladly.'),
        ],
      },
      prompts: ['do harm', 'do good'],
      check: ({ cwd }) => expect(existsSync(join(cwd, 'done'))).toBe(false),
    });
    expect(told.results.map((r) => r.terminal_reason)).toEqual(['refusal', 'completed']);
    expect(told.requests.map(heard).at(-1)?.at(-1)).toMatch(/^user: error .*interrupted/);
  });

  it('LIM-08 nothing is said after results: asked once more, and nothing empty is kept', async () => {
    const told = await tell({
      script: {
        replies: [callTool('Bash', { command: 'touch x' }), message([]), message([]), say('Yes?')],
      },
      prompts: ['do it', 'and?'],
    });
    expect(told.results.map((r) => r.terminal_reason)).toEqual([
      'empty_output_exhausted',
      'completed',
    ]);
    expect(told.transitions).toEqual(['next_turn', 'empty_output_retry']);
  });

  it('a window that is exceeded by the answer: a summary, and the turn goes on', async () => {
    const told = await tell({
      gates: summing,
      script: {
        replies: [
          say('Noted.'),
          say('Noted, too.'),
          say('Half', { stopReason: 'model_context_window_exceeded' }),
          say('All of it.'),
        ],
      },
      prompts: [`remember ${'x'.repeat(60_000)}`, 'and this', 'go on'],
    });
    expect(told.transitions).toEqual(['reactive_compact_retry']);
    expect(told.last.result).toBe('All of it.');
  });
});
