import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeHooks } from '../../../services/hooks/merge.ts';
import type { HookOutcome, HookResult } from '../../../services/hooks/outcome.ts';
import type { HookRegistration } from '../../../services/hooks/registration.ts';
import { type HookEvent, type HookOutput, hookEvents } from '../../../services/hooks/types.ts';

const hook = (
  event: HookEvent,
  onFailure: 'continue' | 'block' = 'continue',
  source: 'user' | 'managed' = 'user',
): HookRegistration => ({
  kind: 'command',
  event,
  source,
  matches: () => true,
  timeoutMs: 1_000,
  onFailure,
  command: 'guard',
  condition: undefined,
  isAsync: false,
});
const said = (output: HookOutput): HookOutcome => ({ kind: 'said', output, complaints: [] });
const result = (event: HookEvent, outcome: HookOutcome): HookResult => ({
  hook: hook(event),
  outcome,
});

const word = fc.constantFrom('a', 'b', 'c');
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
const output = (event: HookEvent): fc.Arbitrary<HookOutput> =>
  fc
    .record({
      continue: maybe(fc.boolean()),
      stopReason: maybe(word),
      decision: maybe(fc.constantFrom('approve' as const, 'block' as const)),
      reason: maybe(word),
      systemMessage: maybe(word),
      hookSpecificOutput: maybe(
        fc.record({
          hookEventName: fc.constantFrom(event, event, 'Stop'),
          permissionDecision: maybe(fc.constantFrom('allow', 'deny', 'ask', 'defer')),
          permissionDecisionReason: maybe(word),
          updatedInput: maybe(fc.record({ x: word })),
          additionalContext: maybe(word),
          updatedToolOutput: maybe(word),
        }),
      ),
    })
    .map((raw) => JSON.parse(JSON.stringify(raw)) as HookOutput);
const outcome = (event: HookEvent): fc.Arbitrary<HookOutcome> =>
  fc.oneof(
    output(event).map(said),
    word.map((reason): HookOutcome => ({ kind: 'objected', reason })),
    word.map((text): HookOutcome => ({ kind: 'context', text })),
    fc.constant<HookOutcome>({ kind: 'silent' }),
    fc.constant<HookOutcome>({ kind: 'aborted' }),
    word.map((detail): HookOutcome => ({ kind: 'failed', detail })),
  );
const results = fc.constantFrom(...hookEvents).chain((event) =>
  fc.record({
    event: fc.constant(event),
    results: fc.array(
      fc.record({
        hook: fc
          .constantFrom('continue' as const, 'block' as const)
          .map((onFailure) => hook(event, onFailure)),
        outcome: outcome(event),
      }),
      { maxLength: 6 },
    ),
  }),
);
const sorted = (texts: readonly string[]) => [...texts].sort();

