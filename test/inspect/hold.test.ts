/** Breakpoints: held before a state, step by step, and on; an abort works all the time. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Command, CommandAnswer } from '../../src/inspect/protocol.ts';
import {
  type Inspector,
  type InspectorOptions,
  startInspector,
} from '../../src/inspect/start-inspector.ts';
import type { QueryEngine } from '../../src/query-engine.ts';
import { callTool, overloaded, say } from '../../src/testing/replies.ts';
import { tell } from '../tools/story.ts';
import { openPage, type Page } from './page.ts';

let inspector: Inspector;
let page: Page;
afterEach(async () => {
  page.close();
  await inspector.close();
});

async function command(said: Command): Promise<CommandAnswer> {
  const { origin, pathname } = new URL(inspector.url);
  const answer = await fetch(`${inspector.url}command`, {
    method: 'POST',
    headers: {
      ...{ origin, 'content-type': 'application/json' },
      'x-inspector-token': pathname.split('/')[1] ?? '',
    },
    body: JSON.stringify(said),
  });
  return answer.json() as Promise<CommandAnswer>;
}
const heldNow = () => page.controls.at(-1)?.held ?? null;
const isHeld = () => page.until(() => heldNow() !== null);
/** Where the chart stands, as the page knows it. */
const placeNow = () => page.all('step').at(-1)?.to[0];

const begin = async (
  engine: Parameters<typeof startInspector>[0],
  options: Pick<InspectorOptions, 'aloneMs'> = {},
) => {
  inspector = await startInspector(engine, { hold: true, ...options });
  page = openPage(inspector.url);
  await page.hello();
};

/** Runs a turn. @returns why it ended. */
const endOf = async (engine: QueryEngine): Promise<string | undefined> => {
  for await (const said of engine.submitMessage('go')) {
    if (said.type === 'result') return said.terminal_reason;
  }
  return undefined;
};

