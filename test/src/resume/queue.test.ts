import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Priority } from '../../../src/prompt-queue.ts';
import type { QueryEngine } from '../../../src/query-engine.ts';
import { message, say, toolUse } from '../../../src/testing/index.ts';
import type { SDKMessage } from '../../../src/wire.ts';
import { conversationOf, openPlace, type Run } from './kit.ts';

let place: ReturnType<typeof openPlace>;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

const id = (n: number) => `${n}${n}${n}${n}${n}${n}${n}${n}-0000-4000-8000-000000000000`;
const round = message([
  toolUse('Bash', { command: 'sleep 0.2; echo A' }),
  toolUse('Bash', { command: 'echo B' }),
]);
/** A turn, and then all that it has left, each as a turn of its own. */
async function* withRest(engine: QueryEngine): AsyncGenerator<SDKMessage, void, unknown> {
  yield* engine.submitMessage('go', { uuid: id(1) });
  for (const { prompt, uuid } of engine.takeQueued()) yield* engine.submitMessage(prompt, { uuid });
}
const isFirstCall = (said: SDKMessage) =>
  said.type === 'assistant' && said.message.content[0]?.type === 'tool_use';

function withQueue(
  prompts: readonly (readonly [number, string, Priority?])[],
  more: Partial<Run> = {},
) {
  let isDone = false;
  return place.run({
    script: { replies: [round, say('seen'), say('next'), say('after')] },
    drive: withRest,
    during: (said, engine) => {
      if (isDone || !isFirstCall(said)) return;
      isDone = true;
      for (const [n, prompt, priority] of prompts) {
        engine.enqueue(prompt, { uuid: id(n), ...(priority ? { priority } : {}) });
      }
    },
    ...more,
  });
}

describe('PAIR-05 a prompt while a tool runs', () => {
  it('is read behind the results, once, in order, and named by the same result', async () => {
    const ran = await withQueue([
      [2, 'also check C'],
      [3, 'and D'],
    ]);
    const talk = conversationOf(ran.requests[1]);
    expect(talk.slice(0, 5)).toEqual([
      'user: go',
      'assistant calls Bash',
      'assistant calls Bash',
      'result: A',
      'result: B',
    ]);
    const rest = talk.slice(5).join('\n');
    expect(rest.indexOf('also check C')).toBeGreaterThan(-1);
    expect(rest.indexOf('and D')).toBeGreaterThan(rest.indexOf('also check C'));
    expect(ran.requests).toHaveLength(2);
    expect(ran.results.map((result) => result.user_message_uuids)).toEqual([[id(1), id(2), id(3)]]);
  });

  it('later: as a turn of its own', async () => {
    const ran = await withQueue([
      [2, 'later on', 'later'],
      [3, 'soon'],
    ]);
    expect(JSON.stringify(ran.requests[1]?.body)).not.toContain('later on');
    expect(ran.results.map((result) => result.user_message_uuids)).toEqual([
      [id(1), id(3)],
      [id(2)],
    ]);
  });

  it('now: the turn is stopped for it, and it comes before what waits', async () => {
    const ran = await withQueue([
      [2, 'when it fits', 'later'],
      [3, 'stop, this', 'now'],
    ]);
    expect(
      ran.results.map(({ terminal_reason, user_message_uuids }) => [
        terminal_reason,
        user_message_uuids,
      ]),
    ).toEqual([
      ['aborted_tools', [id(1)]],
      ['completed', [id(3)]],
      ['completed', [id(2)]],
    ]);
  });

  it('taken back before a turn has it: never read, never named', async () => {
    const ran = await withQueue([[2, 'forget it', 'later']], {
      drive: async function* (engine) {
        yield* engine.submitMessage('go', { uuid: id(1) });
        expect(engine.cancel(id(2))).toBe(true);
        expect(engine.cancel(id(2))).toBe(false);
        expect(engine.cancel(id(1))).toBe(false);
        expect(engine.takeQueued()).toEqual([]);
      },
    });
    expect(ran.results).toHaveLength(1);
    expect(JSON.stringify(ran.requests.map(({ body }) => body))).not.toContain('forget it');
  });

  it('accepted and then a crash: the next process reads it, and its result names it', async () => {
    let home = '';
    const first = await withQueue([[2, 'do not lose me', 'later']], {
      during: (said, engine) => {
        if (home !== '' || !isFirstCall(said)) return;
        engine.enqueue('do not lose me', { uuid: id(2), priority: 'later' });
        engine.enqueue('cancelled', { uuid: id(3), priority: 'later' });
        engine.cancel(id(3));
        home = place.crash();
      },
    });
    const again = await place.run({
      script: { replies: [say('good')] },
      prompts: [{ prompt: 'go on', uuid: id(4) }],
      home,
      options: { resume: first.sessionId },
    });
    const talk = conversationOf(again.requests[0]);
    expect(talk.slice(-2)).toEqual(['user: do not lose me', 'user: go on']);
    expect(talk).not.toContain('user: cancelled');
    expect(again.last.user_message_uuids).toEqual([id(4), id(1), id(2)]);
  });
});