describe('the merge', () => {
  it('does not depend on the order, but for what the last one or the first one says', () => {
    fc.assert(
      fc.property(results, fc.infiniteStream(fc.nat()), ({ event, results: all }, order) => {
        const keys = all.map(() => order.next().value as number);
        const shuffled = all
          .map((one, i) => ({ one, key: keys[i] ?? 0 }))
          .sort((a, b) => a.key - b.key)
          .map(({ one }) => one);
        const [a, b] = [mergeHooks(event, all), mergeHooks(event, shuffled)];
        expect(a.permission?.decision).toBe(b.permission?.decision);
        expect(sorted(a.permission?.reason.split('\n') ?? [])).toEqual(
          sorted(b.permission?.reason.split('\n') ?? []),
        );
        expect(a.prevented === undefined).toBe(b.prevented === undefined);
        expect(sorted(a.blocked)).toEqual(sorted(b.blocked));
        expect(sorted(a.additionalContext)).toEqual(sorted(b.additionalContext));
        expect(sorted(a.warnings)).toEqual(sorted(b.warnings));
        expect(a.updatedInput === undefined).toBe(b.updatedInput === undefined);
      }),
    );
  });

  it('one more hook never makes it laxer', () => {
    const strictness = ['allow', 'ask', 'defer', 'deny'];
    fc.assert(
      fc.property(results, ({ event, results: all }) => {
        const before = mergeHooks(event, all.slice(1));
        const after = mergeHooks(event, all);
        const rank = (decision: string | undefined) => strictness.indexOf(decision ?? '');
        expect(rank(after.permission?.decision)).toBeGreaterThanOrEqual(
          rank(before.permission?.decision),
        );
        expect(after.blocked).toEqual(expect.arrayContaining([...before.blocked]));
        if (before.prevented) expect(after.prevented).toBeDefined();
      }),
    );
  });

  it('a hook that fails closed never lets a tool pass by failing', () => {
    const bad = fc.constantFrom<HookOutcome>(
      { kind: 'failed', detail: 'x' },
      { kind: 'aborted' },
      { kind: 'objected', reason: '' },
      { kind: 'said', output: {}, complaints: ['decision: wrong'] },
    );
    fc.assert(
      fc.property(bad, fc.array(outcome('PreToolUse'), { maxLength: 4 }), (one, others) => {
        for (const guard of [
          hook('PreToolUse', 'block'),
          hook('PreToolUse', 'continue', 'managed'),
        ]) {
          const all = [
            ...others.map((other) => result('PreToolUse', other)),
            { hook: guard, outcome: one },
          ];
          expect(mergeHooks('PreToolUse', all).permission?.decision).toBe('deny');
        }
      }),
    );
  });

  it('events that only listen are not stopped, blocked or fed', () => {
    for (const event of ['SessionEnd', 'StopFailure', 'Notification'] as const) {
      const verdict = mergeHooks(event, [
        result(event, { kind: 'objected', reason: 'no' }),
        result(event, said({ continue: false, decision: 'block', systemMessage: 'hello' })),
      ]);
      expect(verdict).toEqual({
        blocked: [],
        additionalContext: [],
        warnings: [`${event} hook \`guard\` objects: no`, 'hello'],
      });
    }
  });

  it.each<[HookOutput, string]>([
    [{ decision: 'block', reason: 'old' }, 'deny'],
    [{ decision: 'approve' }, 'allow'],
    [{ decision: 'block', hookSpecificOutput: { permissionDecision: 'allow' } }, 'deny'],
    [{ hookSpecificOutput: { permissionDecision: 'defer' } }, 'defer'],
  ])('before a tool %j means %s', (answer, decision) => {
    const verdict = mergeHooks('PreToolUse', [result('PreToolUse', said(answer))]);
    expect(verdict.permission?.decision).toBe(decision);
    expect(verdict.blocked).toEqual([]);
  });

  it('deny > defer > ask > allow, with the reasons of the strictest', () => {
    const words = ['allow', 'ask', 'defer', 'deny'] as const;
    const votes = words.map((permissionDecision) =>
      result(
        'PreToolUse',
        said({
          hookSpecificOutput: { permissionDecision, permissionDecisionReason: permissionDecision },
        }),
      ),
    );
    for (const [i, decision] of words.entries()) {
      const { permission } = mergeHooks('PreToolUse', votes.slice(0, i + 1));
      expect(permission).toEqual({ decision, reason: decision });
    }
  });

  it('of two inputs the last counts, and it is said; the same twice is no quarrel', () => {
    const edit = (x: string) =>
      result('PreToolUse', said({ hookSpecificOutput: { updatedInput: { x } } }));
    const two = mergeHooks('PreToolUse', [edit('a'), edit('b')]);
    expect(two.updatedInput).toEqual({ x: 'b' });
    expect(two.warnings).toHaveLength(1);
    expect(mergeHooks('PreToolUse', [edit('a'), edit('a')]).warnings).toEqual([]);
  });

  it('an output may be replaced by an empty text; null is no replacement', () => {
    const verdict = mergeHooks('PostToolUse', [
      result('PostToolUse', said({ hookSpecificOutput: { updatedToolOutput: null } })),
    ]);
    expect('updatedToolOutput' in verdict).toBe(false);
    const empty = mergeHooks('PostToolUse', [
      result('PostToolUse', said({ hookSpecificOutput: { updatedMCPToolOutput: '' } })),
    ]);
    expect(empty.updatedToolOutput).toBe('');
  });

  it('an answer for another event is not heard, and it is said', () => {
    const verdict = mergeHooks('PreToolUse', [
      result(
        'PreToolUse',
        said({ hookSpecificOutput: { hookEventName: 'PostToolUse', permissionDecision: 'deny' } }),
      ),
    ]);
    expect(verdict.permission).toBeUndefined();
    expect(verdict.warnings[0]).toContain('answered for PostToolUse');
  });

  it('the same reason is said once', () => {
    const no = result('Stop', { kind: 'objected', reason: 'tests fail' });
    expect(mergeHooks('Stop', [no, no]).blocked).toEqual(['tests fail']);
  });
});
