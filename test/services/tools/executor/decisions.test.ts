/** Hooks, rules and people around a call. */
import { describe, expect, it } from 'vitest';
import type { CanUseTool, PermissionDecision } from '../../../../services/permissions/types.ts';
import type { LedgerCall } from '../../../../services/tools/executor/deps.ts';
import { bench, hooks, safe, sleep, tool } from './bench.ts';

const asks = async (): Promise<PermissionDecision> => ({ behavior: 'ask', because: 'the mode' });
const denies = async (): Promise<PermissionDecision> => ({
  ...{ behavior: 'deny', message: 'Denied by the rule X.', because: 'a rule' },
});
/** A tool that notes what it was run with. */
const noting = () => {
  const ran: unknown[] = [];
  const body = ({ tag }: Readonly<Record<string, unknown>>) => {
    ran.push(tag);
    return `did ${tag}`;
  };
  return { ran, tools: [tool('rw', body), tool('ro', body, safe)] };
};

describe('a person is asked', () => {
  it('once, between person.asked and person.answered, and the edit is what runs and is shown', async () => {
    const { ran, tools } = noting();
    const at = bench(tools, {
      judge: asks,
      canUseTool: async () => ({ behavior: 'allow', updatedInput: { tag: 'edited' } }),
    });
    at.add('t', 'rw', { tag: 'asked' });
    await at.drained();
    expect(ran).toEqual(['edited']);
    expect(at.amendments).toEqual([{ tag: 'edited' }]);
    expect(at.types()).toEqual(['person.asked', 'person.answered', 'tool.result', 'tools.drained']);
    const [asked, answered] = at.events;
    expect(asked).toMatchObject({ toolUseId: 't' });
    expect((answered as { question: string }).question).toBe(
      (asked as { question: string }).question,
    );
  });

  it('keeps the words of a denial and lists it', async () => {
    const { ran, tools } = noting();
    const at = bench(tools, {
      judge: asks,
      canUseTool: async () => ({ behavior: 'deny', message: 'not on a Friday' }),
    });
    at.add('t', 'rw', { tag: 'x' });
    await at.drained();
    expect(at.result('t')).toMatchObject({ text: 'not on a Friday', isError: true });
    expect(at.denials).toEqual([{ tool_name: 'rw', tool_use_id: 't', tool_input: { tag: 'x' } }]);
    expect(ran).toEqual([]);
  });

  it('answers the call before it interrupts, and runs no sibling', async () => {
    const { ran, tools } = noting();
    const at = bench(tools, {
      judge: asks,
      canUseTool: async () => ({ behavior: 'deny', message: 'stop it all', interrupt: true }),
    });
    at.add('1', 'rw', { tag: 'a' });
    at.add('2', 'rw', { tag: 'b' });
    await at.drained();
    expect(at.interrupts).toBe(1);
    expect(at.types().slice(2, 4)).toEqual(['tool.result', 'abort']);
    expect(at.result('1').text).toBe('stop it all');
    expect(at.result('2').text).toMatch(/not run/);
    expect(ran).toEqual([]);
  });

  it.each([
    [
      'throws',
      () => Promise.reject(new Error('host is gone')),
      /Tool permission request failed: host is gone/,
    ],
    [
      'throws at once',
      () => {
        throw new Error('no');
      },
      /Tool permission request failed: no/,
    ],
    ['answers nonsense', async () => 'yes' as never, /Tool permission request failed/],
    [
      'answers an unknown word',
      async () => ({ behavior: 'maybe' }) as never,
      /Tool permission request failed/,
    ],
    [
      'edits into nonsense',
      async () => ({ behavior: 'allow', updatedInput: [1] }) as never,
      /Tool permission request failed/,
    ],
    [
      'edits into a wrong input',
      async () => ({ behavior: 'allow', updatedInput: { no: 1 } }) as never,
      /the host changed its input/,
    ],
  ] as [string, CanUseTool, RegExp][])(
    'does not run when the host %s',
    async (_, canUseTool, words) => {
      const { ran, tools } = noting();
      const at = bench(tools, { judge: asks, canUseTool });
      at.add('t', 'rw', { tag: 'x' });
      await at.drained();
      expect(at.result('t').text).toMatch(words);
      expect(ran).toEqual([]);
    },
  );

  it('HOOK-08 says so when there is nobody, also when a hook asks', async () => {
    const { tools } = noting();
    const at = bench(tools, {
      runHooks: hooks({
        PreToolUse: () => ({ permission: { decision: 'ask', reason: 'policy' } }),
      }),
    });
    at.add('t', 'rw', { tag: 'x' });
    await at.drained();
    expect(at.result('t').text).toMatch(/policy.*nobody/);
    expect(at.denials).toHaveLength(1);
  });

  it('asks for unsafe calls one after the other and for safe ones at once', async () => {
    const { tools } = noting();
    let open = 0;
    const most = { rw: 0, ro: 0 };
    const canUseTool: CanUseTool = async (name) => {
      open += 1;
      most[name as 'rw' | 'ro'] = Math.max(most[name as 'rw' | 'ro'], open);
      await sleep(15);
      open -= 1;
      return { behavior: 'allow' };
    };
    const at = bench(tools, { judge: asks, canUseTool });
    for (const id of ['a', 'b']) at.add(id, 'rw', { tag: id });
    for (const id of ['c', 'd']) at.add(id, 'ro', { tag: id });
    await at.drained();
    expect(most).toEqual({ rw: 1, ro: 2 });
  });

  it('stops waiting for an answer when the query ends', async () => {
    const { ran, tools } = noting();
    let signal: AbortSignal | undefined;
    const canUseTool: CanUseTool = (_, __, options) => {
      signal = options.signal;
      return new Promise(() => {});
    };
    const at = bench(tools, { judge: asks, canUseTool });
    at.add('t', 'rw', { tag: 'x' });
    await sleep(10);
    await at.executor.stop();
    expect(signal?.aborted).toBe(true);
    expect([ran, at.types()]).toEqual([[], ['person.asked']]);
  });

  it('judges an edited input again: nobody edits past a deny rule', async () => {
    const { ran, tools } = noting();
    const at = bench(tools, {
      judge: async (_, input) => (input.tag === 'secret' ? denies() : asks()),
      canUseTool: async () => ({ behavior: 'allow', updatedInput: { tag: 'secret' } }),
    });
    at.add('t', 'rw', { tag: 'x' });
    await at.drained();
    expect(at.result('t').text).toBe('Denied by the rule X.');
    expect(ran).toEqual([]);
  });
});

