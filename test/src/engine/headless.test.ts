/** Budgets, denials and shapes: what a program that reads the result relies on. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CanUseTool } from '../../../services/permissions/types.ts';
import {
  callTool,
  computed,
  forever,
  message,
  say,
  toolNames,
  toolUse,
} from '../../../src/testing/index.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { heard, tell } from '../../tools/story.ts';

const look = hostTool('Look', ({ n }) => `seen ${n}`);
const looks = forever(computedLook());
function computedLook() {
  return (_: unknown, n: number) => callTool('Look', { n });
}
const numberSchema = {
  type: 'object',
  required: ['n'],
  properties: { n: { type: 'number' } },
} as const;

describe('HEAD-03 maxTurns', () => {
  it('three requests, the tools of the last one have run, the next prompt works', async () => {
    const told = await tell({
      script: { replies: looks },
      options: { maxTurns: 3 },
      config: () => ({ tools: [look] }),
      prompts: ['do it', 'more'],
    });
    expect(told.results[0]).toMatchObject({ subtype: 'error_max_turns', num_turns: 3 });
    expect(told.results[0]?.errors.length).toBe(1);
    expect(told.requests.map(heard)[3]?.at(-1)).toBe('user: result seen 2 + more');
  });

  it('1 with a plain answer is a success', async () => {
    const told = await tell({ script: { replies: [say('hi')] }, options: { maxTurns: 1 } });
    expect(told.last).toMatchObject({ subtype: 'success', num_turns: 1 });
  });

  it('continuations that spend no turn have bounds of their own', async () => {
    const told = await tell({
      script: { replies: forever(say('part', { stopReason: 'max_tokens' })) },
      options: { maxTurns: 1 },
    });
    expect(told.last.terminal_reason).toBe('max_output_tokens');
    expect(told.requests.length).toBe(5);
  });

  it('nudges of a token budget spend turns', async () => {
    const told = await tell({
      script: { replies: forever(say('more ', { usage: { output_tokens: 600 } })) },
      options: { maxTurns: 3 },
      prompts: ['write +1m'],
    });
    expect(told.last).toMatchObject({ terminal_reason: 'max_turns', num_turns: 3 });
  });
});

describe('HEAD-09 structured output', () => {
  const structured = (more = {}) => ({
    outputFormat: { type: 'json_schema' as const, schema: numberSchema },
    ...more,
  });

  it('is offered whatever else is, and never a success without a value', async () => {
    const told = await tell({
      script: { replies: forever(say('the answer is 4')) },
      options: structured({ allowedTools: ['Read'], tools: ['Read'] }),
    });
    expect(told.last).toMatchObject({
      terminal_reason: 'structured_output_retry_exhausted',
      subtype: 'error_max_structured_output_retries',
    });
    expect(told.last.structured_output).toBeUndefined();
    expect(told.requests.length).toBe(2);
    const names = told.requests.flatMap(toolNames).slice(0, 2);
    expect(names.toSorted()).toEqual(['Read', 'StructuredOutput']);
  });

  it('deny rules and modes do not keep it from being given', async () => {
    const told = await tell({
      script: { replies: [callTool('StructuredOutput', { n: 4 })] },
      options: structured({
        permissionMode: 'default',
        settings: { permissions: { deny: ['*'] } },
      }),
    });
    expect(told.last).toMatchObject({ subtype: 'success', structured_output: { n: 4 } });
  });

  it('a value beside another call: both are answered, the value is the result', async () => {
    const told = await tell({
      script: {
        replies: [message([toolUse('Look', { n: 1 }), toolUse('StructuredOutput', { n: 4 })])],
      },
      options: structured(),
      config: () => ({ tools: [look] }),
    });
    expect(told.last).toMatchObject({
      terminal_reason: 'completed',
      structured_output: { n: 4 },
      num_turns: 1,
    });
  });

  it('a wrong value, then prose, then the right one', async () => {
    const told = await tell({
      script: {
        replies: [
          callTool('StructuredOutput', {}),
          say('well…'),
          callTool('StructuredOutput', { n: 1 }),
        ],
      },
      options: structured(),
    });
    expect(told.transitions).toEqual(['structured_output_retry', 'structured_output_retry']);
    expect(told.last).toMatchObject({ subtype: 'success', structured_output: { n: 1 } });
  });

  it('a stop hook is asked about the value, and the model may give another one', async () => {
    const told = await tell({
      script: {
        replies: [callTool('StructuredOutput', { n: 1 }), callTool('StructuredOutput', { n: 2 })],
      },
      options: structured({
        hooks: {
          Stop: [
            {
              hooks: [
                async ({ stop_hook_active }: { stop_hook_active?: boolean }) =>
                  stop_hook_active ? {} : { decision: 'block', reason: 'too small' },
              ],
            },
          ],
        },
      }),
    });
    expect(told.transitions).toEqual(['stop_hook_blocking']);
    expect(told.last).toMatchObject({ subtype: 'success', structured_output: { n: 2 } });
  });
});

describe('HEAD-11 denied calls', () => {
  it('stand in the result with what was wanted', async () => {
    const told = await tell({
      script: {
        replies: [
          message([toolUse('Write', { file_path: 'p', content: 'x' }, { id: 't1' })]),
          say('could not write'),
        ],
      },
      options: { permissionMode: 'default', settings: { permissions: { allow: ['Read'] } } },
      check: ({ cwd }) => expect(existsSync(join(cwd, 'p'))).toBe(false),
    });
    expect(told.last.permission_denials).toEqual([
      { tool_name: 'Write', tool_use_id: 't1', tool_input: { file_path: 'p', content: 'x' } },
    ]);
  });

  it('a prompt that is nothing is an error', async () => {
    const told = await tell({ script: {}, prompts: ['  \n '] });
    expect(told.last).toMatchObject({ is_error: true, terminal_reason: 'turn_setup_failed' });
  });
});

describe('HEAD-12 a permission callback that misbehaves', () => {
  const twice = message([
    toolUse('Bash', { command: 'touch p1' }),
    toolUse('Bash', { command: 'touch p2' }),
  ]);
  const asked = (canUseTool: unknown, ran: boolean) =>
    tell({
      script: { replies: [twice, say('ok')] },
      options: { permissionMode: 'default', canUseTool: canUseTool as CanUseTool },
      check: ({ cwd, last }) => {
        expect([existsSync(join(cwd, 'p1')), existsSync(join(cwd, 'p2'))]).toEqual([ran, ran]);
        expect(last.terminal_reason).toBe('completed');
      },
    });

  it.each<[string, unknown]>([
    [
      'throws',
      () => {
        throw new Error('boom');
      },
    ],
    ['rejects', () => Promise.reject(new Error('boom'))],
    ['says nothing', async () => undefined],
    ['says nonsense', async () => ({ behavior: 'perhaps' })],
  ])('it %s: denied with a text, and the turn goes on', async (_, canUseTool) => {
    const told = await asked(canUseTool, false);
    expect(told.last.permission_denials.length).toBe(2);
    expect(told.requests.map(heard).at(-1)?.at(-1)).toMatch(/^user: error .{10}.* \+ error .{10}/s);
  });

  it('it allows without an input: what the model wanted runs', async () => {
    await asked(async () => ({ behavior: 'allow' }), true);
  });

  it('it gets a signal, and is asked for each call', async () => {
    const signals: unknown[] = [];
    await asked((_: string, __: unknown, { signal }: { signal: AbortSignal }) => {
      signals.push(signal instanceof AbortSignal);
      return Promise.resolve({ behavior: 'allow' });
    }, true);
    expect(signals).toEqual([true, true]);
  });
});

describe('budgets', () => {
  it('maxBudgetUsd: an answer that overshoots stays, and what is over is told', async () => {
    const told = await tell({
      script: { replies: [say('Dear words.', { usage: { output_tokens: 50_000 } })] },
      options: { maxBudgetUsd: 0.05 },
    });
    expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'Dear words.' });
  });

  it('maxBudgetUsd: tools of a finished round are shown before the end', async () => {
    const told = await tell({
      script: {
        replies: [callTool('Look', { n: 1 }, { usage: { output_tokens: 50_000 } }), say('no')],
      },
      options: { maxBudgetUsd: 0.05 },
      config: () => ({ tools: [look] }),
    });
    expect(told.lines.slice(-2)).toEqual([
      'result "seen 1"',
      'end budget_exhausted (error_max_budget_usd) ""',
    ]);
  });

  it('maxDurationMs ends a stream that does not end, with what had been said', async () => {
    const told = await tell({
      script: {
        replies: [
          message([{ type: 'text', text: 'Said. ' }], { fault: { kind: 'drip', after: 'blocks' } }),
        ],
      },
      options: { maxDurationMs: 500 },
    });
    expect(told.last).toMatchObject({ terminal_reason: 'deadline_exceeded', result: 'Said. ' });
  });

  it('maxDurationMs stands still while a person is asked', async () => {
    const told = await tell({
      script: { replies: [callTool('Bash', { command: 'touch p' }), say('ok')] },
      options: {
        permissionMode: 'default',
        maxDurationMs: 1_500,
        canUseTool: async () => {
          await new Promise((resolve) => setTimeout(resolve, 1_800));
          return { behavior: 'allow' };
        },
      },
    });
    expect(told.last.terminal_reason).toBe('completed');
  });

  it('tokenBudget: nudged on until two answers in a row bring little', async () => {
    const told = await tell({
      script: { replies: forever(say('bit ', { usage: { output_tokens: 100 } })) },
      options: { tokenBudget: 10_000 },
    });
    expect(told.last.terminal_reason).toBe('completed');
    expect(told.requests.length).toBe(4);
    expect(told.lines.at(-2)).toBe('token_budget stop 4 %');
  });

  it('no budget, no nudge: also when the prompt only looks like one', async () => {
    const told = await tell({ script: { replies: [say('4')] }, prompts: ['what is 2+2k'] });
    expect(told.requests.length).toBe(1);
  });

  it('no_progress: equal calls with new results are progress', async () => {
    const polls: string[] = [];
    const told = await tell({
      script: { replies: [computed(() => callTool('Poll'), { times: 6 }), say('ready')] },
      config: () => ({ tools: [hostTool('Poll', () => `${polls.push('')} %`)] }),
      limits: { repeatsReminded: 2, repeatsMax: 3 },
    });
    expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'ready' });
  });
});
