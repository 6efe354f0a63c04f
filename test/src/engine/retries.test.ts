/** What is tried again, how often, and when; and what is not. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  callTool,
  forever,
  httpError,
  message,
  overloaded,
  rateLimited,
  say,
  serverError,
  text,
  thinking,
  toolUse,
} from '../../../src/testing/index.ts';
import { heard, tell } from '../../tools/story.ts';

const overloadedAfter = (after: { block: number; delta?: number }, delayMs = 0) => ({
  kind: 'error' as const,
  after,
  delayMs,
});

describe('tries', () => {
  it('RTY-01 overload inside of a stream: the half answer is taken back, usage counts', async () => {
    const told = await tell({
      script: {
        replies: [
          message([text('Hel', { pieces: 1 })], { fault: overloadedAfter({ block: 0, delta: 0 }) }),
          say('Hello'),
        ],
      },
      options: { includePartialMessages: true },
    });
    expect(told.lines.filter((line) => !line.startsWith('event'))).toEqual([
      'init',
      'status requesting',
      'delta "Hel"',
      'taken back',
      'retry 1/10 - overloaded_error: Overloaded',
      'status requesting',
      'delta "Hello"',
      'model says "Hello" (replaces 1)',
      'end completed "Hello"',
    ]);
    expect(told.requests.map(heard)).toEqual([['user: do it'], ['user: do it']]);
  });

  it('RTY-02 streams that stay open and say nothing', async () => {
    const told = await tell({
      script: {
        replies: [
          message([text('A')], { fault: { kind: 'stall', after: { block: 0, delta: 0 } } }),
          message([], { fault: { kind: 'stall', after: 'headers' } }),
          say('B'),
        ],
      },
      environment: { ESCAPEMENT_STREAM_IDLE_MS: '300' },
    });
    expect(told.lines.filter((line) => line.startsWith('retry'))).toEqual([
      'retry 1/10 - the stream sent nothing for 0.3 s',
      'retry 2/10 - the stream sent nothing for 0.3 s',
    ]);
    expect(told.last.result).toBe('B');
    expect(told.server.log.filter(({ type }) => type === 'client_closed').length).toBe(2);
  });

  it('RTY-04 a tool has run, then the stream breaks: it is kept, and the model knows', async () => {
    const told = await tell({
      script: {
        replies: [
          message([toolUse('Bash', { command: 'echo x >> log; cat log' })], {
            fault: overloadedAfter({ block: 0 }, 300),
          }),
          callTool('Bash', { command: 'echo x >> log; cat log' }),
          say('done'),
        ],
      },
      check: ({ cwd }) => expect(readFileSync(join(cwd, 'log'), 'utf8')).toBe('x\nx\n'),
    });
    expect(told.transitions).toEqual(['stream_resume', 'next_turn']);
    expect(told.requests.map(heard)[1]?.at(-1)).toMatch(/^user: result x \+ Your answer broke off/);
    expect(told.lines).not.toContain('taken back');
  });

  it('RTY-05 a long retry-after ends the turn at once, and says when', async () => {
    const told = await tell({ script: { replies: [rateLimited('11180')] } });
    expect(told.requests.length).toBe(1);
    expect(told.last).toMatchObject({ terminal_reason: 'api_error', api_error_status: 429 });
    expect(told.last.errors[0]).toMatch(/may be tried again in 11180 s, at \d{4}-/);
  });

  it('RTY-05 a short one is waited for', async () => {
    const told = await tell({
      script: { replies: [rateLimited('1'), say('ok')] },
    });
    const [first = 0, second = 0] = told.requests.map(({ atMs }) => atMs);
    expect(second - first).toBeGreaterThan(950);
    expect(told.last.result).toBe('ok');
  });

  it.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [403, 'permission_error'],
    [404, 'not_found_error'],
  ])('RTY-07 %i is not tried again, and not with another model', async (status, type) => {
    const told = await tell({
      script: { replies: forever(httpError(status, type, 'no: sk-ant-secret0123456789')) },
      options: { fallbackModel: 'claude-haiku-4-5' },
    });
    expect(told.requests.length).toBe(1);
    expect(told.last).toMatchObject({ terminal_reason: 'api_error', api_error_status: status });
    expect(JSON.stringify(told.messages)).not.toContain('secret0123456789');
  });

  it('RTY-09 a stream that ends without its end is no answer', async () => {
    const told = await tell({
      script: {
        replies: [
          message([text('The answer is ')], {
            fault: { kind: 'end', after: { block: 0, delta: 0 } },
          }),
          say('The answer is 42'),
        ],
      },
    });
    expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'The answer is 42' });
  });

  it('RTY-11 the fallback after three overloads in a row, and back with the next prompt', async () => {
    const told = await tell({
      script: { replies: [overloaded({ times: 3 }), say('from b'), say('from a')] },
      options: { fallbackModel: 'claude-haiku-4-5' },
      prompts: ['do it', 'again'],
    });
    expect(told.requests.map(({ body }) => body.model)).toEqual([
      ...Array(3).fill('claude-sonnet-4-5'),
      'claude-haiku-4-5',
      'claude-sonnet-4-5',
    ]);
    expect(told.lines.slice(0, 10)).toEqual([
      'init',
      'status requesting',
      'retry 1/10 529 529 overloaded_error: Overloaded',
      'status requesting',
      'retry 2/10 529 529 overloaded_error: Overloaded',
      'status requesting',
      'fallback claude-sonnet-4-5 → claude-haiku-4-5',
      'status requesting',
      'model says "from b"',
      'end completed "from b"',
    ]);
    expect(Object.keys(told.last.modelUsage).toSorted()).toEqual([
      'claude-haiku-4-5',
      'claude-sonnet-4-5',
    ]);
  });

  it('RTY-11 without one: bounded tries, then the overload is the error', async () => {
    const told = await tell({
      script: { replies: forever(overloaded()) },
      limits: { retriesMax: 4 },
    });
    expect(told.requests.length).toBe(5);
    expect(told.last).toMatchObject({ terminal_reason: 'api_error', api_error_status: 529 });
  });

  it('a server that says `x-should-retry: false` is believed', async () => {
    const told = await tell({
      script: { replies: forever(serverError({ headers: { 'x-should-retry': 'false' } })) },
    });
    expect(told.requests.length).toBe(1);
    expect(told.last).toMatchObject({ terminal_reason: 'api_error', api_error_status: 500 });
  });

  it.each(['abc', '-5', 'Thu, 01 Jan 1970 00:00:00 GMT', '', '1e9999', '99999999999999999999'])(
    'a retry-after that makes no sense (%j) is not waited for',
    async (value) => {
      const told = await tell({ script: { replies: [rateLimited(value), say('ok')] } });
      expect(told.last.result).toBe('ok');
    },
  );

  it('a retry-after that is a date is waited for', async () => {
    const inAWhile = () => new Date(Date.now() + 2_000).toUTCString();
    const told = await tell({
      script: { replies: [() => rateLimited(inAWhile()), say('ok')] },
    });
    const [first = 0, second = 0] = told.requests.map(({ atMs }) => atMs);
    // A date has whole seconds.
    expect(second - first).toBeGreaterThan(900);
  });

  it('a cap that is too high for the window is lowered to what fits, once', async () => {
    const words = 'input length and `max_tokens` exceed context limit: 190000 + 8000 > 195000';
    const told = await tell({
      script: { replies: [httpError(400, 'invalid_request_error', words), say('ok')] },
    });
    expect(told.requests.map(({ body }) => body.max_tokens)).toEqual([8_000, 4_000]);
    expect(told.last.result).toBe('ok');
  });

  it('thinking alone that dies is tried again, not resumed', async () => {
    const told = await tell({
      script: {
        replies: [
          message([thinking('hm'), text('lost')], {
            fault: overloadedAfter({ block: 1, delta: 0 }),
          }),
          say('ok'),
        ],
      },
      options: { thinking: { type: 'enabled', budgetTokens: 1_024 } },
    });
    expect(told.lines.filter((line) => line === 'taken back').length).toBe(1);
    expect(told.transitions).toEqual([]);
  });
});