describe('hooks before a call', () => {
  it('an allow skips the question, but no deny rule and no ask rule', async () => {
    const allow = hooks({ PreToolUse: () => ({ permission: { decision: 'allow', reason: '' } }) });
    const run = async (judge: () => Promise<PermissionDecision>) => {
      const { ran, tools } = noting();
      const at = bench(tools, { runHooks: allow, judge });
      at.add('t', 'rw', { tag: 'x' });
      await at.drained();
      return ran.length;
    };
    expect(await run(asks)).toBe(1);
    expect(await run(denies)).toBe(0);
    expect(await run(async () => ({ ...(await denies()), isUnasked: true }))).toBe(1);
    expect(await run(async () => ({ behavior: 'ask', because: 'a rule', isFirm: true }))).toBe(0);
  });

  it('a denial is the answer', async () => {
    const { ran, tools } = noting();
    const at = bench(tools, {
      runHooks: hooks({ PreToolUse: () => ({ blocked: ['policy says no'] }) }),
    });
    at.add('t', 'rw', { tag: 'x' });
    await at.drained();
    expect(at.result('t')).toMatchObject({ text: 'policy says no', isError: true });
    expect(ran).toEqual([]);
  });

  it('continue: false runs neither this call nor the rest, and stops the turn', async () => {
    const { ran, tools } = noting();
    const at = bench(tools, {
      runHooks: hooks({ PreToolUse: () => ({ prevented: { reason: 'enough' } }) }),
    });
    at.add('1', 'rw', { tag: 'a' });
    at.add('2', 'rw', { tag: 'b' });
    expect(await at.drained()).toEqual({ type: 'tools.stopped' });
    expect(ran).toEqual([]);
    expect(at.result('1').text).toMatch(/enough/);
    expect(at.result('2').text).toMatch(/not run/);
  });

  it('a deferred call stays open, the others are answered', async () => {
    const { ran, tools } = noting();
    const at = bench(tools, {
      runHooks: hooks({
        PreToolUse: ({ tool_use_id: id }) =>
          id === '1' ? { permission: { decision: 'defer', reason: '' } } : {},
      }),
    });
    at.add('1', 'rw', { tag: 'a' });
    at.add('2', 'rw', { tag: 'b' });
    expect(await at.drained()).toEqual({ type: 'tools.deferred', ids: ['1'] });
    expect(at.executor.deferred).toEqual([{ id: '1', name: 'rw', input: { tag: 'a' } }]);
    expect(ran).toEqual(['b']);
    await at.executor.stop();
    expect(at.executor.deferred).toHaveLength(1);
  });

  it('edit the input; a wrong edit does not run', async () => {
    const { ran, tools } = noting();
    const at = bench(tools, {
      runHooks: hooks({
        PreToolUse: ({ tool_use_id: id }) => ({
          updatedInput: id === '1' ? { tag: 'new' } : { x: 1 },
        }),
      }),
    });
    at.add('1', 'rw', { tag: 'old' });
    at.add('2', 'rw', { tag: 'old' });
    await at.drained();
    expect(ran).toEqual(['new']);
    expect(at.amendments).toEqual([{ tag: 'new' }]);
    expect(at.result('2').text).toMatch(/a hook changed its input to a wrong one/);
  });
});

