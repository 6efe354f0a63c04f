/**
 * The contract with @xstate/inspect 0.8, by its own receiver on its own XState 4: our chart arrives
 * whole, its states live, also for one who comes late; and so does any other actor of XState 5.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import {
  type AnyActorLogic,
  and,
  assign,
  createActor,
  createMachine,
  fromCallback,
  fromPromise,
  fromTransition,
  not,
  setup,
} from 'xstate';
import type { BridgeOptions } from '../../../src/inspect/xstate-inspect/src/index.ts';
import { receiverAddress } from '../../../src/inspect/xstate-inspect/src/index.ts';
import { callTool, say, silent } from '../../../src/testing/index.ts';
import { edges, nodes } from '../../conformance/chart.ts';
import { tell } from '../../tools/story.ts';
import { type Heard, Onlooker, openBridge, type Registered, type V4Machine } from './v4-kit.ts';

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});
const open = async (options?: BridgeOptions) => {
  const place = await openBridge(options);
  opened.push(place.close);
  return place;
};
const isQuery = (event: Heard): event is Registered =>
  event.type === 'service.register' && event.machine.id === 'query';
/** Our chart, told to one who looks on from the first step. */
const watchQuery = async () => {
  const { bridge, page } = await open();
  const onlooker = new Onlooker(page);
  const early = createActor(createMachine({ id: 'early' }), { inspect: bridge.inspect });
  early.start();
  await onlooker.until((event) => event.type === 'service.register'); // it listens
  const seen: unknown[] = [];
  await tell({
    script: { replies: [callTool('Read', { file_path: 'a.txt' }), say('done')] },
    config: () => ({}),
    begin: (engine) => {
      const passOn = engine.inspect;
      engine.inspect = (event) => {
        passOn?.(event);
        bridge.inspect(event);
        const isRoot = event.actorRef.sessionId === event.rootId;
        if (event.type === '@xstate.snapshot' && isRoot && 'value' in event.snapshot) {
          seen.push(event.snapshot.value);
        }
      };
    },
  });
  return { onlooker, seen };
};

/** Every transition of a machine of XState 4: where, on what, if what, whereto, and what is done. */
const waysOf = (machine: V4Machine) =>
  machine.stateIds
    .map((id) => machine.getStateNodeById(id))
    .flatMap((node) =>
      node.transitions.map((way) => ({
        from: node.id,
        on: way.eventType,
        guard: (way.cond as { name?: string } | undefined)?.name ?? '',
        to: (way.target ?? []).map(({ id }) => id),
        actions: way.actions.map(({ type }) => type),
        isInternal: way.internal,
      })),
    );

