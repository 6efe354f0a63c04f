/**
 * The protocol of @xstate/inspect beside the inspector's page: the same secret, the same checks, the
 * same redaction; and nothing that keeps a program alive.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { assign, createActor, createMachine } from 'xstate';
import {
  type Inspector,
  type InspectorOptions,
  startInspector,
} from '../../../src/inspect/index.ts';
import { createV4Bridge, receiverAddress } from '../../../src/inspect/xstate-inspect/src/index.ts';
import { callTool, say } from '../../../src/testing/index.ts';
import { tell } from '../../tools/story.ts';
import { type Heard, Onlooker, type Registered } from './v4-kit.ts';

const opened: Inspector[] = [];
afterEach(async () => {
  for (const inspector of opened.splice(0)) await inspector.close();
});
const open = async (options: InspectorOptions = {}) => {
  const inspector = await startInspector(undefined, { v4: createV4Bridge, ...options });
  opened.push(inspector);
  return inspector;
};
const isOf = (id: string) => (event: Heard) =>
  event.type === 'service.register' && event.machine.id === id;
const counter = createMachine({
  id: 'counter',
  context: { password: 'open sesame', note: 'a host secret', count: 0 },
  on: { add: { actions: assign({ count: ({ context }) => context.count + 1 }) } },
});

/** What the server says to one who asks for an upgrade. */
const askFor = (url: string, headers: Record<string, string> = {}) =>
  new Promise<number>((resolve, reject) => {
    const socket = new WebSocket(url, { headers });
    socket.on('open', () => {
      socket.terminate();
      resolve(101);
    });
    socket.on('unexpected-response', (_, response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    socket.on('error', reject);
  });

describe('an upgrade', () => {
  const placeOf = ({ url }: Inspector) => `ws://${receiverAddress(url)}`;

  it('is granted to programs and pages of this machine that know the secret', async () => {
    const inspector = await open();
    expect(await askFor(placeOf(inspector))).toBe(101);
    const { origin } = new URL(inspector.url);
    expect(await askFor(placeOf(inspector), { origin })).toBe(101);
  });
  it('is refused with a wrong secret, or none', async () => {
    const place = placeOf(await open());
    const [, token] = new URL(place).pathname.split('/');
    expect(await askFor(place.replace(token as string, 'x'.repeat(32)))).toBe(404);
    expect(await askFor(place.replace(`/${token}`, ''))).toBe(404);
    expect(await askFor(place.replace('xstate-inspect', 'events'))).toBe(404);
  });
  it('is refused to pages of other sites, also under a name of their own', async () => {
    const place = placeOf(await open());
    for (const origin of ['https://stately.ai', 'https://evil.example', 'null']) {
      expect(await askFor(place, { origin })).toBe(403);
    }
    expect(await askFor(place, { 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await askFor(place, { host: 'evil.example' })).toBe(421); // DNS rebinding
    expect(await askFor(place, { host: `evil.example:${new URL(place).port}` })).toBe(421);
  });
  it('is granted to a site that was named, for this and nothing else', async () => {
    const inspector = await open({ v4Origins: ['https://stately.ai'] });
    const place = placeOf(inspector);
    const guest = { origin: 'https://stately.ai', 'sec-fetch-site': 'cross-site' };
    expect(await askFor(place, guest)).toBe(101);
    expect(await askFor(place, { origin: 'https://stately.ai.evil.example' })).toBe(403);
    const [, token] = new URL(place).pathname.split('/');
    expect(await askFor(place.replace(token as string, 'x'.repeat(32)), guest)).toBe(404);
    expect((await fetch(inspector.url, { headers: { origin: guest.origin } })).status).toBe(403);
  });
  it('is refused without a bridge', async () => {
    const inspector = await startInspector();
    opened.push(inspector);
    expect(await askFor(placeOf(inspector))).toBe(404);
  });
});

describe('what is told', () => {
  it('of an engine: its queries, live', async () => {
    const inspector = await open();
    const onlooker = new Onlooker(inspector.url);
    createActor(counter, { inspect: inspector.inspect }).start();
    await onlooker.until(isOf('counter'));
    await tell({
      script: { replies: [callTool('Read', { file_path: 'a.txt' }), say('done')] },
      begin: (engine) => void inspector.attach(engine),
    });
    const { sessionId } = (await onlooker.until(isOf('query'))) as Registered;
    const isOver = (event: Heard) => event.type === 'service.stop' && event.sessionId === sessionId;
    await onlooker.until(isOver);
    const states = onlooker.of('service.state').filter((event) => event.sessionId === sessionId);
    const places = states.map(({ state }) => JSON.stringify(state.value));
    for (const at of ['{"sampling":"streaming"}', '{"toolRun":"attaching"}', '"terminal"']) {
      expect(places).toContain(at);
    }
  });
  it('holds no secrets: those of the environment, those with a name, those of the host', async () => {
    const inspector = await open({
      environment: { MY_API_KEY: 'value-of-a-key' },
      redact: (value) => JSON.parse(JSON.stringify(value).replaceAll('a host secret', '…')),
    });
    const onlooker = new Onlooker(inspector.url);
    const actor = createActor(counter, { inspect: inspector.inspect }).start();
    await onlooker.until(isOf('counter'));
    actor.send({ type: 'add', why: 'it says value-of-a-key', token: 'Bearer abcdefghijkl' });
    await onlooker.until((e) => e.type === 'service.state' && e.state.context.count === 1);
    const all = JSON.stringify(onlooker.heard);
    for (const secret of ['open sesame', 'a host secret', 'value-of-a-key', 'abcdefghijkl']) {
      expect(all).not.toContain(secret);
    }
    expect(all).toContain('it says [redacted]');
    actor.stop();
  });
  it('may be answered with events only where `send` was allowed', async () => {
    for (const send of [false, true]) {
      const inspector = await open({ send });
      const onlooker = new Onlooker(inspector.url);
      const actor = createActor(counter, { inspect: inspector.inspect }).start();
      const { sessionId } = (await onlooker.until(isOf('counter'))) as Registered;
      const event = JSON.stringify({ data: { type: 'add' }, origin: sessionId });
      onlooker.receiver.send({ type: 'xstate.event', event, service: sessionId });
      onlooker.receiver.send({ type: 'xstate.inspecting' }); // answered after the event was heard
      const isAgain = (heard: Heard) =>
        isOf('counter')(heard) && heard !== onlooker.heard.find(isOf('counter'));
      const again = (await onlooker.until(isAgain)) as Registered;
      expect(again.state.context.count).toBe(send ? 1 : 0);
      actor.stop();
    }
  });
  it('takes events by the rule of the page, writes them down, and none of a page of another site', async () => {
    const guest = 'https://stately.ai';
    const inspector = await open({ send: true, v4Origins: [guest] });
    const actor = createActor(counter, { inspect: inspector.inspect }).start();
    const place = `ws://${receiverAddress(inspector.url)}`;
    const opened = async (headers: Record<string, string>) => {
      const socket = new WebSocket(place, { headers });
      await new Promise((resolve) => void socket.on('open', resolve));
      return socket;
    };
    const heardBy = async (socket: WebSocket, types: readonly string[]) => {
      const event = (type: string) => JSON.stringify({ data: { type }, origin: actor.sessionId });
      for (const type of types) {
        socket.send(JSON.stringify({ type: 'xstate.event', event: event(type) }));
      }
      const answered = new Promise((resolve) => void socket.once('message', resolve));
      socket.send('{"type":"xstate.inspecting"}'); // answered after all that was sent
      await answered;
      socket.terminate();
    };
    await heardBy(await opened({ origin: guest, 'sec-fetch-site': 'cross-site' }), ['add']);
    expect(actor.getSnapshot().context.count).toBe(0);
    await heardBy(await opened({}), ['add', 'unheard.of']);
    expect(actor.getSnapshot().context.count).toBe(1);
    let lines = '';
    for await (const line of inspector.recording()) lines += line;
    const said = lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind?: string; what?: string })
      .filter(({ kind }) => kind === 'control');
    expect(said.map(({ what }) => what)).toEqual(['add']);
    actor.stop();
  });
});

describe('the end', () => {
  it('closing lets the tools go', async () => {
    const inspector = await open();
    const socket = new WebSocket(`ws://${receiverAddress(inspector.url)}`);
    await new Promise((resolve) => void socket.on('open', resolve));
    const closed = new Promise((resolve) => void socket.on('close', resolve));
    await inspector.close();
    await closed;
  });
  it('a tool that looks on does not keep a program alive', async () => {
    const program = fileURLToPath(new URL('./looked-at.ts', import.meta.url));
    const root = fileURLToPath(new URL('../../../', import.meta.url));
    const script = `
      const { runnerImport } = await import('vite');
      await runnerImport(${JSON.stringify(program)}, { root: ${JSON.stringify(root)} });
    `;
    const ended = new Promise<number>((resolve, reject) => {
      const args = ['--input-type=module', '--eval', script];
      const child = execFile(process.execPath, args, { cwd: root }, () => {});
      child.on('exit', (code) => resolve(code ?? -1));
      child.stdout?.on('data', (text: string) => {
        const url = /http:\S+/.exec(text)?.[0];
        if (!url) return;
        const socket = new WebSocket(`ws://${receiverAddress(url)}`);
        socket.on('message', () => child.stdin?.end('go\n'));
        socket.on('open', () => socket.send('{"type":"xstate.inspecting"}'));
        socket.on('error', reject);
      });
    });
    expect(await ended).toBe(0);
  });
});
