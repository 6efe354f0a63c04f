import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Options } from '../../../src/options.ts';
import { callTool, message, say, text, toolUse } from '../../../src/testing/index.ts';
import type { SDKMessage } from '../../../src/wire.ts';
import { conversationOf, linesOf, openPlace } from './kit.ts';

let place: ReturnType<typeof openPlace>;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

const isCall = (said: SDKMessage) =>
  said.type === 'assistant' && said.message.content[0]?.type === 'tool_use';
const until = async (is: () => boolean) => {
  while (!is()) await new Promise((resolve) => setTimeout(resolve, 10));
};

/** Runs Bash, and dies (as far as the disk knows) while the command runs. */
async function dieInBash(): Promise<{ home: string; sessionId: string; log: string }> {
  const log = join(place.cwd, 'log');
  let home = '';
  const { sessionId } = await place.run({
    script: {
      replies: [
        message([text('running it'), toolUse('Bash', { command: `echo x >> ${log}; sleep 0.3` })]),
        say('not seen'),
      ],
    },
    prompts: ['first'],
    during: async (said) => {
      if (!isCall(said)) return;
      await until(() => existsSync(log));
      home = place.crash();
    },
  });
  return { home, sessionId, log };
}

const resumed = (home: string, sessionId: string, options: Options = {}, prompts = ['second']) =>
  place.run({
    script: { replies: [say('good'), say('good')] },
    prompts,
    home,
    options: { resume: sessionId, ...options },
  });

describe('TRN-11 a crash while a tool with effects runs', () => {
  it('is not run again, and the model is told that nobody knows', async () => {
    const { home, sessionId, log } = await dieInBash();
    const again = await resumed(home, sessionId);
    expect(conversationOf(again.requests[0])).toEqual([
      'user: first',
      'assistant: running it',
      'assistant calls Bash',
      expect.stringMatching(/^result \(error\): .*outcome is unknown/),
      'user: second',
    ]);
    expect(readFileSync(log, 'utf8')).toBe('x\n');
    expect(again.last).toMatchObject({ terminal_reason: 'completed', num_turns: 1 });
    expect(again.sessionId).toBe(sessionId);
    // The answer stands in the file: the next process does not have to find it out again.
    const third = await resumed(home, sessionId, {}, ['third']);
    expect(third.lines.some((line) => line.startsWith('result'))).toBe(false);
  });

  it('is run again when the host says so, with the same key', async () => {
    const { home, sessionId, log } = await dieInBash();
    const asked: unknown[] = [];
    const again = await resumed(home, sessionId, {
      onUnknownOutcome: async (call) => {
        asked.push(call);
        return 'run_again';
      },
    });
    expect(asked).toEqual([
      { toolUseId: expect.any(String), name: 'Bash', input: { command: expect.any(String) } },
    ]);
    expect(readFileSync(log, 'utf8')).toBe('x\nx\n');
    expect(conversationOf(again.requests[0])[3]).toBe('result: (no output)');
  });

  it.each([
    ['allow', 'x\nx\n'],
    ['deny', 'x\n'],
  ] as const)('a person is asked: %s', async (behavior, expected) => {
    const { home, sessionId, log } = await dieInBash();
    const reasons: unknown[] = [];
    await resumed(home, sessionId, {
      onUnknownOutcome: 'ask',
      canUseTool: async (_name, _input, { decisionReason }) => {
        reasons.push(decisionReason);
        return behavior === 'allow' ? { behavior } : { behavior, message: 'no' };
      },
    });
    expect(reasons).toEqual([expect.stringContaining('run it again?')]);
    expect(readFileSync(log, 'utf8')).toBe(expected);
  });

  it('a host that cannot say is no yes', async () => {
    const { home, sessionId, log } = await dieInBash();
    const again = await resumed(home, sessionId, {
      onUnknownOutcome: () => Promise.reject(new Error('gone')),
    });
    expect(readFileSync(log, 'utf8')).toBe('x\n');
    expect(again.lines.some((line) => /warning nobody could say/.test(line))).toBe(true);
  });
});

