/**
 * The host says stop, wherever the engine is: the turn ends at once with the right reason, nothing
 * runs on, every call has an answer, what was used is billed, and the next prompt works.
 */
import { execFileSync } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { QueryEngine } from '../../../src/query-engine.ts';
import {
  callTool,
  computed,
  message,
  overloaded,
  type Step,
  say,
  silent,
  text,
  tooLong,
} from '../../../src/testing/index.ts';
import { summing } from '../../tools/gates.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { heard, lineOf, type Place, type Story, tell } from '../../tools/story.ts';

/** How long a process that was killed may take to go. What a stop does not end outlasts the test. */
const GONE_MS = 10_000;

/** Seconds that no other test sleeps: by them its processes are found. */
let naps = 0;
const nap = () => `361.${process.pid}${naps++}`;
const alive = (seconds: string) =>
  execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(`sleep ${seconds}`)).length;
const until = async (holds: () => boolean) => {
  for (let waited = 0; !holds() && waited < GONE_MS; waited += 20) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return holds();
};
/** The request that is never answered has arrived. */
const atTheServer = ({ server }: Place) =>
  server.until((entry) => entry.type === 'reply' && entry.verdict === 'silence');
const settle = () => new Promise((resolve) => setTimeout(resolve, 40));

interface Point extends Pick<Story, 'options' | 'config' | 'limits'> {
  readonly replies: readonly Step[];
  readonly compactions?: readonly Step[];
  readonly before?: readonly string[];
  /** The line after which the host says stop. */
  readonly at: string;
  readonly ready?: (place: Place) => Promise<unknown>;
  readonly reason: 'aborted_streaming' | 'aborted_tools';
  /** Of a process that runs then. */
  readonly nap?: string;
}
/** Sleeps in the first turn only. */
const sleepyHook = (event: string, seconds: string) => {
  const command = `[ -e slept ] || { touch slept; sleep ${seconds}; true; }`;
  return { settings: { hooks: { [event]: [{ hooks: [{ type: 'command', command }] }] } } };
};
const [inBash, inStop, inPre] = [nap(), nap(), nap()] as const;

/** A connection that does not come about; what `fetch` says of an abort is no Error of Node. */
const connectsOnce = (): typeof fetch => {
  let isFirst = true;
  return (url, init) => {
    if (!isFirst) return fetch(url, init);
    isFirst = false;
    return new Promise((_, reject) => {
      const abort = () => reject(new DOMException('This operation was aborted', 'AbortError'));
      init?.signal?.addEventListener('abort', abort);
    });
  };
};

const points: Record<string, Point> = {
  'it waits to try again': {
    replies: [overloaded({ headers: { 'retry-after': '30' } })],
    at: 'retry 1/10 529 529 overloaded_error: Overloaded',
    reason: 'aborted_streaming',
  },
  'it connects': {
    replies: [],
    config: (config) => ({ ...config, model: { ...config.model, fetch: connectsOnce() } }),
    at: 'status requesting',
    ready: settle,
    reason: 'aborted_streaming',
  },
  'no headers have come': {
    replies: [silent()],
    at: 'status requesting',
    ready: atTheServer,
    reason: 'aborted_streaming',
  },
  'a block is half said': {
    replies: [
      message([text('Kept. '), text('lost')], {
        fault: { kind: 'stall', after: { block: 1, delta: 0 } },
      }),
    ],
    options: { includePartialMessages: true },
    at: 'delta "lost"',
    reason: 'aborted_streaming',
  },
  'a person is asked': {
    replies: [callTool('Bash', { command: 'touch asked' })],
    options: {
      permissionMode: 'default',
      canUseTool: () => new Promise(() => {}),
    },
    at: 'state requires_action',
    reason: 'aborted_tools',
  },
  'a process tree runs': {
    replies: [callTool('Bash', { command: `sleep ${inBash} & (sleep ${inBash}; true); wait` })],
    at: `model calls Bash {"command":"sleep ${inBash} & (sleep ${inBash}; true); wait"}`,
    ready: () => until(() => alive(inBash) >= 2),
    reason: 'aborted_tools',
    nap: inBash,
  },
  'a hook before a tool runs': {
    replies: [callTool('Bash', { command: 'touch hooked' })],
    options: sleepyHook('PreToolUse', inPre),
    at: 'model calls Bash {"command":"touch hooked"}',
    ready: () => until(() => alive(inPre) > 0),
    reason: 'aborted_tools',
    nap: inPre,
  },
  'a summary is made': {
    before: [`remember ${'x'.repeat(40_000)}`, 'and this'],
    replies: [say('Noted.'), say('Noted, too.'), tooLong()],
    compactions: [silent()],
    at: 'status compacting',
    ready: atTheServer,
    reason: 'aborted_streaming',
  },
  'a stop hook runs': {
    replies: [say('Done.')],
    options: sleepyHook('Stop', inStop),
    at: 'model says "Done."',
    ready: () => until(() => alive(inStop) > 0),
    reason: 'aborted_streaming',
    nap: inStop,
  },
};

function stopAt(point: Point, stop: (engine: QueryEngine) => void) {
  let isStopped = false;
  let isLooked = false;
  return tell({
    gates: summing,
    script: {
      replies: [...point.replies, say('And now?')],
      ...(point.compactions ? { compactions: point.compactions } : {}),
    },
    prompts: [...(point.before ?? []), 'do it', 'something else'],
    ...(point.options ? { options: point.options } : {}),
    ...(point.config ? { config: point.config } : {}),
    during: async (said, engine, place) => {
      if (!isStopped && lineOf(said) === point.at) {
        await point.ready?.(place);
        isStopped = true;
        stop(engine);
      }
      if (!isLooked && isStopped && said.type === 'result') {
        isLooked = true;
        const { nap: seconds } = point;
        if (seconds !== undefined) expect(await until(() => alive(seconds) === 0)).toBe(true);
      }
    },
  });
}