describe('our chart', () => {
  it('arrives with all its nodes and all its transitions', async () => {
    const { onlooker } = await watchQuery();
    const { machine } = onlooker.heard.find(isQuery) as Registered;
    expect(machine.stateIds.toSorted()).toEqual(nodes.map(({ id }) => id).toSorted());
    const expected = edges.map(({ node, on, guard, to, actions }) => ({
      from: node.id,
      on: on
        .replace(/^always$/, '')
        .replace(/^after (.*)/, `xstate.after($1)#${node.id}`)
        .replace(/^done /, 'done.invoke.')
        .replace(/^error /, 'error.platform.'),
      guard: guard.replace(/ (.*)/, (_, params) => `(${params.replaceAll(' | ', ', ')})`),
      to: to.map((id) => (id === 'query' ? id : `query.${id}`)),
      actions,
      isInternal: true,
    }));
    const order = (list: readonly object[]) => list.map((way) => JSON.stringify(way)).toSorted();
    expect(order(waysOf(machine))).toEqual(order(expected));
    expect(expected.length).toBeGreaterThan(120);
  });
  it('is seen live: each state, and each service beside it', async () => {
    const { onlooker, seen } = await watchQuery();
    const { sessionId, machine } = onlooker.heard.find(isQuery) as Registered;
    await onlooker.until((event) => event.type === 'service.stop' && event.sessionId === sessionId);
    const told = onlooker.of('service.state').filter((event) => event.sessionId === sessionId);
    expect(told.map(({ state }) => state.value)).toEqual(seen);
    expect(told.at(-1)?.state.done).toBe(true);
    const asked = onlooker.of('service.register').filter(({ parent }) => parent === sessionId);
    const names = nodes.flatMap(({ invoke }) => invoke.map(({ id }) => id));
    expect(asked.map(({ id }) => id)).toEqual(expect.arrayContaining(['model', 'tools', 'snip']));
    expect(asked.filter(({ id }) => !names.includes(id))).toEqual([]);
    // each service that began has also ended
    const stopped = new Set(onlooker.of('service.stop').map((event) => event.sessionId));
    expect(asked.filter((service) => !stopped.has(service.sessionId))).toEqual([]);
    // what a tool does with it
    expect(machine.resolveState(told[0]?.state as never).matches('preprocess')).toBe(true);
  });
  it('is one that XState 4 can walk by the events that it was told', async () => {
    const { onlooker } = await watchQuery();
    const { sessionId, machine } = onlooker.heard.find(isQuery) as Registered;
    const names = onlooker
      .of('service.event')
      .filter((event) => event.sessionId === sessionId)
      .map(({ event }) => event.name);
    expect(names.slice(0, 3)).toEqual([
      'xstate.init',
      'done.invoke.toolResultBudget',
      'done.invoke.snip',
    ]);
    const known = new Set([...machine.events, 'xstate.init']);
    expect(names.filter((name) => !known.has(name))).toEqual([]);
    const [told] = onlooker.of('service.state');
    const snip = machine.resolveState({ ...told?.state, value: { preprocess: 'snip' } } as never);
    const walked = machine.withConfig({ delays: { stageMs: 1 } } as never);
    const after = walked.transition(snip, 'xstate.after(stageMs)#query.preprocess.snip');
    expect(after.value).toEqual({ preprocess: 'microcompact' });
  });
  it('is there for one who comes late, as it is now, and goes on', async () => {
    const { bridge, page } = await open();
    let late: Onlooker | undefined;
    await tell({
      script: { replies: [silent()] },
      begin: (engine) => {
        const passOn = engine.inspect;
        engine.inspect = (event) => {
          passOn?.(event);
          bridge.inspect(event);
        };
      },
      during: async (message, engine, { server }) => {
        if (message.type !== 'system' || message.subtype !== 'status') return;
        await server.until((entry) => entry.type === 'reply' && entry.verdict === 'silence');
        late = new Onlooker(page);
        const first = (await late.until(isQuery)) as Registered;
        expect(first.state.value).toEqual({ sampling: 'requesting' });
        expect(first.machine.resolveState(first.state).nextEvents).toContain('stream.opened');
        await late.until((event) => event.type === 'service.register' && event.id === 'model');
        engine.interrupt();
      },
    });
    if (!late) throw new Error('nobody came');
    const { sessionId } = late.heard.find(isQuery) as Registered;
    const last = await late.until(
      (event) =>
        event.type === 'service.state' && event.sessionId === sessionId && !!event.state.done,
    );
    expect(last).toMatchObject({ state: { value: 'terminal' } });
  });
});

/** An actor, started while someone looks on. */
const watch = async (logic: AnyActorLogic, options?: BridgeOptions) => {
  const { bridge, page } = await open(options);
  const onlooker = new Onlooker(page);
  // nothing is told to one who has not asked yet: an actor of its own says that it listens
  createActor(
    fromTransition((s) => s, 0),
    { id: 'hello', inspect: bridge.inspect },
  ).start();
  await onlooker.until(isOf('hello'));
  const actor = createActor(logic, { id: 'root', inspect: bridge.inspect });
  return { bridge, onlooker, actor, page };
};
const isOf = (id: string) => (event: Heard) => event.type === 'service.register' && event.id === id;
const registered = (onlooker: Onlooker, id: string) => onlooker.heard.find(isOf(id)) as Registered;
const isEndOf = (onlooker: Onlooker, id: string) => (event: Heard) =>
  event.type === 'service.stop' && event.sessionId === registered(onlooker, id)?.sessionId;
const statesOf = ({ heard }: Onlooker, sessionId: string) =>
  heard.flatMap((event) =>
    event.type === 'service.state' && event.sessionId === sessionId ? [event.state] : [],
  );

