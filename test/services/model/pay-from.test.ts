/** One purse for all requests of a session, at whatever time each of them begins and ends. */
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultLimits } from '../../../machines/limits.ts';
import type { QuerySource } from '../../../machines/state.ts';
import { createCallModel } from '../../../services/model/call-model.ts';
import { payFrom, waitMsOf } from '../../../services/model/pay-from.ts';
import { Purse } from '../../../services/model/purse.ts';
import type {
  CallModel,
  ModelClient,
  ModelEvent,
  ModelRequest,
} from '../../../services/model/types.ts';
import { Watch } from '../../../src/watch.ts';

/** A dollar a token: a prompt costs what it has, a written one as much. */
const price = {
  inputUsdPerMtok: 1e6,
  outputUsdPerMtok: 1e6,
  cacheReadUsdPerMtok: 1e6,
  cacheWriteUsdPerMtok: 1e6,
};
interface Call {
  readonly prompt: number;
  readonly cap: number;
  readonly source: QuerySource;
  readonly startMs: number;
  readonly lastsMs: number;
}
const requestOf = (
  { prompt, cap, source }: Pick<Call, 'prompt' | 'cap' | 'source'>,
  signal = new AbortController().signal,
): ModelRequest => ({
  ...{ messages: [], systemPrompt: [], tools: [], model: 'm', thinking: { type: 'disabled' } },
  ...{ promptUsd: prompt, maxTokens: cap, querySource: source, signal },
});
/** A server whose answers are as long as they may be, and a session that bills them. */
const waitMs = (request: ModelRequest) => waitMsOf(request, defaultLimits);
function session(usdMax: number | undefined, lasts: () => Promise<unknown> = async () => {}) {
  const purse = new Purse(usdMax);
  const caps: number[] = [];
  const server: CallModel = async function* ({ maxTokens }) {
    caps.push(maxTokens);
    yield { type: 'opened' };
    await lasts();
    const usage = {
      ...{ input_tokens: 0, output_tokens: maxTokens },
      ...{ cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
    };
    yield { type: 'ended', stopReason: 'end_turn', usage };
  };
  const callModel = payFrom(
    { purse, priceOf: () => price, sizeOf: () => 0, outputTokensMin: 10, waitMs },
    server,
  );
  const call = async (request: ModelRequest) => {
    let last: ModelEvent | undefined;
    for await (const event of callModel(request)) {
      last = event;
      if (event.type === 'ended') purse.usd += (request.promptUsd ?? 0) + event.usage.output_tokens;
    }
    return last;
  };
  return { purse, caps, call };
}

describe('requests that run beside each other', () => {
  it('never spend more than the budget together, and leave nothing put aside', async () => {
    const calls = fc.array(
      fc.record<Call>({
        prompt: fc.integer({ min: 0, max: 60 }),
        cap: fc.integer({ min: 1, max: 60 }),
        source: fc.constantFrom('main', 'subagent', 'compact', 'collapse', 'tool_summary'),
        startMs: fc.integer({ min: 0, max: 6 }),
        lastsMs: fc.integer({ min: 0, max: 6 }),
      }),
      { minLength: 2, maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(calls, async (given) => {
        const times = given.map(({ lastsMs }) => lastsMs);
        const { purse, call } = session(100, () => delay(times.shift()));
        await Promise.all(
          given.map(async (one) => {
            await delay(one.startMs);
            await call(requestOf(one));
          }),
        );
        expect(purse.usd).toBeLessThanOrEqual(100);
        expect(purse.left).toBe(100 - purse.usd);
        expect(purse.isShared).toBe(false);
      }),
      { numRuns: 60 },
    );
  });

  it('the loop gets a lower cap when that makes it fit', async () => {
    const { purse, caps, call } = session(100);
    const giveBack = purse.reserve(60);
    await call(requestOf({ prompt: 10, cap: 80, source: 'main' }));
    expect(caps).toEqual([30]);
    giveBack();
  });

  it('… and waits for what others give back when it would be no answer', async () => {
    const { purse, caps, call } = session(100);
    const giveBack = purse.reserve(85);
    const calling = call(requestOf({ prompt: 10, cap: 80, source: 'main' }));
    await delay(0);
    expect(caps).toEqual([]);
    giveBack();
    expect(await calling).toMatchObject({ type: 'ended' });
    expect(caps).toEqual([80]);
  });

  it('work beside it waits for nothing', async () => {
    const { purse, caps, call } = session(100);
    purse.reserve(95);
    const last = await call(requestOf({ prompt: 5, cap: 5, source: 'collapse' }));
    expect(last).toMatchObject({ type: 'failed', failure: { class: 'over_budget' } });
    expect(caps).toEqual([]);
  });

  it('what can never fit fails unsent, and says what the budget is', async () => {
    const { caps, call } = session(100);
    const last = await call(requestOf({ prompt: 95, cap: 50, source: 'subagent' }));
    expect(last).toMatchObject({
      failure: { class: 'over_budget', detail: expect.stringContaining('maxBudgetUsd') },
    });
    expect(caps).toEqual([]);
  });

  it('an abort ends the waiting', async () => {
    const { purse, caps, call } = session(100);
    purse.reserve(100);
    const control = new AbortController();
    const calling = call(requestOf({ prompt: 1, cap: 50, source: 'main' }, control.signal));
    await delay(0);
    control.abort();
    await calling;
    expect(caps).toEqual([50]); // the service itself sends nothing for a signal that was aborted
  });

  it('who waits says so once, and is refused, not retried, when it takes too long', async () => {
    const { purse } = session(100);
    purse.reserve(95);
    const callModel = payFrom(
      { purse, priceOf: () => price, sizeOf: () => 0, outputTokensMin: 10, waitMs: () => 20 },
      async function* () {
        yield { type: 'opened' };
      },
    );
    const events: ModelEvent[] = [];
    const request = requestOf({ prompt: 0, cap: 50, source: 'main' });
    for await (const event of callModel(request)) events.push(event);
    expect(events).toEqual([
      { type: 'waiting', detail: expect.stringMatching(/waits: of the budget of \$100 other req/) },
      {
        type: 'failed',
        failure: {
          class: 'over_budget',
          isFinal: true,
          detail: expect.stringMatching(
            /\$5\.0000 left, and other work .* for 0\.02 s: it was not/,
          ),
        },
        usage: undefined,
      },
    ]);
  });

  it('one who leaves in the middle of an answer gives back, and whoever looks on hears its end', async () => {
    const { purse } = session(100);
    const events = [
      { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } },
    ];
    const client: ModelClient = {
      messages: {
        create: async () =>
          (async function* () {
            yield* events as never[];
          })(),
      },
    };
    const watch = new Watch();
    const told: string[] = [];
    watch.observe(({ type }) => told.push(type));
    const callModel = watch.watched(
      payFrom(
        { purse, priceOf: () => price, sizeOf: () => 0, outputTokensMin: 10, waitMs },
        createCallModel({ client }),
      ),
      purse,
    );
    for await (const event of callModel(requestOf({ prompt: 0, cap: 20, source: 'main' }))) {
      if (event.type === 'raw' && event.event.type === 'content_block_delta') break;
    }
    expect(purse.isShared).toBe(false);
    expect(purse.left).toBe(100);
    expect(told).toEqual(['request.sent', 'request.opened', 'request.ended']);
  });

  it('one who leaves gives back', async () => {
    const { purse } = session(100);
    const callModel = payFrom(
      { purse, priceOf: () => price, sizeOf: () => 3, outputTokensMin: 10, waitMs },
      async function* () {
        yield { type: 'opened' };
      },
    );
    const { promptUsd: _, ...request } = requestOf({ prompt: 0, cap: 20, source: 'main' });
    for await (const _event of callModel(request)) {
      expect(purse.left).toBe(77);
      break;
    }
    expect(purse.left).toBe(100);
  });
});

it('work beside the loop may take a tenth of what nobody has put aside', () => {
  const purse = new Purse(100);
  expect([purse.mayPayBeside(10), purse.mayPayBeside(10.1)]).toEqual([true, false]);
  purse.reserve(50);
  purse.usd = 30;
  expect([purse.mayPayBeside(2), purse.mayPayBeside(2.1)]).toEqual([true, false]);
  expect(purse.mayPayBeside(undefined)).toBe(false); // nobody knows the price
  expect(new Purse().mayPayBeside(undefined)).toBe(true);
});
