/**
 * The prompt cache pays only for a prefix that stays: over a long turn with reminders, queued
 * prompts and wide rounds every request is the one before and more, and costs what it must.
 */
import { describe, expect, it } from 'vitest';
import { callTools, computed, say } from '../../../src/testing/index.ts';
import type { ReceivedRequest } from '../../../src/testing/received-request.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { type Story, type Told, tell } from '../../tools/story.ts';

const ITERATIONS = 300;
/** What the best client pays, and a little: the last request writes what nobody reads. */
const COST_SHARE_MAX = 1.02;

const look = hostTool(
  'Look',
  ({ at }) => `what stands at ${String(at)}: ${'so it is. '.repeat(20)}`,
);
const round = (calls: number) =>
  computed(
    ({ sequence }) =>
      callTools(
        Array.from({ length: calls }, (_, n): [string, { at: string }] => [
          'Look',
          { at: `${sequence}.${n}` },
        ]),
      ),
    { times: ITERATIONS },
  );

const longTurn = (calls: number, more: Partial<Story> = {}): Story => {
  let rounds = 0;
  return {
    script: { replies: [round(calls), say('at last')] },
    config: (config) => ({
      tools: [...config.tools, look],
      hookCallbacks: {
        PostToolUse: [
          {
            hooks: [
              async ({ tool_use_id: id }) =>
                rounds % 7 === 0
                  ? {
                      hookSpecificOutput: {
                        hookEventName: 'PostToolUse',
                        additionalContext: `a reminder beside ${String(id)}`,
                      },
                    }
                  : {},
            ],
          },
        ],
      },
    }),
    during: (message, engine) => {
      if (message.type !== 'system' || message.subtype !== 'transition') return;
      rounds += 1;
      if (rounds % 25 === 0) engine.enqueue(`by the way, number ${rounds}`);
    },
    ...more,
  };
};

const plain = (value: unknown): string =>
  JSON.stringify(value, (key, inner) => (key === 'cache_control' ? undefined : inner));
const messagesOf = ({ body }: ReceivedRequest) => (body.messages as readonly unknown[]).map(plain);

/** Numbers of the requests that are not the one before and more. */
const broken = ({ requests }: Told) => {
  const bodies = requests.map(messagesOf);
  const heads = requests.map(({ body: { system, tools } }) => plain([system, tools]));
  return bodies.flatMap((messages, at) => {
    const before = bodies[at - 1] ?? [];
    const isSame = heads[at] === heads[0] && before.every((one, n) => one === messages[n]);
    return isSame ? [] : [at];
  });
};

describe('the prefix of a long turn', () => {
  it(`stays over ${ITERATIONS} iterations with reminders and queued prompts`, async () => {
    const told = await tell(longTurn(1));
    expect(told.requests).toHaveLength(ITERATIONS + 1);
    expect(broken(told)).toEqual([]);
    const last = plain(told.requests.at(-1)?.body);
    expect(last).toContain('a reminder beside');
    expect(last).toContain('by the way, number 275');
    const { cost, ideal } = told.server.cacheReport();
    expect(cost / ideal).toBeLessThanOrEqual(COST_SHARE_MAX);
  }, 180_000);

  it('is found again up to where old results were cleared before', async () => {
    const told = await tell({
      ...longTurn(12),
      script: {
        replies: [
          computed(
            ({ sequence }) =>
              callTools(
                Array.from({ length: 12 }, (_, n): [string, { at: string }] => [
                  'Grep',
                  { at: `${sequence}.${n}` },
                ]),
              ),
            { times: 40 },
          ),
          say('at last'),
        ],
      },
      config: () => ({
        tools: [hostTool('Grep', ({ at }) => `${String(at)}: ${'so it is. '.repeat(100)}`)],
      }),
    });
    const { cost, ideal } = told.server.cacheReport();
    expect(
      told.lines.filter((line) => line === 'context_edit microcompact').length,
    ).toBeGreaterThan(2);
    expect(told.requests).toHaveLength(41);
    expect(cost / ideal).toBeLessThanOrEqual(COST_SHARE_MAX);
  }, 180_000);

  it('… and with 14 calls in each round, which is more than the cache looks back', async () => {
    const told = await tell({
      ...longTurn(14),
      script: { replies: [{ ...round(14), times: 30 }, say('at last')] },
    });
    expect(told.requests).toHaveLength(31);
    expect(broken(told)).toEqual([]);
    const { cost, ideal } = told.server.cacheReport();
    expect(cost / ideal).toBeLessThanOrEqual(COST_SHARE_MAX);
  }, 180_000);
});