describe('a breakpoint', () => {
  it('holds before the state is entered, and no deadline runs meanwhile', async () => {
    await tell({
      script: { replies: [say('done')] },
      // Shorter than the test is held: without a clock that stands still the stage would be skipped.
      limits: { requestMs: 400 },
      begin: async (engine, { server }) => {
        await begin(engine);
        const talking = (async () => {
          for await (const _ of engine.submitMessage('go')) {
            // until it is held and let go
          }
        })();
        // A machine that nobody has seen yet has no states to stop before.
        await page.until(() => page.all('step').length > 0);
        await talking;
        expect(await command({ do: 'break', state: 'query.sampling.streaming', on: true })).toEqual(
          {
            ok: true,
          },
        );
        const held = (async () => {
          for await (const said of engine.submitMessage('again')) {
            if (said.type === 'result') return said.terminal_reason;
          }
          return undefined;
        })();
        await isHeld();
        expect(heldNow()).toMatchObject({
          before: 'query.sampling.streaming',
          next: {
            edges: ['query.sampling.requesting|stream.opened|0'],
            to: ['query.sampling.streaming'],
          },
        });
        expect(heldNow()?.waiting[0]).toBe('stream.opened');
        expect(placeNow()).toBe('query.sampling.requesting');
        const requests = server.requests.length;
        await new Promise((resolve) => setTimeout(resolve, 700));
        expect(placeNow()).toBe('query.sampling.requesting');
        expect(page.all('deadline').at(-1)).toMatchObject({ name: 'requestMs', status: 'held' });
        await command({ do: 'go' });
        expect(await held).toBe('completed');
        expect(server.requests.length).toBe(requests); // no second try: nothing ran out
        await command({ do: 'break', state: 'query.sampling.streaming', on: false });
      },
      except: ['view', 'usage', 'stands', 'meter'],
    });
  });

  it('steps: one thing is heard, then it is held again', async () => {
    await tell({
      script: { replies: [say('done'), say('done')] },
      begin: async (engine) => {
        await begin(engine);
        await command({ do: 'hold' });
        const talking = (async () => {
          for await (const said of engine.submitMessage('go')) {
            if (said.type === 'result') return said.terminal_reason;
          }
          return undefined;
        })();
        await isHeld();
        const seen: (string | undefined)[] = [];
        for (let n = 0; n < 6; n += 1) {
          await page.until(() => (heldNow()?.waiting.length ?? 0) > 0);
          seen.push(heldNow()?.waiting[0]);
          const told = page.controls.length;
          await command({ do: 'step' });
          await page.until(() => page.controls.length > told);
        }
        expect(seen.slice(0, 4)).toEqual([
          'start toolExecutor',
          'start toolResultBudget',
          'stage.done',
          'start snip',
        ]);
        await command({ do: 'go' });
        expect(await talking).toBe('completed');
      },
      except: ['view', 'usage', 'stands', 'meter'],
    });
  });

  it('an abort works while it is held', async () => {
    await tell({
      script: { replies: [callTool('Bash', { command: 'true' }), say('later')] },
      begin: async (engine) => {
        await begin(engine);
        await command({ do: 'hold' });
        const talking = (async () => {
          for await (const said of engine.submitMessage('go')) {
            if (said.type === 'result') return said.terminal_reason;
          }
          return undefined;
        })();
        await isHeld();
        engine.interrupt();
        expect(await talking).toBe('aborted_streaming');
        // The next turn is not held for it.
        for await (const said of engine.submitMessage('go on')) {
          if (said.type === 'result') expect(said.terminal_reason).toBe('completed');
        }
      },
      except: ['view', 'usage', 'stands', 'meter'],
    });
  });

  it('holds where a timer leads: the state is entered, and its service does not begin', async () => {
    await tell({
      script: { replies: [overloaded(), say('done')] },
      begin: async (engine, { server }) => {
        await begin(engine);
        const state = 'query.sampling.requesting';
        await command({ do: 'hold' });
        const talking = endOf(engine);
        await isHeld();
        await command({ do: 'break', state, on: true });
        await command({ do: 'go' });
        // by an event: before it is entered
        await page.until(() => heldNow()?.before === state);
        expect(placeNow()).not.toBe(state);
        await command({ do: 'go' });
        // by the timer of `backingOff`
        await page.until(() => page.all('deadline').some(({ name }) => name === 'backoffMs'));
        await page.until(() => heldNow()?.before === state);
        await page.until(() => placeNow() === state);
        expect(heldNow()?.waiting[0]).toBe('start callModel');
        expect(server.requests).toHaveLength(1);
        await command({ do: 'break', state, on: false });
        await command({ do: 'go' });
        expect(await talking).toBe('completed');
        expect(server.requests).toHaveLength(2);
      },
      except: ['view', 'usage', 'stands', 'meter'],
    });
  });

  it('lets the run go on when the page is closed and does not come back', async () => {
    await tell({
      script: { replies: [say('done')] },
      begin: async (engine) => {
        await begin(engine, { aloneMs: 50 });
        await command({ do: 'hold' });
        const talking = endOf(engine);
        await isHeld();
        page.close();
        expect(await talking).toBe('completed');
      },
      except: ['view', 'usage', 'stands', 'meter'],
    });
  });

  it('outlives no page: what is hit when nobody is there goes on, and is not hit again', async () => {
    await tell({
      script: { replies: [say('one'), say('two'), say('three')] },
      begin: async (engine) => {
        await begin(engine, { aloneMs: 50 });
        expect(await endOf(engine)).toBe('completed');
        await page.until(() => page.all('step').length > 0);
        await command({ do: 'break', state: 'query.sampling.streaming', on: true });
        page.close();
        expect(await endOf(engine)).toBe('completed');
        page = openPage(inspector.url);
        const { state } = await page.hello();
        expect(state).toEqual({ breakpoints: [], held: null });
        expect(await endOf(engine)).toBe('completed');
      },
      except: ['view', 'usage', 'stands', 'meter'],
    });
  });

  it('holds nothing after `close`: the engine is let go', async () => {
    await tell({
      script: { replies: [say('one'), say('two')] },
      begin: async (engine) => {
        await begin(engine);
        expect(await endOf(engine)).toBe('completed');
        await page.until(() => page.all('step').length > 0);
        await command({ do: 'break', state: 'query.sampling.streaming', on: true });
        await inspector.close();
        let lines = 0;
        for await (const _ of inspector.recording()) lines += 1;
        expect(await endOf(engine)).toBe('completed');
        let later = 0;
        for await (const _ of inspector.recording()) later += 1;
        expect(later).toBe(lines); // its observers are gone, too
      },
      except: ['view', 'usage', 'stands', 'meter'],
    });
  });

  it('takes back only its own hold: who has come later keeps his', async () => {
    await tell({
      script: { replies: [say('one')] },
      begin: async (engine) => {
        const first = await startInspector(engine, { hold: true });
        await begin(engine);
        const { hold } = engine;
        await first.close();
        expect(engine.hold).toBe(hold);
        await command({ do: 'hold' });
        const ended = endOf(engine);
        await isHeld();
        await command({ do: 'go' });
        expect(await ended).toBe('completed');
        await inspector.close();
        expect(engine.hold).toBeUndefined();
      },
      except: ['view', 'usage', 'stands', 'meter'],
    });
  });

  it('what waits is heard in its order when it goes on, and looked at one by one', async () => {
    await tell({
      script: { replies: [callTool('Bash', { command: 'true' }), say('done')] },
      begin: async (engine) => {
        await begin(engine);
        await command({ do: 'hold' });
        const talking = endOf(engine);
        await isHeld();
        await command({ do: 'step' });
        await page.until(() => page.all('step').length > 0);
        await command({ do: 'break', state: 'query.toolRun', on: true });
        await command({ do: 'go' });
        await page.until(() => heldNow()?.before === 'query.toolRun');
        await page.until(() => (heldNow()?.waiting.length ?? 0) > 1);
        const waiting = (heldNow()?.waiting ?? []).filter((what) => !what.startsWith('start '));
        await command({ do: 'break', state: 'query.toolRun', on: false });
        await command({ do: 'go' });
        expect(await talking).toBe('completed');
        // the page hears of it later, and all of it in order
        await page.until(() => page.all('message').some(({ effect }) => effect === 'ends'));
        const went = page.all('control').findLast(({ did }) => did === 'wentOn')?.seq ?? 0;
        const heard = page.all('step').filter(({ seq }) => seq > went);
        expect(heard.slice(0, waiting.length).map(({ event }) => event)).toEqual(waiting);
      },
      except: ['view', 'usage', 'stands', 'meter'],
    });
  });

  it('nobody may hold what was not opened for it', async () => {
    await tell({
      script: { replies: [say('done')] },
      begin: async (engine) => {
        inspector = await startInspector(engine, { send: true });
        page = openPage(inspector.url);
        expect((await page.hello()).control).toEqual({ hold: false, send: true });
        expect(await command({ do: 'hold' })).toMatchObject({ ok: false });
      },
    });
  });
});