describe('any actor of XState 5', () => {
  const player = setup({
    actors: {
      load: fromPromise(async () => 'loaded'),
      fail: fromPromise(async () => Promise.reject(new Error('no'))),
      forever: fromCallback(() => {}),
    },
    actions: { applaud: () => {}, beep: () => {} },
    guards: { isLoud: (_, __: { than: number }) => false, isOn: () => true },
    delays: { 'a.while': 60_000 },
  }).createMachine({
    id: 'player.of.things',
    type: 'parallel',
    context: { count: 0 },
    on: { MUTE: undefined, '*': { actions: () => {} }, 'track.*': '#deck' },
    states: {
      power: {
        initial: 'off',
        states: {
          off: {
            on: {
              TOGGLE: [
                { guard: { type: 'isLoud', params: { than: 3 } }, target: 'on' },
                { guard: and(['isOn', not(() => false)]), target: 'on', reenter: true },
              ],
            },
          },
          on: {
            after: { 1500: 'off', 'a.while': { actions: assign({ count: 1 }) } },
            exit: 'beep',
            tags: ['lit'],
          },
        },
      },
      deck: {
        id: 'deck',
        initial: 'loading',
        states: {
          loading: {
            invoke: [
              { id: 'load', src: 'load', onDone: { target: 'ready', reenter: true } },
              { src: 'forever' },
            ],
          },
          ready: { always: { guard: () => false, target: 'over' }, on: { EJECT: 'over' } },
          over: { type: 'final' },
          past: { type: 'history', history: 'deep', target: 'ready' },
        },
        onDone: { actions: 'applaud' },
      },
    },
  });

  it('parallel, history, delays, finals, guards that are functions, services of its own', async () => {
    const { onlooker, actor } = await watch(player);
    actor.start();
    actor.send({ type: 'TOGGLE' });
    await onlooker.until(
      (event) => event.type === 'service.state' && !!event.state.matches?.({ deck: 'ready' }),
    );
    const { machine, sessionId } = registered(onlooker, 'root');
    const node = (id: string) => machine.getStateNodeById(id);
    expect(machine.type).toBe('parallel');
    expect(node('deck').parent?.id).toBe('player.of.things');
    expect(node('player.of.things.deck.past')).toMatchObject({
      type: 'history',
      history: 'deep',
    });
    expect(statesOf(onlooker, sessionId).at(-1)?.value).toEqual({ power: 'on', deck: 'ready' });
    expect(statesOf(onlooker, sessionId).at(-1)?.tags).toEqual(new Set(['lit']));
    const [root, on] = ['player.of.things', 'player.of.things.power.on'];
    const ready = `${root}.deck.ready`;
    expect(waysOf(machine).map((way) => [way.from, way.on, way.guard, way.to[0]])).toEqual([
      [root, 'MUTE', '', undefined], // forbidden
      [root, 'track.*', '', 'deck'],
      [root, '*', '', undefined],
      [`${root}.power.off`, 'TOGGLE', 'isLoud(3)', on],
      [`${root}.power.off`, 'TOGGLE', 'and(isOn, not(inline))', on],
      [on, `xstate.after(1500)#${on}`, '', `${root}.power.off`],
      [on, `xstate.after(a.while)#${on}`, '', undefined],
      ['deck', 'done.state.deck', '', undefined],
      [`${root}.deck.loading`, 'done.invoke.load', '', ready],
      [ready, 'EJECT', '', `${root}.deck.over`],
      [ready, '', 'inline', `${root}.deck.over`],
    ]);
    const internal = waysOf(machine).map(({ isInternal }) => isInternal);
    expect(internal.filter((is) => !is).length).toBe(2); // the two that say reenter
    const exit = node(on).onExit.map(({ type }: { type: string }) => type);
    expect(exit).toEqual(['beep', 'xstate.cancel', 'xstate.cancel']); // its own, for its own timers
    actor.stop();
    await onlooker.until(isEndOf(onlooker, 'root'));
  });

  it('promises, callbacks, reducers: what has no states has a life', async () => {
    const failing = setup({
      actors: {
        good: fromPromise(async () => ({ songs: 3 })),
        bad: fromPromise(async () => Promise.reject(new Error('no needle'))),
        endless: fromCallback(() => {}),
      },
    }).createMachine({
      initial: 'a',
      invoke: { id: 'endless', src: 'endless' },
      states: {
        a: { invoke: { id: 'good', src: 'good', onDone: 'b' } },
        b: { invoke: { id: 'bad', src: 'bad', onError: 'c' } },
        c: { type: 'final' },
      },
    });
    const { onlooker, actor } = await watch(failing);
    actor.start();
    await onlooker.until(isEndOf(onlooker, 'root'));
    const lives = ['good', 'bad', 'endless'].map((id) => {
      const { sessionId, machine, parent } = registered(onlooker, id);
      expect(parent).toBe(registered(onlooker, 'root').sessionId);
      expect(machine.stateIds).toContain(`${id}.active`);
      const states = statesOf(onlooker, sessionId);
      return states.map(({ value }) => value).join(' ');
    });
    expect(lives).toEqual(['active done', 'active error', 'active stopped']);
    const [, good] = statesOf(onlooker, registered(onlooker, 'good').sessionId);
    expect(good?.context).toEqual({ output: { songs: 3 } });
  });

  it('one that fails while it takes an event is gone, although nobody says so', async () => {
    const child = createMachine({
      on: {
        CRASH: {
          actions: () => {
            throw new Error('crash');
          },
        },
      },
    });
    const parent = setup({ actors: { child } }).createMachine({
      invoke: { id: 'child', src: 'child', onError: { actions: () => {} } },
    });
    const { onlooker, actor } = await watch(parent);
    actor.start();
    (actor.getSnapshot().children.child as typeof actor).send({ type: 'CRASH' });
    await onlooker.until(isEndOf(onlooker, 'child'));
    actor.stop();
  });

  it('contexts that JSON cannot say, and large ones', async () => {
    const round: Record<string, unknown> = { big: 10n, call: () => 1, at: new Map([[1, 2]]) };
    round.self = round;
    round.text = 'x'.repeat(5_000_000);
    const { onlooker, actor } = await watch(createMachine({ id: 'odd', context: round }));
    actor.start();
    await onlooker.until((e) => e.type === 'service.state' && 'text' in e.state.context);
    const { sessionId } = registered(onlooker, 'root');
    const [state] = statesOf(onlooker, sessionId);
    expect(JSON.stringify(state?.context).length).toBeLessThan(2_000);
    expect(Object.keys(state?.context)).toEqual(['big', 'call', 'at', 'self', 'text']);
    actor.stop();
  });

  it('two copies of XState in one process do not mix', async () => {
    const { bridge, onlooker } = await watch(createMachine({}));
    const actorLike = (id: string) => ({
      id,
      sessionId: 'x:0',
      getSnapshot: () => ({ status: 'active', context: {} }),
      send: () => {},
    });
    for (const id of ['one', 'two']) {
      const actorRef = actorLike(id);
      bridge.inspect({ type: '@xstate.event', actorRef, event: { type: 'xstate.init' } });
    }
    await onlooker.until(isOf('two'));
    expect(registered(onlooker, 'one').sessionId).not.toBe(registered(onlooker, 'two').sessionId);
  });
});

