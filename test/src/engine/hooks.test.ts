/** Hooks in a whole turn: what they may do, and what they may not, however they fail. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { HookEvent } from '../../../services/hooks/types.ts';
import { callTool, forever, say } from '../../../src/testing/index.ts';
import { heard, tell } from '../../tools/story.ts';

interface Command {
  readonly command: string;
  readonly timeout?: number;
  readonly onFailure?: 'continue' | 'block';
}
const hooks = (event: HookEvent, { onFailure, ...hook }: Command, matcher?: string) => ({
  settings: {
    hooks: {
      [event]: [
        {
          ...(matcher === undefined ? {} : { matcher }),
          hooks: [{ type: 'command', ...hook, ...(onFailure ? { onFailure } : {}) }],
        },
      ],
    },
  },
});
const touch = callTool('Bash', { command: 'touch p; echo touched' });

describe('stop hooks', () => {
  it('HOOK-01 one that blocks for ever is overridden after eight times, and the result says so', async () => {
    const told = await tell({
      script: { replies: forever(say('done')) },
      options: hooks('Stop', { command: "echo 'tests fail' >&2; cat >> seen; exit 2" }),
      check: async ({ cwd }) => {
        const { readFileSync } = await import('node:fs');
        const seen = readFileSync(join(cwd, 'seen'), 'utf8').match(/"stop_hook_active":\w+/g);
        expect(seen).toEqual([
          '"stop_hook_active":false',
          ...Array(8).fill('"stop_hook_active":true'),
        ]);
      },
    });
    expect(told.requests.length).toBe(9);
    expect(told.last).toMatchObject({
      terminal_reason: 'completed',
      is_error: false,
      stop_hook_overridden: true,
    });
    expect(told.lines.at(-2)).toBe(
      'warning the stop hooks blocked 9 times in a row and were overridden',
    );
    expect(told.transitions).toEqual(Array(8).fill('stop_hook_blocking'));
  });

  it('HOOK-01 rounds of tools between the blocks refill nothing', async () => {
    const told = await tell({
      script: {
        replies: Array.from({ length: 4 }, (_, n) => [
          callTool('Bash', { command: `echo ${n}` }),
          say('done'),
        ]).flat(),
      },
      limits: { stopHookBlocksMax: 2 },
      options: hooks('Stop', { command: 'echo no >&2; exit 2' }),
    });
    expect(told.last).toMatchObject({ stop_hook_overridden: true });
    expect(told.requests.length).toBe(6);
  });

  it('HOOK-01 maxTurns ends them, too', async () => {
    const told = await tell({
      script: { replies: forever(say('done')) },
      options: { maxTurns: 3, ...hooks('Stop', { command: 'echo no >&2; exit 2' }) },
    });
    expect(told.last.terminal_reason).toBe('max_turns');
    expect(told.requests.length).toBe(3);
  });

  it('further context of a hook is an objection: it could not be read otherwise', async () => {
    const told = await tell({
      script: { replies: [say('done'), say('done, and documented')] },
      options: {
        hooks: {
          Stop: [
            {
              hooks: [
                async ({ stop_hook_active }) =>
                  stop_hook_active
                    ? {}
                    : { hookSpecificOutput: { hookEventName: 'Stop', additionalContext: 'docs?' } },
              ],
            },
          ],
        },
      },
    });
    expect(told.transitions).toEqual(['stop_hook_blocking']);
    expect(told.requests.map(heard).at(-1)?.at(-1)).toContain('docs?');
  });

  it('are not asked about an answer that failed', async () => {
    const told = await tell({
      script: { replies: forever(say('part', { stopReason: 'max_tokens' })) },
      options: hooks('Stop', { command: 'touch asked' }),
      check: ({ cwd }) => expect(existsSync(join(cwd, 'asked'))).toBe(false),
    });
    expect(told.last.terminal_reason).toBe('max_output_tokens');
  });
});

describe('hooks that say nothing, or nonsense', () => {
  it('HOOK-02 exit 0 without output is no feedback', async () => {
    for (const command of ['exit 0', 'echo just a text']) {
      const told = await tell({
        script: { replies: [touch, say('done')] },
        options: {
          settings: {
            hooks: {
              Stop: [{ hooks: [{ type: 'command', command }] }],
              PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command }] }],
            },
          },
        },
      });
      expect(told.lines).toEqual([
        'init',
        'status requesting',
        'model calls Bash {"command":"touch p; echo touched"}',
        'result "touched"',
        '→ next_turn',
        'status requesting',
        'model says "done"',
        'end completed "done"',
      ]);
    }
  });

  const failing: readonly Command[] = [
    { command: 'sleep 60', timeout: 0.2 },
    { command: '/no/such/file' },
    { command: 'exit 1' },
    { command: `echo '{"decision":'` },
    { command: `echo '{"decision":"blok"}'` },
    { command: 'kill -9 $$' },
  ];
  it.each(failing)(
    'HOOK-03 $command: the call goes on with a warning, a policy refuses it',
    async (hook) => {
      const lenient = await tell({
        script: { replies: [touch, say('done')] },
        options: hooks('PreToolUse', hook, 'Bash'),
        check: ({ cwd }) => expect(existsSync(join(cwd, 'p'))).toBe(true),
      });
      expect(lenient.lines.filter((line) => line.startsWith('warning')).length).toBe(1);
      const strict = await tell({
        script: { replies: [touch, say('done')] },
        options: hooks('PreToolUse', { ...hook, onFailure: 'block' }, 'Bash'),
        check: ({ cwd }) => expect(existsSync(join(cwd, 'p'))).toBe(false),
      });
      expect(strict.lines.find((line) => line.startsWith('result'))).toMatch(
        /^result \(error\) .*hook/i,
      );
      expect(strict.last.terminal_reason).toBe('completed');
    },
  );

  it('HOOK-05 a hook that leaves a child with its stdout holds nobody up', async () => {
    for (const command of ["sleep 301 & echo '{}'; exit 0", 'setsid sleep 301 & exit 0']) {
      const told = await tell({
        script: { replies: [say('done')] },
        options: hooks('Stop', { command, timeout: 240 }),
      });
      expect(told.last).toMatchObject({ terminal_reason: 'completed' });
    }
  });
});

describe('HOOK-08 a hook that wants a person to be asked', () => {
  const ask = hooks(
    'PreToolUse',
    {
      command: `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}'`,
    },
    'Bash',
  );
  it('nobody is there: denied, with a reason, and named in the result', async () => {
    const told = await tell({
      script: { replies: [touch, say('done')] },
      options: { ...ask, permissionMode: 'default' },
      check: ({ cwd }) => expect(existsSync(join(cwd, 'p'))).toBe(false),
    });
    expect(told.last.permission_denials.map((denial) => denial.tool_name)).toEqual(['Bash']);
    expect(told.lines.find((line) => line.startsWith('result'))).toMatch(
      /^result \(error\) ".{20}/,
    );
  });

  it('the host allows another input: that one runs, and history shows it', async () => {
    const told = await tell({
      script: { replies: [touch, say('done')] },
      options: {
        ...ask,
        permissionMode: 'default',
        canUseTool: async () => ({
          behavior: 'allow',
          updatedInput: { command: 'touch other; echo edited' },
        }),
      },
      check: ({ cwd }) => {
        expect(existsSync(join(cwd, 'other'))).toBe(true);
        expect(existsSync(join(cwd, 'p'))).toBe(false);
      },
    });
    expect(told.requests.map(heard).at(-1)?.slice(-2)).toEqual([
      'assistant: Bash({"command":"touch other; echo edited"})',
      'user: result edited',
    ]);
    expect(told.lines).toContain('state requires_action');
    expect(told.lines).toContain('state running');
  });

  it('the host denies', async () => {
    const told = await tell({
      script: { replies: [touch, say('done')] },
      options: {
        ...ask,
        permissionMode: 'default',
        canUseTool: async () => ({ behavior: 'deny', message: 'not on a Monday' }),
      },
      check: ({ cwd }) => expect(existsSync(join(cwd, 'p'))).toBe(false),
    });
    expect(told.requests.map(heard).at(-1)?.at(-1)).toContain('not on a Monday');
  });
});

describe('PostSampling', () => {
  it('a hook that throws, hangs or objects changes nothing and is waited for by nobody', async () => {
    const called: unknown[] = [];
    const told = await tell({
      script: { replies: [touch, say('done')] },
      options: {
        hooks: {
          PostSampling: [
            {
              hooks: [
                (input) => {
                  called.push(input.hook_event_name);
                  throw new Error('boom');
                },
                () => new Promise(() => {}),
                async () => ({ continue: false, stopReason: 'stop!' }),
                async () => ({ decision: 'block', reason: 'no!' }),
                () => Promise.reject(new Error('later')),
              ],
            },
          ],
        },
      },
    });
    expect(called).toEqual(['PostSampling', 'PostSampling']);
    expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'done' });
  });
});
