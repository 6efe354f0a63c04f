/** Calls and their results belong together, whatever comes between them. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  callTool,
  message,
  SUMMARY_MARK,
  say,
  tooLong,
  toolUse,
} from '../../../src/testing/index.ts';
import { summing } from '../../tools/gates.ts';
import { answer, call, past, result, user } from '../../tools/past.ts';
import { heard, lineOf, tell } from '../../tools/story.ts';

const sleeps = (seconds: string) =>
  execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).includes(`sleep ${seconds}`);

describe('calls and results', () => {
  it('PAIR-01 an abort while a tool runs, then a new prompt', async () => {
    const seconds = `62.${process.pid}`;
    const told = await tell({
      script: { replies: [callTool('Bash', { command: `sleep ${seconds}; true` }), say('ok')] },
      prompts: ['run it', 'never mind, say ok'],
      during: async (said, engine) => {
        if (!lineOf(said).startsWith('model calls Bash')) return;
        for (let n = 0; n < 100 && !sleeps(seconds); n += 1) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        engine.interrupt();
      },
      check: () => expect(sleeps(seconds)).toBe(false),
    });
    expect(told.results.map((r) => [r.terminal_reason, r.result])).toEqual([
      ['aborted_tools', ''],
      ['completed', 'ok'],
    ]);
    expect(told.requests.map(heard).at(-1)?.at(-1)).toBe(
      'user: error The call was interrupted. + never mind, say ok',
    );
  });

  it('PAIR-02 a summary never keeps a result without its call, wherever it cuts', async () => {
    for (const chars of [400, 2_000, 3_300, 4_000, 7_001]) {
      const rounds = Array.from({ length: 40 }, (_, i) => [
        call(`m${i}`, `k_${i}`),
        result(`k_${i}`, 'r'.repeat(chars)),
      ]);
      const told = await tell({
        gates: summing,
        script: { replies: [tooLong(), say('done')] },
        prompts: ['continue'],
        config: () => ({ initialMessages: past(user('go'), ...rounds.flat()) }),
      });
      // The strict server has looked at the pairs; a repair would be told.
      expect(told.lines.filter((line) => /repaired|warning/.test(line))).toEqual([]);
      expect(told.transitions).toEqual(['reactive_compact_retry']);
      expect([told.requests.length, told.server.requestsOf('compact').length]).toEqual([2, 1]);
    }
  });

  it('PAIR-03 a summary that is cut inside of a batch; a prompt comes meanwhile', async () => {
    const told = await tell({
      gates: summing,
      script: { replies: [tooLong(), say('fine'), say('seen')] },
      prompts: [`more ${'y'.repeat(9_000)}`],
      config: () => ({
        initialMessages: past(
          user('go'),
          answer('m0', 'x'.repeat(30_000)),
          user('and'),
          call('m1', 'A'),
          call('m1', 'B'),
          result('A', 'a'.repeat(3_000)),
          result('B', 'b'.repeat(3_000)),
          answer('m2', 'Both seen.'),
        ),
      }),
      during: (said, engine) => {
        if (lineOf(said) === 'status compacting') engine.enqueue('queued words');
      },
      after: async (engine) => {
        const [next, ...others] = engine.takeQueued();
        expect(others).toEqual([]);
        for await (const _ of engine.submitMessage(next?.prompt ?? '')) void _;
      },
      except: ['usage', 'view', 'stands'],
    });
    const last = told.server.requestsOf('loop').map(heard).at(-1) ?? [];
    expect(last[0]).toContain(SUMMARY_MARK);
    expect(last.join('\n').split('queued words').length).toBe(2);
    expect(last.at(-1)).toBe('user: queued words');
  });

  it('PAIR-05 a prompt that comes while tools run is read after their results', async () => {
    const told = await tell({
      script: {
        replies: [
          message([
            toolUse('Bash', { command: 'sleep 0.3; echo A' }),
            toolUse('Bash', { command: 'echo B' }),
          ]),
          say('seen'),
        ],
      },
      prompts: ['go'],
      during: (said, engine) => {
        if (lineOf(said).startsWith('model calls Bash {"command":"echo B"')) {
          engine.enqueue('also check C', { uuid: '00000000-0000-4000-8000-00000000000c' });
        }
      },
      after: (engine) => expect(engine.takeQueued()).toEqual([]),
    });
    expect(told.requests.map(heard).at(-1)?.at(-1)).toMatch(
      /^user: result A \+ result B \+ .*\+ also check C$/s,
    );
    // One result answers both prompts.
    expect(told.last.user_message_uuids).toContain('00000000-0000-4000-8000-00000000000c');
    expect(told.last.user_message_uuids.length).toBe(2);
  });

  it('PAIR-06 results go to the model in the order of the calls, in one message', async () => {
    const told = await tell({
      script: ({ cwd }) => ({
        replies: [
          message([
            toolUse('Bash', { command: 'sleep 0.3; cat a.txt' }),
            toolUse('Bash', { command: 'echo two' }),
            toolUse('Read', { file_path: join(cwd, 'a.txt') }),
          ]),
          say('ok'),
        ],
      }),
      prepare: ({ cwd }) => execFileSync('/bin/sh', ['-c', 'echo one > a.txt'], { cwd }),
    });
    const [, , results] = told.requests.map(heard).at(-1) ?? [];
    expect(results).toMatch(/^user: result one\s* \+ result two \+ result .*one/s);
    expect(told.requests.map(heard).at(-1)?.length).toBe(3);
  });

  it('PAIR-08 the same call twice in one answer runs once', async () => {
    const twice = toolUse('Bash', { command: 'echo x >> log' }, { id: 't1' });
    const told = await tell({
      script: { replies: [message([twice, twice]), say('done')] },
      check: ({ cwd }) => expect(readFileSync(join(cwd, 'log'), 'utf8')).toBe('x\n'),
    });
    expect(told.lines.filter((line) => line.startsWith('warning'))).toEqual([
      'warning the tool call t1 came twice: the second one is dropped',
    ]);
    expect(told.history.filter(({ kind }) => kind === 'tool_use').length).toBe(1);
  });
});
