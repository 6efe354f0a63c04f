/** Whoever looks on changes nothing: not by throwing, not by being slow, not by leaving. */
import { describe, expect, it } from 'vitest';
import { assign, createActor, fromPromise, setup } from 'xstate';
import type { EngineEvent } from '../../src/engine-events.ts';
import type { Entry, Piece } from '../../src/inspect/protocol.ts';
import { type Inspector, startInspector } from '../../src/inspect/start-inspector.ts';
import { callTool, httpError, say } from '../../src/testing/replies.ts';
import type { SDKMessage } from '../../src/wire.ts';
import { lineOf, tell } from '../tools/story.ts';
import { openPage } from './page.ts';

const story = { script: { replies: [callTool('Bash', { command: 'true' }), say('Done.')] } };

describe('an observer of the engine', () => {
  it('MACH-04 that throws is told of once, and the run is the same', async () => {
    const plain = await tell(story);
    let calls = 0;
    const seen: string[] = [];
    const watched = await tell({
      ...story,
      begin: (engine) => {
        engine.observe(() => {
          calls += 1;
          throw new Error('not my day');
        });
        engine.observe(({ type }) => void seen.push(type));
      },
    });
    const isWarning = (message: SDKMessage) => JSON.stringify(message).includes('not my day');
    expect(watched.messages.filter(isWarning)).toHaveLength(1);
    expect(watched.messages.filter((one) => !isWarning(one)).map(lineOf)).toEqual(plain.lines);
    expect(calls).toBe(seen.length);
  });

  it('MACH-01 hears of all that happens; no header, no key and no delta is among it', async () => {
    const events: EngineEvent[] = [];
    await tell({
      ...story,
      options: { includePartialMessages: true },
      begin: (engine) => void engine.observe((event) => events.push(event)),
    });
    const kinds = [...new Set(events.map(({ type }) => type))];
    expect(kinds).toEqual(
      [
        'prompt.taken',
        'message.said',
        'query.began',
        'query.inspected',
        'request.sent',
        'request.opened',
        'request.ended',
        'query.ended',
        'engine.closed',
      ].sort((a, b) => kinds.indexOf(a as never) - kinds.indexOf(b as never)),
    );
    const bodies = events.flatMap((event) =>
      event.type === 'request.sent' ? event.request.body() : [],
    );
    expect(bodies).toHaveLength(2);
    expect(bodies[0]).toMatchObject({ stream: true, model: 'claude-sonnet-4-5' });
    // Actors and machines are references, of which nothing is said here.
    const said = events.flatMap((event) => {
      if (event.type !== 'query.inspected') return event;
      return event.event.type === '@xstate.event' ? event.event.event : [];
    });
    const told = JSON.stringify(said);
    expect(told).not.toContain('a key of no value');
    expect(told).not.toContain('x-api-key');
    expect(told).not.toContain('text_delta');
  });

  it('that has left hears nothing more', async () => {
    let heard = 0;
    await tell({
      script: { replies: [say('a'), say('b')] },
      prompts: ['one', 'two'],
      begin: (engine) => {
        const leave = engine.observe(({ type }) => {
          heard += 1;
          if (type === 'query.ended') leave();
        });
      },
      after: () => expect(heard).toBeLessThan(200),
    });
    const before = heard;
    expect(before).toBeGreaterThan(10);
  });
});