describe('hooks after a call', () => {
  it('replace the output, add context, object', async () => {
    const { tools } = noting();
    const at = bench(tools, {
      runHooks: hooks({
        PreToolUse: () => ({ additionalContext: ['before'] }),
        PostToolUse: () => ({
          updatedToolOutput: 'redacted',
          additionalContext: ['after'],
          blocked: ['lint fails'],
        }),
        PostToolBatch: ({ tool_calls: calls }) => ({
          additionalContext: [`${(calls as unknown[]).length} calls`],
        }),
      }),
    });
    at.add('1', 'rw', { tag: 'a' });
    at.add('2', 'rw', { tag: 'b' });
    await at.drained();
    expect(at.result('1').text).toBe('redacted');
    const texts = at.executor
      .takeContexts()
      .map(({ content: [block] }) => (block?.type === 'text' ? block.text : ''));
    expect(texts).toContain('before');
    expect(texts).toContain('after');
    expect(texts.at(-1)).toBe('2 calls');
    expect(texts.some((text) => text.includes('lint fails'))).toBe(true);
    expect(at.executor.takeContexts()).toEqual([]);
  });

  it('continue: false lets the round run to its end, then stops the turn', async () => {
    const { ran, tools } = noting();
    const at = bench(tools, {
      runHooks: hooks({ PostToolUse: () => ({ prevented: { reason: 'x' } }) }),
    });
    at.add('1', 'rw', { tag: 'a' });
    at.add('2', 'rw', { tag: 'b' });
    expect(await at.drained()).toEqual({ type: 'tools.stopped' });
    expect(ran).toEqual(['a', 'b']);
  });

  it('hear of a failure by its own event', async () => {
    const heard: unknown[] = [];
    const at = bench([tool('bad', () => Promise.reject(new Error('boom')))], {
      runHooks: hooks({
        PostToolUseFailure: ({ error }) => {
          heard.push(error);
          return {};
        },
      }),
    });
    at.add('t', 'bad', { tag: 'x' });
    await at.drained();
    expect(heard).toEqual(['bad failed: boom']);
  });
});

describe('the ledger', () => {
  const ledgerOf = (lines: string[], fails = false) => ({
    started: async ({ id }: LedgerCall) => {
      if (fails) throw new Error('disk full');
      lines.push(`started ${id}`);
    },
    finished: async ({ id }: LedgerCall) => void lines.push(`finished ${id}`),
  });

  it('knows of an unsafe call before it runs, and of no read-only one', async () => {
    const lines: string[] = [];
    const body = () => {
      lines.push('run');
      return 'ok';
    };
    const at = bench([tool('rw', body), tool('ro', body, safe)], { ledger: ledgerOf(lines) });
    at.add('1', 'rw', { tag: 'x' });
    at.add('2', 'ro', { tag: 'x' });
    await at.drained();
    expect(lines).toEqual(['started 1', 'run', 'finished 1', 'run']);
  });

  it('does not run what it cannot write down', async () => {
    const { ran, tools } = noting();
    const at = bench(tools, { ledger: ledgerOf([], true) });
    at.add('1', 'rw', { tag: 'x' });
    await at.drained();
    expect(at.result('1').text).toMatch(/not run.*disk full/);
    expect(ran).toEqual([]);
  });
});
