/**
 * The API clears old results itself: asked for by the gate, told as it happens, counted, and given
 * up for good where the server does not do it.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createClient } from '../../../services/model/client.ts';
import type { EngineEvent } from '../../../src/engine-events.ts';
import {
  CONTEXT_EDITING_BETA,
  callTool,
  httpError,
  type ReceivedRequest,
  type Script,
  say,
} from '../../../src/testing/index.ts';
import type { SDKMessage } from '../../../src/wire.ts';
import { summing } from '../../tools/gates.ts';
import { type Place, type Story, tell } from '../../tools/story.ts';

const READS = 14;
/** 3,000 tokens as the server counts them, 4,000 as we estimate them. */
const FILE = 'fourteen chars\n'.repeat(800);
/** Editing begins at 22,500 tokens, a summary is made above 39,375. */
const WINDOW_TOKENS = 60_000;

/** Nothing else makes room before a summary does. */
const editing = { ...summing, cachedMicrocompact: true };

const prepare = ({ cwd }: Pick<Place, 'cwd'>) => {
  for (let n = 0; n < READS; n += 1) writeFileSync(join(cwd, `${n}.txt`), FILE);
};
const read = (cwd: string, n: number) => callTool('Read', { file_path: join(cwd, `${n}.txt`) });

const story = (script: Partial<Script> = {}, more: Partial<Story> = {}): Story => ({
  script: ({ cwd }) => ({
    replies: [...Array.from({ length: READS }, (_, n) => read(cwd, n)), say('done')],
    ...script,
  }),
  prepare,
  gates: editing,
  options: { autoCompactWindow: WINDOW_TOKENS },
  ...more,
});

const editsOf = (messages: readonly SDKMessage[]) =>
  messages.flatMap((message) =>
    message.type === 'system' && message.subtype === 'context_edit' ? [message] : [],
  );
const warningsOf = (messages: readonly SDKMessage[]) =>
  messages.flatMap((message) =>
    message.type === 'system' && message.subtype === 'informational' ? [message.content] : [],
  );
const isCompacted = (messages: readonly SDKMessage[]) =>
  messages.some((message) => message.type === 'system' && message.subtype === 'compact_boundary');
const asks = ({ body, headers }: ReceivedRequest) =>
  body.context_management !== undefined &&
  (headers['anthropic-beta'] ?? '').includes(CONTEXT_EDITING_BETA);
const resultsIn = ({ body }: ReceivedRequest) =>
  JSON.stringify(body.messages).split('fourteen chars').length > READS * 800;

describe('a server that edits contexts', () => {
  it('makes room without a summary, while the requests stay whole', async () => {
    const told = await tell(story());
    const edits = editsOf(told.messages);
    expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'done' });
    expect(isCompacted(told.messages)).toBe(false);
    expect(told.requests.every(asks)).toBe(true);
    expect(resultsIn(told.requests.at(-1) as ReceivedRequest)).toBe(true);
    expect(edits.map(({ stage }) => stage)).toEqual(edits.map(() => 'microcompact'));
    // Each call is told once, oldest first: all but the last five of the last request.
    expect(edits.flatMap(({ ids }) => ids)).toEqual(
      Array.from({ length: READS - 5 }, (_, n) => `toolu_scripted_${n + 1}`),
    );
    const freed = edits.reduce((sum, { tokens_freed: tokens }) => sum + tokens, 0);
    expect(freed).toBeGreaterThan(9 * 2_900);
  });

  it('is not asked where the gate is shut: then a summary is needed', async () => {
    const told = await tell(story({}, { gates: summing }));
    expect(told.requests.some(asks)).toBe(false);
    expect(isCompacted(told.messages)).toBe(true);
  });

  it('is not asked where microcompact itself is off', async () => {
    const told = await tell(story({}, { gates: { ...editing, microcompact: false } }));
    expect(told.requests.some(asks)).toBe(false);
  });

  it('clears for the summary, too: it begins with the same prompt', async () => {
    const told = await tell(
      story(
        {},
        {
          prompts: ['do it', '/compact'],
          gates: editing,
          options: { autoCompactWindow: WINDOW_TOKENS },
        },
      ),
    );
    expect(told.server.requestsOf('compact').map(asks)).toEqual([true]);
    expect(isCompacted(told.messages)).toBe(true);
  });

  it('shows a file again whose content it has cleared', async () => {
    const told = await tell(
      story(undefined, {
        script: ({ cwd }) => ({
          replies: [
            ...Array.from({ length: READS }, (_, n) => read(cwd, n)),
            read(cwd, 0),
            say('done'),
          ],
        }),
      }),
    );
    const messages = told.requests.at(-1)?.body.messages as readonly unknown[] | undefined;
    const last = JSON.stringify(messages?.at(-1));
    expect(last).toContain('fourteen chars');
  });
});