describe('a machine of a host', () => {
  const order = setup({
    types: {} as {
      context: { items: readonly object[]; secret: { pin: string } };
      events: { type: 'add' } | { type: 'pay' };
    },
    actors: { pay: fromPromise<string>(() => Promise.reject(new Error('no funds'))) },
  }).createMachine({
    id: 'order',
    context: { items: [], secret: { pin: '4711-0815' } },
    initial: 'open',
    states: {
      open: {
        on: {
          add: { actions: assign({ items: ({ context }) => [...context.items, { n: 1 }] }) },
          pay: 'paying',
        },
      },
      paying: {
        invoke: { id: 'till', src: 'pay', onDone: 'done', onError: 'open' },
        after: { 60000: 'open' },
      },
      done: { type: 'final' },
    },
  });

  it('is seen from its first step; what the host takes out is never kept', async () => {
    const inspector = await startInspector(undefined, {
      redact: (value) =>
        typeof value === 'object' && value !== null && 'secret' in value
          ? { ...value, secret: { pin: 'hidden' } }
          : value,
    });
    const page = openPage(inspector.url);
    const actor = createActor(order, { inspect: inspector.inspect }).start();
    actor.send({ type: 'add' });
    actor.send({ type: 'add' });
    actor.send({ type: 'pay' });
    await page.until(() => page.all('service').some(({ status }) => status === 'error'));
    await page.until(() => page.all('step').at(-1)?.event === 'xstate.error.actor.till');
    expect(page.all('step').map(({ to }) => to[0])).toEqual([
      ...['order.open', 'order.open', 'order.open', 'order.paying', 'order.open'],
    ]);
    const added = page.all('step')[2];
    expect(added?.diff).toEqual([
      { op: 'append', path: ['items'], from: 1, to: 2, items: [{ n: 1 }] },
    ]);
    expect(page.all('service').at(-1)).toMatchObject({ name: 'pay', error: 'Error: no funds' });
    expect(page.all('deadline').map(({ name, status }) => [name, status])).toEqual([
      ['60000', 'running'],
      ['60000', 'met'],
    ]);
    const context = await fetch(`${inspector.url}context?seq=${added?.seq}`);
    expect(((await context.json()) as Piece).value).toEqual({
      ...{ items: [{ n: 1 }, { n: 1 }], secret: { pin: 'hidden' } },
    });
    const everything = JSON.stringify(page.entries) + (await inspector.html());
    expect(everything).not.toContain('4711-0815');
    page.close();
    await inspector.close();
  });

  it('that runs already is shown from where it is; its end is told', async () => {
    const actor = createActor(order).start();
    actor.send({ type: 'add' });
    const inspector = await startInspector(actor);
    const page = openPage(inspector.url);
    actor.send({ type: 'add' });
    await page.until(() => page.all('step').length === 2);
    expect(page.all('step')[0]).toMatchObject({ n: 0, to: ['order.open'] });
    actor.stop();
    await page.until(() => page.all('instance').at(-1)?.status === 'stopped');
    page.close();
    await inspector.close();
  });

  it('a redact function that throws hides the value and is told of; the machine goes on', async () => {
    const inspector = await startInspector(undefined, {
      redact: () => {
        throw new Error('oops');
      },
    });
    const actor = createActor(order, { inspect: inspector.inspect }).start();
    actor.send({ type: 'add' });
    const lines: Entry[] = [];
    for await (const line of inspector.recording()) lines.push(JSON.parse(line) as Entry);
    expect(lines.filter(({ kind }) => kind === 'note')).toHaveLength(1);
    expect(JSON.stringify(lines)).not.toContain('4711-0815');
    expect(actor.getSnapshot().context.items).toHaveLength(1);
    await inspector.close();
  });
});

describe('what a host takes out of an engine', () => {
  const code = 'Operation Nightingale';
  const clean = (value: unknown): unknown =>
    JSON.parse((JSON.stringify(value) ?? 'null').replaceAll(code, 'a code'));
  const told = {
    script: {
      replies: [
        httpError(400, 'invalid_request_error', `no: ${code}`),
        callTool('Bash', { command: `echo ${code}` }),
        say(`It is ${code}.`),
      ],
    },
    prompts: [`look up ${code}`, `and again ${code}`],
  };
  const seenOf = async (inspector: Inspector) => {
    let lines = '';
    for await (const line of inspector.recording()) lines += line;
    return lines + (await inspector.html());
  };

  it('is nowhere: not in the prompt, its title, the answers, the failures', async () => {
    let seen = '';
    let inspector: Inspector | undefined;
    await tell({
      ...told,
      begin: async (engine) => {
        inspector = await startInspector(engine, { redact: clean });
      },
    });
    if (inspector) seen = await seenOf(inspector);
    await inspector?.close();
    expect(seen).toContain('look up a code');
    expect(seen).toContain('It is a code.');
    expect(seen).not.toContain(code);
  });

  it('also when its function throws, or leaves nothing of a message', async () => {
    const redacts = [
      () => {
        throw new Error('oops');
      },
      () => undefined,
      () => 7,
    ];
    for (const redact of redacts) {
      let inspector: Inspector | undefined;
      await tell({
        ...told,
        begin: async (engine) => {
          inspector = await startInspector(engine, { redact });
        },
      });
      const seen = inspector ? await seenOf(inspector) : '';
      await inspector?.close();
      expect(seen).toContain('"kind":"message"');
      expect(seen).not.toContain('internal error of the inspector');
      expect(seen).not.toContain('Nightingale');
    }
  });
});