describe('an interrupt while', () => {
  for (const [name, point] of Object.entries(points)) {
    it(`TOOL-07 ${name}`, async () => {
      const told = await stopAt(point, (engine) => {
        engine.interrupt();
        engine.interrupt(); // a second one is one too many, and harmless
      });
      const stopped = told.results.at(-2);
      expect(stopped).toMatchObject({
        terminal_reason: point.reason,
        subtype: 'error_during_execution',
      });
      expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'And now?' });
      expect(told.requests.map(heard).at(-1)?.at(-1)).toContain('something else');
      expect(existsSync(join(told.cwd, 'asked')) || existsSync(join(told.cwd, 'hooked'))).toBe(
        false,
      );
    });
  }
});

describe('other ways to stop', () => {
  it('a host that aborts its own controller, on which nothing is left', async () => {
    const abortController = new AbortController();
    const told = await tell({
      script: { replies: [silent()] },
      options: { abortController },
      during: async (said, _, place) => {
        if (lineOf(said) !== 'status requesting') return;
        await atTheServer(place);
        abortController.abort('the window was closed');
      },
    });
    expect(told.last.terminal_reason).toBe('aborted_streaming');
    expect(told.last.errors).toEqual(['Interrupted: the window was closed']);
    expect(getEventListeners(abortController.signal, 'abort')).toEqual([]);
  });

  it('a host that leaves the generator: what runs is stopped, and the session goes on', async () => {
    const seconds = nap();
    const command = `sleep ${seconds}; true`;
    await tell({
      script: { replies: [callTool('Bash', { command }), say('And now?')] },
      prompts: ['say something else'],
      // The first turn is left in the middle; the harness then tells the second one.
      config: (config, place) => ({ ...config, cwd: place.cwd }),
      begin: async (engine) => {
        for await (const said of engine.submitMessage('do it')) {
          if (lineOf(said) !== `model calls Bash ${JSON.stringify({ command })}`) continue;
          expect(await until(() => alive(seconds) > 0)).toBe(true);
          break;
        }
        expect(await until(() => alive(seconds) === 0)).toBe(true);
      },
      except: ['view', 'usage', 'stands', 'meter'],
      check: ({ last, requests }) => {
        expect(last.terminal_reason).toBe('completed');
        expect(requests.map(heard).at(-1)?.at(-1)).toContain('say something else');
      },
    });
  });

  it('an answer that comes after the abort changes nothing', async () => {
    let allow = (_: { behavior: 'allow' }) => {};
    const told = await tell({
      script: { replies: [callTool('Bash', { command: 'touch late' }), say('And now?')] },
      options: {
        permissionMode: 'default',
        canUseTool: () =>
          new Promise((resolve) => {
            allow = resolve;
          }),
      },
      prompts: ['do it', 'something else'],
      during: async (said, engine) => {
        if (lineOf(said) === 'state requires_action') engine.interrupt();
        if (said.type !== 'result') return;
        allow({ behavior: 'allow' });
        await settle();
      },
      check: ({ cwd }) => expect(existsSync(join(cwd, 'late'))).toBe(false),
    });
    expect(told.results.map((r) => r.terminal_reason)).toEqual(['aborted_tools', 'completed']);
    expect(told.requests.map(heard).at(-1)?.at(-1)).toMatch(/interrupted/);
  });
});

describe('an end in the middle', () => {
  it('an interrupt while a hook looks at the prompt: aborted, nothing was asked', async () => {
    const seconds = nap();
    const told = await tell({
      script: { replies: [say('And now?')] },
      options: sleepyHook('UserPromptSubmit', seconds),
      prompts: ['do it', 'something else'],
      begin: (engine) => {
        void until(() => alive(seconds) > 0).then(() => engine.interrupt());
      },
    });
    expect(told.results.map((r) => r.terminal_reason)).toEqual(['aborted_streaming', 'completed']);
    expect(told.requests.length).toBe(1);
    expect(await until(() => alive(seconds) === 0)).toBe(true);
  });

  it('close() while a tool runs ends the turn and the process', async () => {
    const seconds = nap();
    const told = await tell({
      script: { replies: [callTool('Bash', { command: `sleep ${seconds}; true` })] },
      during: async (said, engine) => {
        if (!lineOf(said).startsWith('model calls')) return;
        await until(() => alive(seconds) > 0);
        void engine.close();
      },
    });
    expect(told.last.terminal_reason).toBe('aborted_tools');
    expect(await until(() => alive(seconds) === 0)).toBe(true);
  });
});

describe('TOOL-08 listeners', () => {
  it('do not pile up over 300 rounds of three calls', async () => {
    const abortController = new AbortController();
    let most = 0;
    const told = await tell({
      script: {
        replies: [
          computed(
            (_, n) =>
              message(
                [1, 2, 3].map((call) => ({ type: 'tool_use', name: 'Look', input: { n, call } })),
              ),
            { times: 300 },
          ),
          say('Done.'),
        ],
      },
      options: { abortController },
      config: () => ({ tools: [hostTool('Look', ({ n }) => `seen ${n}`)], persistSession: false }),
      during: () => {
        const { length } = getEventListeners(abortController.signal, 'abort');
        most = Math.max(most, length);
      },
    });
    expect(told.last).toMatchObject({ terminal_reason: 'completed', num_turns: 301 });
    expect(most).toBeLessThanOrEqual(2);
  }, 120_000);
});
