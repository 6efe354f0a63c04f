/** Order and concurrency: what begins when, and that everything comes to an end. */
import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Place, startable } from '../../../../services/tools/executor/schedule.ts';
import type { ToolContext } from '../../../../services/tools/tool.ts';
import { bench, safe, sleep, tool } from './bench.ts';

/** Notes what begins and ends, in order. */
const recorder = () => {
  const notes: string[] = [];
  const body = async ({ tag }: Readonly<Record<string, unknown>>) => {
    notes.push(`+${tag}`);
    await sleep(20);
    notes.push(`-${tag}`);
    return `did ${tag}`;
  };
  return { notes, tools: [tool('ro', body, safe), tool('rw', body)] };
};

describe('the queue', () => {
  it('runs safe calls together, an unsafe one alone, and keeps the order', async () => {
    const { notes, tools } = recorder();
    const at = bench(tools);
    at.add('a', 'ro', { tag: 'a' });
    at.add('b', 'rw', { tag: 'b' });
    at.add('c', 'rw', { tag: 'c' });
    at.add('d', 'ro', { tag: 'd' });
    at.add('e', 'ro', { tag: 'e' });
    expect(await at.drained()).toEqual({ type: 'tools.drained' });
    expect(notes.slice(0, 8)).toEqual(['+a', '-a', '+b', '-b', '+c', '-c', '+d', '+e']);
    for (const id of ['a', 'b', 'c', 'd', 'e']) expect(at.result(id).text).toBe(`did ${id}`);
  });

  it('begins while the model still speaks, and hands on results before the drain', async () => {
    const { tools } = recorder();
    const at = bench(tools);
    at.add('a', 'ro', { tag: 'a' });
    await sleep(60);
    expect(at.types()).toEqual(['tool.result']);
    at.add('b', 'ro', { tag: 'b' });
    await at.drained();
    expect(at.types()).toEqual(['tool.result', 'tool.result', 'tools.drained']);
  });

  it('waits for the drain when streaming is off, also with calls that cannot run', async () => {
    const { notes, tools } = recorder();
    const at = bench(tools, { streaming: false });
    at.add('a', 'ro', { tag: 'a' });
    at.add('x', 'nope', {});
    await sleep(40);
    expect([notes, at.events]).toEqual([[], []]);
    await at.drained();
    expect(at.result('a').text).toBe('did a');
    expect(at.result('x').isError).toBe(true);
  });

  it('serves the face of the seed: completed results, then the remaining ones', async () => {
    const { tools } = recorder();
    const at = bench(tools);
    at.add('a', 'ro', { tag: 'a' });
    await sleep(60);
    const ids = (updates: readonly { message: { toolUseId?: string } }[]) =>
      updates.map(({ message }) => message.toolUseId);
    expect(ids(at.executor.getCompletedResults())).toEqual(['a']);
    expect(at.executor.getCompletedResults()).toEqual([]);
    at.add('b', 'rw', { tag: 'b' });
    at.add('c', 'rw', { tag: 'c' });
    const rest = [];
    for await (const update of at.executor.getRemainingResults()) rest.push(update);
    expect(ids(rest)).toEqual(['b', 'c']);
  });

  it('drains at once when nothing was called, each time it is asked', async () => {
    const at = bench([]);
    await at.drained();
    at.executor.hear({ type: 'tools.drain' });
    await sleep(5);
    expect(at.types()).toEqual(['tools.drained', 'tools.drained']);
  });

  it('TOOL-01 lets siblings live when a call fails', async () => {
    const bad = tool('bad', () => Promise.reject(new Error('exit code 3')), safe);
    const at = bench([bad, ...recorder().tools]);
    at.add('t1', 'bad', { tag: 'x' });
    at.add('t2', 'ro', { tag: 'y' });
    at.add('t3', 'rw', { tag: 'z' });
    await at.drained();
    expect(at.result('t1')).toMatchObject({ isError: true, text: 'bad failed: exit code 3' });
    expect(at.result('t2')).toMatchObject({ isError: false, text: 'did y' });
    expect(at.result('t3')).toMatchObject({ isError: false, text: 'did z' });
  });

  it('waits until it is alone when an edit makes a safe call unsafe', async () => {
    const notes: string[] = [];
    const byTag = {
      isConcurrencySafe: (input: Readonly<Record<string, unknown>>) => input.tag !== 'rw',
    };
    const body = async ({ tag }: Readonly<Record<string, unknown>>) => {
      notes.push(`+${tag}`);
      await sleep(30);
      notes.push(`-${tag}`);
      return 'done';
    };
    const at = bench([tool('t', body, byTag)], {
      runHooks: async (_, fields) => {
        const isEdit = JSON.stringify(fields.tool_input) === '{"tag":"edit"}';
        return {
          ...{ blocked: [], additionalContext: [], warnings: [] },
          ...(isEdit ? { updatedInput: { tag: 'rw' } } : {}),
        };
      },
    });
    at.add('1', 't', { tag: 'a' });
    at.add('2', 't', { tag: 'edit' });
    at.add('3', 't', { tag: 'c' });
    await at.drained();
    const alone = notes.indexOf('+rw');
    expect(notes[alone + 1]).toBe('-rw');
    expect(at.result('2').text).toBe('done');
  });

  it('never starts two that exclude each other (property)', () => {
    const place: fc.Arbitrary<Place> = fc.oneof(
      fc.constant<Place>({ status: 'unparsed' }),
      fc.constant<Place>({ status: 'over' }),
      fc.boolean().map((isSafe): Place => ({ status: 'ready', isSafe })),
      fc.constant<Place>({ status: 'running', isSafe: true, isWaiting: false }),
    );
    fc.assert(
      fc.property(
        fc.array(place, { maxLength: 12 }),
        fc.integer({ min: 1, max: 4 }),
        (places, max) => {
          const starting = startable(places, max);
          const running = places.filter(({ status }) => status === 'running').length;
          const safeOnes = starting.filter((i) => {
            const p = places[i];
            return p?.status === 'ready' && p.isSafe;
          });
          expect(safeOnes.length + running).toBeLessThanOrEqual(Math.max(max, running));
          for (const index of starting) {
            const started = places[index];
            const before = places.slice(0, index);
            expect(started?.status).toBe('ready');
            // nothing overtakes what is or may be unsafe
            expect(
              before.some((p) => p.status === 'unparsed' || (p.status === 'ready' && !p.isSafe)),
            ).toBe(false);
            if (started?.status === 'ready' && !started.isSafe) {
              expect(before.every((p) => p.status === 'over')).toBe(true);
            }
          }
        },
      ),
    );
  });

  it('keeps to ten at a time', async () => {
    let now = 0;
    let most = 0;
    const body = async () => {
      most = Math.max(most, ++now);
      await sleep(5);
      now -= 1;
      return 'ok';
    };
    const at = bench([tool('ro', body, safe)]);
    for (let i = 0; i < 35; i++) at.add(`c${i}`, 'ro', { tag: 'x' });
    await at.drained();
    expect(most).toBe(10);
  });
});