describe('who looks on', () => {
  const counter = createMachine({
    id: 'counter',
    context: { key: 'sk-secret', count: 0 },
    on: { add: { actions: assign({ count: ({ context }) => context.count + 1 }) } },
  });

  it('costs nothing before it is there: no context is read', async () => {
    let reads = 0;
    const { bridge, page } = await open({
      redact: (value) => {
        reads += 1;
        return value;
      },
    });
    const actor = createActor(counter, { inspect: bridge.inspect }).start();
    for (let n = 0; n < 100; n += 1) actor.send({ type: 'add' });
    expect(reads).toBe(0);
    const first = await new Onlooker(page).until((event) => event.type === 'service.register');
    expect(first).toMatchObject({ state: { context: { count: 100 } } });
    expect(reads).toBeGreaterThan(0);
    actor.stop();
  });
  it('sees no secrets: contexts and events are redacted first', async () => {
    const redact = (value: unknown) =>
      JSON.parse(JSON.stringify(value).replaceAll(/sk-\w+/g, '[redacted]'));
    const { onlooker, actor } = await watch(counter, { redact });
    actor.start();
    actor.send({ type: 'add', key: 'sk-other' });
    actor.send({ type: 'add', last: true });
    await onlooker.until((e) => e.type === 'service.event' && 'last' in (e.event.data as object));
    const all = JSON.stringify(onlooker.heard);
    expect(all).not.toContain('sk-');
    expect(all).toContain('[redacted]');
    actor.stop();
  });
  it('may not send events, unless that was allowed; never those of the machinery', async () => {
    for (const allowSend of [false, true]) {
      const { onlooker, actor } = await watch(counter, { allowSend });
      actor.start();
      await onlooker.until(isOf('root'));
      const { sessionId } = registered(onlooker, 'root');
      const send = (data: object) =>
        onlooker.receiver.send({
          type: 'xstate.event',
          event: JSON.stringify({ data, origin: sessionId }),
          service: sessionId,
        });
      send({ type: 'xstate.stop' });
      send({ type: 'add' });
      send({ count: 1 });
      if (allowSend) {
        await onlooker.until((e) => e.type === 'service.state' && e.state.context?.count === 1);
      } else {
        onlooker.receiver.send({ type: 'xstate.inspecting' }); // answered after all that was sent
        await onlooker.until((e) => isOf('root')(e) && e !== registered(onlooker, 'root'));
      }
      expect(actor.getSnapshot()).toMatchObject({
        status: 'active',
        context: { count: allowSend ? 1 : 0 },
      });
      actor.stop();
    }
  });
  it('may talk nonsense', async () => {
    const { page, actor, onlooker } = await watch(counter, { allowSend: true });
    actor.start();
    const socket = new WebSocket(`ws://${receiverAddress(page)}`);
    await new Promise((resolve) => void socket.on('open', resolve));
    const closed = new Promise((resolve) => void socket.on('close', resolve));
    for (const text of ['', '{', '[]', 'null', '{"type":"xstate.event","event":"{"}']) {
      socket.send(text);
    }
    socket.send(Buffer.from([1, 2, 3]));
    socket.send('x'.repeat(2_000_000)); // larger than any command: the line is cut
    await closed;
    actor.send({ type: 'add' });
    await onlooker.until((e) => e.type === 'service.state' && e.state.context?.count === 1);
    actor.stop();
  });
  it('and is slow is not waited for: it gets what is newest', async () => {
    const { bridge, page } = await open();
    const socket = new WebSocket(`ws://${receiverAddress(page)}`);
    await new Promise((resolve) => void socket.on('open', resolve));
    const texts: string[] = [];
    const first = new Promise<void>((resolve) =>
      socket.on('message', (data) => {
        texts.push(String(data));
        resolve();
      }),
    );
    const lines = Array.from({ length: 20 }, (_, n) => [`line ${n}`, 'x'.repeat(200)]);
    const wide = createMachine({
      id: 'wide',
      context: { count: 0, lines: Object.fromEntries(lines) },
      on: { add: { actions: assign({ count: ({ context }) => context.count + 1 }) } },
    });
    const actor = createActor(wide, { inspect: bridge.inspect }).start();
    socket.send(JSON.stringify({ type: 'xstate.inspecting' }));
    await first;
    socket.pause();
    const steps = 6_000;
    for (let n = 0; n < steps; n += 1) actor.send({ type: 'add' });
    socket.resume();
    const isLast = () => texts.at(-1)?.includes(`\\"count\\":${steps}`);
    while (!isLast()) await wait(10);
    expect(texts.length).toBeLessThan(steps); // two messages a step, had it kept up
    actor.stop();
  });
  it('does not keep a bridge that closes', async () => {
    const { bridge, page } = await open();
    const socket = new WebSocket(`ws://${receiverAddress(page)}`);
    await new Promise((resolve) => void socket.on('open', resolve));
    const closed = new Promise((resolve) => void socket.on('close', resolve));
    bridge.close();
    await closed;
  });
  it('sees nothing of what cannot be redacted, and the machine goes on', async () => {
    const errors: unknown[] = [];
    const { onlooker, actor } = await watch(counter, {
      redact: () => {
        throw new Error('redact is broken');
      },
      onError: (error) => errors.push(error),
    });
    actor.start();
    actor.send({ type: 'add' });
    await onlooker.until((e) => e.type === 'service.event' && e.event.name === 'add');
    expect(actor.getSnapshot()).toMatchObject({ context: { count: 1 } });
    expect(registered(onlooker, 'root').state.context).toEqual({ hidden: 'redact threw' });
    expect(JSON.stringify(onlooker.heard)).not.toContain('sk-secret');
    expect(String(errors[0])).toContain('redact is broken');
    actor.stop();
  });
});
