/** The kit on the real engine: a model without network, failures from a seed, time, replay. */
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configFromOptions, type Options } from '../../../src/options.ts';
import { QueryEngine } from '../../../src/query-engine.ts';
import {
  checkInvariants,
  cut,
  expectReasons,
  type FakeClock,
  fakeClock,
  faults,
  message,
  overloaded,
  recordedQueries,
  recordSession,
  replayQuery,
  type ScriptedModel,
  type Step,
  say,
  scriptedModel,
  silent,
  text,
  toolUse,
  warningsDuring,
} from '../../../src/testing/index.ts';

let folder = '';
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'escapement-kit-')));
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

async function engineWith(model: ScriptedModel, clock: FakeClock, options: Options = {}) {
  const config = await configFromOptions(
    {
      ...{ cwd: folder, client: model, model: 'claude-sonnet-4-5', settingSources: [] },
      ...options,
    },
    { ESCAPEMENT_HOME: folder },
  );
  return new QueryEngine({ ...config, deps: clock.deps });
}
const todo = () =>
  message([
    text('first '),
    toolUse('TodoWrite', { todos: [{ content: 'a', status: 'pending', activeForm: 'a' }] }),
  ]);

async function played(replies: readonly Step[], options?: Options) {
  const model = scriptedModel({ replies });
  const engine = await engineWith(model, fakeClock({ skipBelowMs: 60_000 }), options);
  const session = recordSession(engine, model);
  const result = await session.prompt('do it');
  const facts = session.facts();
  await engine.close();
  model.close();
  return { result, facts, session, model };
}

describe('scriptedModel', () => {
  it('plays a script through the official SDK, without a port', async () => {
    const { result, facts, session, model } = await played([overloaded(), todo(), say('done')]);
    expect(result.result).toBe('done');
    expect(model.requests).toHaveLength(3);
    expectReasons(session.messages, ['next_turn', 'completed']);
    checkInvariants(facts);
  });

  it.each<[string, Step]>([
    ['a connection that breaks before the headers', cut()],
    ['a stream that is cut', message([text('lost')], { fault: { kind: 'cut', after: 'headers' } })],
    [
      'an error in the stream',
      message([text('lost')], { fault: { kind: 'error', after: 'blocks' } }),
    ],
  ])('%s is what it would be over HTTP', async (_, broken) => {
    const { result } = await played([broken, say('done')]);
    expect(result.terminal_reason).toBe('completed');
    expect(result.result).toMatch(/done$/);
  });
});

describe('faults', () => {
  it('are the same for the same seed', () => {
    const drawn = (seed: number) => JSON.stringify(faults(seed).among([todo(), say('done')]));
    expect(drawn(7)).toBe(drawn(7));
    expect(new Set([1, 2, 3, 4, 5, 6].map(drawn)).size).toBeGreaterThan(3);
  });

  it('of any seed do not change how it ends', async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const { result, facts } = await played(faults(seed).among([todo(), say('done')]));
      expect([seed, result.result]).toEqual([seed, 'done']);
      checkInvariants(facts, { except: ['usage'] });
    }
  });
});

describe('fakeClock', () => {
  it("brings the chart's deadlines when it is told to, and not before", async () => {
    const model = scriptedModel({ replies: [silent({ times: 'always' })] });
    const clock = fakeClock();
    const engine = await engineWith(model, clock, { maxDurationMs: 100_000 });
    const session = recordSession(engine, model);
    const ended = session.prompt('do it');
    await clock.waitsFor(150_000); // of the request; the host's time ends before it
    clock.advance(100_000);
    expect((await ended).terminal_reason).toBe('deadline_exceeded');
    await engine.close();
    model.close();
  });

  it('says what is waited for instead', async () => {
    const clock = fakeClock();
    clock.deps.clock.setTimeout(() => {}, 7);
    await expect(clock.waitsFor(8, 1)).rejects.toThrow('waited for is 7');
  });
});

describe('what does not hold is said', () => {
  it('by its name', async () => {
    const { facts, session } = await played([say('done')]);
    expect(() => checkInvariants({ ...facts, prompts: ['a', 'b'] })).toThrow(
      /^results: 1 results for 2/,
    );
    expect(() => checkInvariants({ ...facts, agreed: [] })).toThrow(/view: /);
    expect(() => expectReasons(session.messages, ['refusal'])).toThrow(/taken: +completed/);
  });
});

describe('each prompt is named by exactly one result', () => {
  it('of another prompt it is not', async () => {
    const { facts } = await played([say('done')]);
    expect(() => checkInvariants({ ...facts, prompts: ['another'] })).toThrow(
      /^results: no result names the prompt another$/,
    );
    const [uuid = ''] = facts.prompts;
    const twice = facts.results.map((r) => ({ ...r, user_message_uuids: [uuid, uuid] }));
    expect(() => checkInvariants({ ...facts, results: twice })).toThrow(`${uuid} is named twice`);
  });

  it('a turn that was left has none, and that is said', async () => {
    const model = scriptedModel({ replies: [say('one'), say('two')] });
    const engine = await engineWith(model, fakeClock({ skipBelowMs: 60_000 }));
    const session = recordSession(engine, model);
    const uuid = '11111111-1111-4111-8111-111111111111';
    const { user_message_uuids: named } = await session.prompt('do it', { uuid });
    expect(named).toEqual([uuid]);
    const during = () => {
      throw new Error('the host has enough');
    };
    await expect(session.prompt('and more', { during })).rejects.toThrow('has enough');
    expect(() => checkInvariants(session.facts())).toThrow(/^results: 1 results for 2 prompts/);
    await engine.close();
    model.close();
  });

  it('the result of the turn before is not that of a turn without one', async () => {
    const model = scriptedModel({ replies: [say('one')] });
    const engine = await engineWith(model, fakeClock({ skipBelowMs: 60_000 }));
    const session = recordSession(engine, model);
    await session.prompt('do it');
    engine.submitMessage = async function* () {}; // an engine that is broken
    await expect(session.prompt('again')).rejects.toThrow('the turn has no result');
    expect(() => checkInvariants(session.facts())).toThrow(/^results: 1 results for 2 prompts/);
    await engine.close();
    model.close();
  });
});

it("the host's console stays the host's; warnings of the process are heard", async () => {
  const before = [console.warn, console.error];
  const listeners = process.listenerCount('warning');
  const { facts } = await played([say('done')]);
  await played([say('done')]);
  const warnings = warningsDuring();
  expect([console.warn, console.error]).toEqual(before);
  expect(process.listenerCount('warning') - listeners).toBeLessThanOrEqual(1);
  process.emitWarning('something leaks', 'LeakWarning');
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings()).toEqual(['LeakWarning: something leaks']);
  expect(() => checkInvariants({ ...facts, warnings: warnings() })).toThrow(/^warnings: LeakW/);
});

it('a session is heard again by the chart alone, and takes the same way', async () => {
  const { session } = await played([overloaded(), todo(), say('done')]);
  const names = readdirSync(folder, { recursive: true }).map(String);
  const file = names.find((name) => name.endsWith('.jsonl')) ?? '';
  const [query, ...more] = recordedQueries(readFileSync(join(folder, file), 'utf8'));
  expect(more).toEqual([]);
  expect(query && replayQuery(query)).toMatchObject({
    reason: 'completed',
    transitions: ['next_turn'],
    unheard: 0,
  });
  expectReasons(session.messages, ['next_turn', 'completed']);
  const cutShort = query && { ...query, events: query.events.slice(0, -3) };
  expect(cutShort && replayQuery(cutShort).reason).toBeUndefined();
});