describe('ends', () => {
  it('answers an overdue call although the tool ignores its signal', async () => {
    const deaf = tool('deaf', () => new Promise<string>(() => {}), { deadlineMs: () => 30 });
    const at = bench([deaf, ...recorder().tools], { stoppingMs: 30 });
    at.add('1', 'deaf', { tag: 'x' });
    at.add('2', 'rw', { tag: 'y' });
    await at.drained();
    expect(at.result('1').text).toMatch(/outcome is unknown/);
    expect(at.result('2').text).toBe('did y');
  });

  it('keeps what an overdue tool says when it is told to stop', async () => {
    const polite = tool(
      'polite',
      (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve('half of it'));
        }),
      { deadlineMs: () => 30 },
    );
    const at = bench([polite]);
    at.add('1', 'polite', { tag: 'x' });
    await at.drained();
    expect(at.result('1')).toMatchObject({ isError: true });
    expect(at.result('1').text).toMatch(/No result within 0 seconds.*\nhalf of it$/s);
  });

  it('says nothing more after stop, starts nothing that waits, and resolves with a deaf tool', async () => {
    const started: unknown[] = [];
    const deaf = tool('deaf', ({ tag }) => {
      started.push(tag);
      return new Promise<string>(() => {});
    });
    const at = bench([deaf]);
    at.add('1', 'deaf', { tag: 'a' });
    at.add('2', 'deaf', { tag: 'b' });
    await sleep(10);
    await at.executor.stop();
    at.add('3', 'deaf', { tag: 'c' });
    await sleep(20);
    expect([started, at.events]).toEqual([['a'], []]);
  });

  it('can be used again after a discard, and does not mix the rounds', async () => {
    const slow = tool('slow', async ({ tag }, { signal }) => {
      await sleep(30);
      return `${tag} ${signal.aborted}`;
    });
    const at = bench([slow]);
    at.add('1', 'slow', { tag: 'old' });
    await sleep(5);
    at.executor.hear({ type: 'tools.discard' });
    at.add('2', 'slow', { tag: 'new' });
    await at.drained();
    await sleep(40);
    expect(at.result('2').text).toBe('new false');
    expect(at.types()).toEqual(['tool.result', 'tools.drained']);
  });

  it('TOOL-08 leaves no listeners behind, with 200 calls', async () => {
    const warnings: Error[] = [];
    const hear = (warning: Error) => warnings.push(warning);
    process.on('warning', hear);
    const signals: AbortSignal[] = [];
    const body = (_: unknown, { signal }: ToolContext) => {
      signals.push(signal);
      return 'ok';
    };
    const at = bench([tool('ro', body, safe)]);
    for (let i = 0; i < 200; i++) at.add(`c${i}`, 'ro', { tag: 'x' });
    await at.drained();
    await sleep(5);
    process.off('warning', hear);
    expect(warnings).toEqual([]);
    expect(signals.flatMap((signal) => getEventListeners(signal, 'abort'))).toEqual([]);
  });

  it('tells of long calls', async () => {
    const told: unknown[][] = [];
    const slow = tool('slow', async (_, { progress }) => {
      progress('half way');
      await sleep(60);
      return 'ok';
    });
    const at = bench([slow], {
      progressEveryMs: 10,
      onProgress: (...words) => told.push(words),
    });
    at.add('1', 'slow', { tag: 'x' });
    await at.drained();
    const count = told.length;
    expect(told[0]).toEqual(['1', 'slow', 0, 'half way']);
    await sleep(30);
    expect(told.length).toBe(count);
  });
});

describe('shell commands', () => {
  it('run beside others when they only read, also the first one of a process', async () => {
    const { isReadOnlyCommand } = await import(
      '../../../../services/permissions/shell/read-only.ts'
    );
    let open = 0;
    let most = 0;
    const body = async () => {
      most = Math.max(most, ++open);
      await sleep(20);
      open -= 1;
      return 'ok';
    };
    const shell = tool('sh', body, {
      isConcurrencySafe: (input) => isReadOnlyCommand(String(input.tag)),
      touches: (input) => ({ kind: 'shell', command: String(input.tag) }),
    });
    const at = bench([shell]);
    at.add('1', 'sh', { tag: 'ls' });
    at.add('2', 'sh', { tag: 'git status' });
    await at.drained();
    expect(most).toBe(2);
  });
});