describe('a server that does not', () => {
  it('is asked once, and the turn goes on after one more request', async () => {
    const told = await tell(story({ contextEditing: 'refuse' }));
    const loop = told.server.requestsOf('loop');
    expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'done' });
    expect(loop.map(asks)).toEqual([true, ...loop.slice(1).map(() => false)]);
    expect(told.last.num_turns).toBe(loop.length - 1);
    expect(told.messages.some((m) => m.type === 'system' && m.subtype === 'api_retry')).toBe(false);
    const warnings = warningsOf(told.messages).filter((text) =>
      text.includes('context_management'),
    );
    expect(warnings).toHaveLength(1);
  });

  it('one who looks on sees both requests, each as it went over the wire', async () => {
    const seen: EngineEvent[] = [];
    const told = await tell(
      story(
        { contextEditing: 'refuse' },
        { begin: (engine) => void engine.observe((event) => seen.push(event)) },
      ),
    );
    const sent = seen.flatMap((event) => (event.type === 'request.sent' ? [event.request] : []));
    const bodies = sent.map(({ body }) => Reflect.has(body(), 'context_management'));
    expect(bodies).toEqual(told.server.requests.map(asks));
    expect(bodies.slice(0, 2)).toEqual([true, false]);
    const [refused] = seen.flatMap((event) =>
      event.type === 'request.ended' ? [event.answer] : [],
    );
    expect(refused?.failure?.class).toBe('bad_request');
  });

  it.each([
    [
      'the API without the beta',
      httpError(400, 'invalid_request_error', 'context_management: Extra inputs are not permitted'),
    ],
    [
      'the API, of the header',
      httpError(
        400,
        'invalid_request_error',
        'Unexpected value(s) `context-management-2025-06-27` for the `anthropic-beta` header.',
      ),
    ],
    ['Bedrock', httpError(400, 'invalid_request_error', 'invalid beta flag')],
    [
      'an organisation',
      httpError(403, 'permission_error', 'No access to context-management-2025-06-27'),
    ],
  ])('is known by the words of %s', async (_, refusal) => {
    const told = await tell({
      script: { replies: [{ ...refusal, when: { matches: asks } }, say('hello'), say('again')] },
      prompts: ['one', 'two'],
      gates: editing,
    });
    expect(told.requests.map(asks)).toEqual([true, false, false]);
    expect(told.results.map(({ result }) => result)).toEqual(['hello', 'again']);
  });

  it('ends the turn as ever for what has nothing to do with it', async () => {
    const told = await tell({
      script: {
        replies: [httpError(400, 'invalid_request_error', 'messages: is odd'), say('two')],
      },
      prompts: ['one', 'two'],
      gates: { microcompact: true },
      options: { settings: { cachedMicrocompact: true } },
    });
    expect(told.results.map(({ terminal_reason: reason }) => reason)).toEqual([
      'api_error',
      'completed',
    ]);
    expect(told.requests.map(asks)).toEqual([true, true]);
  });

  it('is noticed by its silence once the prompt is long, and results are cleared here', async () => {
    const told = await tell(
      story(
        { contextEditing: 'ignore' },
        {
          prepare: ({ cwd }) => {
            for (let n = 0; n < READS; n += 1) writeFileSync(join(cwd, `${n}.txt`), FILE.repeat(3));
          },
          options: {},
        },
      ),
    );
    const asked = told.requests.map(asks);
    // Up to the first long answer, 90,000 tokens, and never again.
    expect(asked.slice(0, 8)).not.toContain(false);
    expect(asked).toContain(false);
    expect(asked.slice(asked.indexOf(false))).not.toContain(true);
    expect(warningsOf(told.messages).join()).toContain('takes no notice');
    expect(editsOf(told.messages).map(({ stage }) => stage)).toContain('microcompact');
    expect(JSON.stringify(told.requests.at(-1)?.body)).toContain('was cleared to save room');
    expect(told.last.terminal_reason).toBe('completed');
  });

  it('is not asked through a client of the host that says so', async () => {
    const told = await tell(
      story(undefined, {
        script: { replies: [say('hello')] },
        config: (_, { server }) => ({
          model: {
            client: {
              ...createClient({ baseURL: server.url, apiKey: 'a key of no value' }),
              editsContexts: false,
            },
          },
        }),
      }),
    );
    expect(told.requests.map(asks)).toEqual([false]);
  });
});
