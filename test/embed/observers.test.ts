/**
 * MACH-04, MACH-06. Who only looks on cannot break a run, whatever it throws; our own parts that
 * throw end it with a reason; and what comes after the end is no event any more.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AnyActor, InspectionEvent } from 'xstate';
import type { QueryDeps } from '../../src/deps.ts';
import { callTool, say } from '../../src/testing/index.ts';
import { hostTool } from '../tools/host-tool.ts';
import { type Story, type Told, tell } from '../tools/story.ts';

const bug = (): never => {
  throw new Error('a bug of the host');
};
const story: Story = {
  script: { replies: [callTool('Look'), say('done')] },
  config: () => ({ tools: [hostTool('Look', () => 'seen')] }),
};
const outcome = ({ last, transitions, requests }: Told) => [
  last.terminal_reason,
  last.subtype === 'success' ? last.result : last.errors[0],
  transitions,
  requests.length,
];
const good = ['completed', 'done', ['next_turn'], 2];
const warningsIn = (told: Told) => told.lines.filter((line) => line.includes('a bug of the host'));

/** What nobody has caught. In a program of the host's it would be the end. */
const uncaught: unknown[] = [];
const catchAll = (error: unknown): void => void uncaught.push(error);
const names = ['uncaughtException', 'unhandledRejection'] as const;
let kept: readonly (readonly [(typeof names)[number], readonly (() => void)[]])[] = [];
beforeAll(() => {
  kept = names.map((name) => [name, process.listeners(name as never) as (() => void)[]]);
  for (const name of names) process.removeAllListeners(name).on(name, catchAll);
});
afterAll(() => {
  for (const [name, listeners] of kept) {
    process.removeAllListeners(name);
    for (const listener of listeners) process.on(name, listener);
  }
});
afterEach(() => void uncaught.splice(0));
const turnOfTheLoop = () => new Promise((resolve) => setTimeout(resolve, 5));

describe('MACH-04 who looks on and throws', () => {
  it('an inspector that throws from its third call on: told once, changes nothing', async () => {
    let calls = 0;
    const told = await tell({
      ...story,
      begin: (engine) => {
        const own = engine.inspect;
        engine.inspect = (event) => {
          own?.(event);
          calls += 1;
          if (calls >= 3) bug();
        };
      },
    });
    expect(outcome(told)).toEqual(good);
    expect(warningsIn(told)).toHaveLength(1);
    expect(calls).toBeGreaterThan(20); // it is still told of everything
    expect(uncaught).toEqual([]);
  });
  it('an observer of the engine that throws: told once, changes nothing', async () => {
    const told = await tell({ ...story, begin: (engine) => void engine.observe(bug) });
    expect(outcome(told)).toEqual(good);
    expect(warningsIn(told).length).toBeLessThanOrEqual(1);
    expect(uncaught).toEqual([]);
  });
  it("a subscriber of the chart's own actor: XState says so to the process, the run goes on", async () => {
    let [snapshots, words] = [0, 0];
    const watch = (event: InspectionEvent) => {
      if (event.type !== '@xstate.actor' || event.actorRef.sessionId !== event.rootId) return;
      const actor = event.actorRef as AnyActor;
      actor.subscribe(() => {
        snapshots += 1;
        if (snapshots === 3) bug();
      });
      actor.on('*', () => {
        words += 1;
        if (words === 1) bug();
      });
    };
    const told = await tell({
      ...story,
      begin: (engine) => {
        const own = engine.inspect;
        engine.inspect = (event) => {
          own?.(event);
          watch(event);
        };
      },
    });
    await turnOfTheLoop();
    expect(outcome(told)).toEqual(good);
    expect(snapshots).toBeGreaterThan(3);
    expect(uncaught.splice(0).map(String)).toEqual([
      'Error: a bug of the host',
      'Error: a bug of the host',
    ]);
  });
  it('a host whose loop throws has left: everything is stopped, and the next prompt works', async () => {
    const told = await tell({
      ...story,
      script: { replies: [callTool('Look'), say('never read'), say('done')] },
      begin: async (engine) => {
        const read = async () => {
          for await (const message of engine.submitMessage('first')) {
            if (message.type === 'assistant') bug();
          }
        };
        await expect(read()).rejects.toThrow('a bug of the host');
      },
      // nobody has read the first turn to its result
      except: ['script', 'usage', 'meter', 'view', 'stands', 'answered'],
    });
    expect(told.last.terminal_reason).toBe('completed');
    expect(uncaught).toEqual([]);
  });
});