describe('a crash before anything has happened', () => {
  it('while a person is asked: the call was not run, and the model may make it again', async () => {
    const log = join(place.cwd, 'log');
    let home = '';
    const first = await place.run({
      script: { replies: [callTool('Bash', { command: `echo x >> ${log}` }), say('end')] },
      options: {
        permissionMode: 'default',
        canUseTool: async () => {
          home = place.crash();
          return { behavior: 'deny', message: 'no' };
        },
      },
    });
    const again = await resumed(home, first.sessionId);
    expect(conversationOf(again.requests[0])[2]).toMatch(/^result \(error\): The call was not run/);
    expect(existsSync(log)).toBe(false);
  });

  it.each([
    [
      'run, as it was edited',
      { behavior: 'allow', updatedInput: { command: 'echo edited | tee edited' } },
    ],
    ['denied', { behavior: 'deny', message: 'better not' }],
  ] as const)('the orphaned question is answered: the call is %s, once', async (_, decision) => {
    let home = '';
    const first = await place.run({
      script: {
        replies: [
          message([toolUse('Bash', { command: 'echo asked | tee asked' }, { id: 'toolu_q' })]),
          say('end'),
        ],
      },
      options: {
        permissionMode: 'default',
        canUseTool: async () => {
          home = place.crash();
          return { behavior: 'deny', message: 'no' };
        },
      },
    });
    let questions = 0;
    const again = await resumed(
      home,
      first.sessionId,
      {
        permissionMode: 'default',
        orphanedPermission: { toolUseId: 'toolu_q', decision },
        canUseTool: async () => {
          questions += 1;
          return { behavior: 'deny', message: 'asked twice' };
        },
      },
      ['second', 'third'],
    );
    const wanted = decision.behavior === 'allow' ? 'result: edited' : 'result (error): better not';
    expect(conversationOf(again.requests[0])[2]).toBe(wanted);
    expect(questions).toBe(0);
    expect(again.requests).toHaveLength(2);
    const body = JSON.stringify(again.requests[0]?.body);
    expect(body.includes('echo edited')).toBe(decision.behavior === 'allow');
  });

  it('a call that changes nothing is made again', async () => {
    const file = join(place.cwd, 'file.txt');
    writeFileSync(file, 'content of the file\n');
    let home = '';
    const first = await place.run({
      script: { replies: [callTool('Read', { file_path: file }), say('end')] },
      options: {
        hooks: {
          PreToolUse: [
            {
              hooks: [
                async () => {
                  home ||= place.crash();
                  return {};
                },
              ],
            },
          ],
        },
      },
    });
    const again = await resumed(home, first.sessionId);
    expect(conversationOf(again.requests[0])[2]).toMatch(/^result: .*content of the file/);
  });

  it('a result that was not written down any more: it ran, and is not run again', async () => {
    const { home, sessionId, log } = await dieInBash();
    const id = linesOf(home).find(({ type }) => type === 'tool_started')?.toolUseId;
    const path = join(
      home,
      'projects',
      place.cwd.replace(/[^a-zA-Z0-9]/g, '-'),
      `${sessionId}.jsonl`,
    );
    appendFileSync(
      path,
      `${JSON.stringify({ type: 'tool_finished', toolUseId: id, name: 'Bash' })}\n`,
    );
    const again = await resumed(home, sessionId, { onUnknownOutcome: 'run_again' });
    expect(conversationOf(again.requests[0])[3]).toMatch(/has run to its end/);
    expect(readFileSync(log, 'utf8')).toBe('x\n');
  });
});

describe('a crash while the model speaks', () => {
  it('every block that was shown is there, and nothing that was not said', async () => {
    let home = '';
    const first = await place.run({
      script: { replies: [message([text('shown'), text('not yet')])] },
      prompts: [{ prompt: 'first', uuid: '11111111-1111-4111-8111-111111111111' }],
      during: (said) => {
        if (said.type === 'assistant') home ||= place.crash();
      },
    });
    // Both blocks may have come before the host read the first: what is on the disk is what counts.
    const on = linesOf(home).filter(({ type }) => type === 'assistant').length;
    const again = await resumed(home, first.sessionId);
    expect(conversationOf(again.requests[0])).toEqual(
      ['user: first', 'assistant: shown', 'assistant: not yet', 'user: second'].filter(
        (line) => on > 1 || line !== 'assistant: not yet',
      ),
    );
    expect(again.last.user_message_uuids).toContain('11111111-1111-4111-8111-111111111111');
    expect(again.last.user_message_uuids).toHaveLength(2);
  });

  it('before the first word: the prompt was on the disk before the request', async () => {
    let home = '';
    const first = await place.run({
      script: {
        replies: [
          () => {
            home = place.crash();
            return say('late');
          },
        ],
      },
      prompts: ['first'],
    });
    const again = await resumed(home, first.sessionId);
    expect(conversationOf(again.requests[0])).toEqual(['user: first', 'user: second']);
  });
});

describe('a turn that was interrupted can be ended by itself', () => {
  it('without a prompt: it goes on where it stood, and its prompt gets its result', async () => {
    const { home, sessionId, log } = await dieInBash();
    const again = await place.run({
      script: { replies: [say('so it ends')] },
      home,
      options: { resume: sessionId },
      drive: async function* (engine) {
        expect(engine.interrupted).toMatchObject({ tries: 0, mayFinish: true });
        yield* engine.finishInterrupted();
        expect(engine.interrupted).toBeUndefined();
        yield* engine.finishInterrupted();
      },
    });
    expect(again.results).toHaveLength(1);
    expect(again.last).toMatchObject({ result: 'so it ends', terminal_reason: 'completed' });
    expect(again.last.user_message_uuids).toHaveLength(1);
    expect(conversationOf(again.requests[0]).at(-1)).toMatch(/outcome is unknown/);
    expect(readFileSync(log, 'utf8')).toBe('x\n');
  });

  it('three times: then a person has to go on', async () => {
    let { home } = await dieInBash();
    const id = String(linesOf(home).find(({ type }) => type === 'escapement')?.sessionId);
    for (const tries of [0, 1, 2, 3]) {
      let next = '';
      const ran = await place.run({
        script: { replies: [say('end')] },
        home,
        options: { resume: id },
        drive: async function* (engine) {
          expect(engine.interrupted).toMatchObject({ tries, mayFinish: tries < 3 });
          for await (const said of engine.finishInterrupted()) {
            if (said.type === 'system' && said.subtype === 'status') {
              next ||= place.crash(home);
            }
            yield said;
          }
        },
      });
      expect(ran.results).toHaveLength(tries < 3 ? 1 : 0);
      const warnings = ran.lines.filter((line) => line.startsWith('warning'));
      expect(warnings.some((line) => /tried 3 times.* Give a prompt/.test(line))).toBe(tries === 3);
      if (next) home = next;
    }
  });

  it('within what is left of its turns', async () => {
    const { home, sessionId } = await dieInBash();
    const again = await place.run({
      script: {
        replies: [message([toolUse('Bash', { command: 'true' }, { id: 'toolu_b' })]), say('more')],
      },
      home,
      options: { resume: sessionId, maxTurns: 1 },
      drive: (engine) => engine.finishInterrupted(),
    });
    expect(again.last.terminal_reason).toBe('max_turns');
    expect(again.requests).toHaveLength(1);
  });
});