describe('MACH-04 parts of ours that throw', () => {
  const broken: Record<string, Partial<QueryDeps>> = {
    uuid: { uuid: bug },
    'the clock': { now: bug },
    microcompact: { microcompact: bug },
    'stop hooks that reject with undefined': { stopHooks: () => Promise.reject() },
  };
  const withDeps = (deps: Partial<QueryDeps>): Promise<Told> =>
    tell({
      ...story,
      config: () => ({ tools: [hostTool('Look', () => 'seen')], deps }),
      except: ['script', 'usage', 'view', 'stands', 'answered', 'warnings'],
    });
  it.each(Object.entries(broken))('%s: one result, an error, nothing hangs', async (_, deps) => {
    const told = await withDeps(deps);
    expect(told.results).toHaveLength(1);
    expect(told.last).toMatchObject({ is_error: true });
    await turnOfTheLoop();
    expect(uncaught).toEqual([]);
  });
  /** A part that throws once, at its nth call. */
  const breaking = (name: 'uuid' | 'now', n: number) => {
    let calls = 0;
    const real = { uuid: () => crypto.randomUUID(), now: () => new Date() }[name];
    const part = () => {
      calls += 1;
      return calls === n ? bug() : real();
    };
    return { deps: { [name]: part }, calls: () => calls };
  };
  it.each(['uuid', 'now'] as const)('%s, at whichever call it breaks: the same', async (name) => {
    const whole = breaking(name, 0);
    await withDeps(whole.deps);
    const places = Array.from({ length: whole.calls() }, (_, n) => n + 1);
    expect(places.length).toBeGreaterThan(10);
    const wrong = await Promise.all(
      places.map(async (n) => {
        const { last, lines, results } = await withDeps(breaking(name, n).deps);
        // an error of the turn; of the call alone; or, once the end is decided, told beside it
        const isTold = lines.some((line) => /^result \(error|^warning .*a bug of/.test(line));
        const said = last.is_error || isTold;
        return results.length === 1 && said ? [] : [`at call ${n}: ${lines.join(' · ')}`];
      }),
    );
    await turnOfTheLoop();
    expect([wrong.flat(), uncaught]).toEqual([[], []]);
  });
  it('a hook of the host that rejects with undefined says so, and the turn goes on', async () => {
    const told = await tell({
      ...story,
      options: { hooks: { Stop: [{ hooks: [() => Promise.reject(undefined)] }] } },
    });
    expect(told.last.terminal_reason).toBe('completed');
    expect(uncaught).toEqual([]);
  });
});

describe('MACH-06 after the end', () => {
  it('aborts, prompts and late results: no throw, no warning, nothing lost', async () => {
    const round: Record<string, unknown> = {};
    round.self = round;
    let lateCall: (() => void) | undefined;
    const late = new Promise<string>((resolve) => {
      lateCall = () => resolve(round as never);
    });
    const actors: AnyActor[] = [];
    const told = await tell({
      script: { replies: [callTool('Slow'), say('and now?')] },
      prompts: ['first', 'second'],
      config: () => ({ tools: [hostTool('Slow', () => late)] }),
      begin: (engine) => {
        const own = engine.inspect;
        engine.inspect = (event) => {
          own?.(event);
          if (event.type === '@xstate.actor') actors.push(event.actorRef as AnyActor);
        };
      },
      during: async (message, engine) => {
        if (message.type === 'assistant' && message.message.content[0]?.type === 'tool_use') {
          engine.interrupt();
        }
        if (message.type !== 'result') return;
        engine.interrupt();
        engine.interrupt();
        lateCall?.();
        await turnOfTheLoop();
      },
      // XState warns of each event to a stopped actor: the story itself fails if it did
    });
    expect(told.results.map((result) => result.terminal_reason)).toEqual([
      'aborted_tools',
      'completed',
    ]);
    expect(told.requests).toHaveLength(2);
    const answers = told.history.filter(({ kind }) => kind === 'tool_result');
    expect(answers).toHaveLength(1); // the call was answered when it was interrupted, and only then
    const active = actors.filter((actor) => actor.getSnapshot().status === 'active');
    expect(active.map(({ id }) => id)).toEqual([]);
    expect(uncaught).toEqual([]);
  });
  it('the session goes on where it was: what stands is there before anything is stopped', async () => {
    let stored = 0;
    const told = await tell({
      script: { replies: [say('one'), say('two')] },
      prompts: ['first', 'second'],
      during: (message, engine) => {
        if (message.type !== 'result') return;
        engine.interrupt();
        stored = engine.messages.length;
        expect(stored).toBeGreaterThanOrEqual(2);
      },
    });
    expect(told.results.map((result) => 'result' in result && result.result)).toEqual([
      'one',
      'two',
    ]);
    const [, second] = told.requests;
    expect(JSON.stringify(second?.body.messages)).toContain('one');
  });
});
