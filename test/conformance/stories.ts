/**
 * Stories: the chart runs. Each tells what the host saw, what was asked for, and why it ended. As
 * data, so that charts with a mistake in them can be told, too.
 */
import { expect } from 'vitest';
import type { QueryEvent } from '../../machines/events.ts';
import { UNBOUNDED } from '../../machines/limits.ts';
import { outputCap, type QueryState } from '../../machines/state.ts';
import { shortId, waitingNodes } from './chart.ts';
import {
  call,
  fails,
  never,
  noteOf,
  open,
  resultOf,
  say,
  stop,
  summaryOf,
  type Told,
  tell,
  think,
  times,
  type World,
  wait,
  whole,
} from './scripted-world.ts';

export interface ChartStory {
  readonly name: string;
  /** Of the chart that `withChart` says. *Contract:* throws when it is not as told. */
  readonly run: () => Promise<void>;
}
const collected: ChartStory[] = [];
export const stories: readonly ChartStory[] = collected;
let title = '';
const chapter = (name: string, tellAll: () => void) => {
  title = name;
  tellAll();
};
const story = (name: string, run: () => void | Promise<void>) => {
  collected.push({ name: `${title}: ${name}`, run: async () => run() });
};
story.each = <T extends readonly unknown[]>(rows: readonly T[]) => {
  return (name: string, run: (...row: T) => Promise<void>) => {
    for (const row of rows) story(name.replace('%s', String(row[0])), () => run(...row));
  };
};

const brief = ({ reason, requests }: Told) => [reason, requests];
const toolsThenDone = (n: number) =>
  n === 0 ? [open, call('t1'), stop('tool_use')] : whole(n, stop('end_turn'));

chapter('answers', () => {
  story('a plain answer', async () => {
    const told = await tell({ calls: () => [open, think(), say('hello'), stop('end_turn')] });
    expect([...brief(told), told.text, told.answerCount]).toEqual(['completed', 1, 'hello', 1]);
  });
  story('a tool answers while the model still streams, and stands at once', async () => {
    const told = await tell({
      calls: (n) =>
        n === 0
          ? [open, say('look'), call('t1'), 15, say('then'), stop('tool_use')]
          : whole(1, stop('end_turn')),
    });
    expect(told.log).toEqual(['t1 starts', 't1 done', 'next_turn']);
    expect(told.kinds).toEqual(['note', 'text', 'tool_use', 'tool_result', 'text', 'text']);
    const order = told.out.flatMap((word) =>
      word.type === 'agreed' ? [word.messages.map(({ kind }) => kind).join()] : [],
    );
    expect(order.slice(0, 3)).toEqual(['text,tool_use', 'tool_result', 'text']);
  });
  story('200 calls in one answer, with a small state', async () => {
    const calls = Array.from({ length: 200 }, (_, i) => call(`toolu_${i}`));
    let largest = 0;
    const told = await tell({
      calls: (n) => (n === 0 ? [open, ...calls, stop('tool_use')] : whole(1, stop('end_turn'))),
      tool: () => wait(20).then(() => ({})),
      during: (_, __, state) => {
        largest = Math.max(largest, JSON.stringify(state).length);
      },
    });
    expect(brief(told)).toEqual(['completed', 2]);
    expect(told.kinds.filter((kind) => kind === 'tool_result').length).toBe(200);
    expect(largest).toBeLessThan(65_536);
  });
  story('an answer with more blocks than we hold is cut there, and goes on', async () => {
    const told = await tell({
      limits: { blocksMax: 3 },
      calls: (n) => whole(n, call(`a${n}`), say('x'), call(`b${n}`), stop('tool_use')),
    });
    expect(brief(told)).toEqual(['model_error', 4]);
    expect(times(told, 'stream_resume')).toBe(3);
    expect(told.log).not.toContain('b0 starts');
  });
  story('LIM-07 a refusal: one request, and its calls are stopped', async () => {
    const told = await tell({
      calls: () => [open, call('t1'), stop('refusal')],
      tool: never,
    });
    expect([...brief(told), told.stopReason]).toEqual(['refusal', 1, 'refusal']);
    expect(told.messages.at(-1)?.text).toMatch(/interrupted/);
  });
  story('LIM-05 pause_turn for ever: no word of ours in between, then no_progress', async () => {
    const told = await tell({ calls: (n) => whole(n, stop('pause_turn')) });
    expect(brief(told)).toEqual(['no_progress', 11]);
    expect(times(told, 'pause_turn_continuation')).toBe(10);
    expect(told.kinds.filter((kind) => kind === 'note')).toEqual(['note']); // the prompt
  });
  story('LIM-08 nothing said, twice', async () => {
    const told = await tell({ calls: () => [open, stop('end_turn')] });
    expect(brief(told)).toEqual(['empty_output_exhausted', 2]);
  });
  story('announced calls that never come', async () => {
    const told = await tell({ calls: (n) => whole(n, stop('tool_use')) });
    expect([...brief(told), told.text]).toEqual(['malformed_tool_use_exhausted', 3, 'part 2 ']);
  });
});

chapter('the output limit', () => {
  story('LIM-03 cut for ever: escalate once, resume three times', async () => {
    const caps: (number | undefined)[] = [];
    const told = await tell({
      calls: (n, state) => {
        caps.push(state.maxOutputTokensOverride);
        return whole(n, stop('max_tokens'));
      },
    });
    expect([...brief(told), told.text]).toEqual([
      ...['max_output_tokens', 5, 'part 1 part 2 part 3 part 4 '],
    ]);
    expect(told.log).toEqual([
      ...['tombstone', 'max_output_tokens_escalate'],
      ...Array(3).fill('max_output_tokens_recovery'),
      'error',
    ]);
    expect(caps).toEqual([undefined, 64_000, 64_000, 64_000, 64_000]);
  });
  story('counts how often in a row', async () => {
    const told = await tell({ calls: (n) => whole(n, stop('max_tokens')) });
    const attempts = told.out.flatMap((word) => (word.type === 'transition' ? [word.attempt] : []));
    expect(attempts).toEqual([0, 1, 1, 2, 3]);
    expect(told.context.transition).toEqual({ reason: 'max_output_tokens_recovery', attempt: 3 });
  });
  story('LIM-03 a turn gives the tries back', async () => {
    const told = await tell({
      limits: { outputTokens: 64_000 },
      calls: (n) => (n === 3 ? [open, call('t1'), stop('tool_use')] : whole(n, stop('max_tokens'))),
    });
    expect(brief(told)).toEqual(['max_output_tokens', 8]);
  });
  story(
    'RTY-04 cut after a whole call: it runs, nothing is taken back, no escalation',
    async () => {
      const told = await tell({
        calls: (n) =>
          n === 0
            ? [open, say('lead '), call('t1'), stop('max_tokens')]
            : whole(1, stop('end_turn')),
      });
      expect([told.reason, told.text]).toEqual(['completed', 'lead part 1 ']);
      expect(told.log).toEqual(['t1 starts', 't1 done', 'max_output_tokens_recovery']);
      expect(told.context.maxOutputTokensOverride).toBeUndefined();
    },
  );
  story(
    'no escalation to what the budget cannot pay, nor above the model of the hour',
    async () => {
      const told = await tell({
        limits: { usdMax: 4, outputUsdPerToken: 0.001, outputTokens: 8_000 },
        calls: (n) => whole(n, stop('max_tokens')),
      });
      expect(told.transitions).toEqual(Array(3).fill('max_output_tokens_recovery'));
    },
  );
});

chapter('a prompt that is too long', () => {
  const compact = (keep = 1): NonNullable<World['answers']> => ({
    reactiveCompact: (s, _, log) => ({
      type: 'compact.done',
      history: summaryOf(s, log, keep),
      usd: 0,
    }),
  });

  story('drained, compacted, given up', async () => {
    const told = await tell({
      calls: () => [fails('prompt_too_long')],
      answers: {
        ...compact(),
        drainCollapses: ({ history }) => ({ type: 'collapse.drained', history }),
      },
    });
    expect(brief(told)).toEqual(['prompt_too_long', 3]);
    expect(told.log).toEqual(['collapse_drain_retry', 'reactive_compact_retry', 'error']);
  });
  story('that is cured is never shown', async () => {
    const told = await tell({
      calls: (n) => (n === 0 ? [fails('prompt_too_long')] : whole(0, stop('end_turn'))),
      answers: compact(),
    });
    expect([told.reason, ...told.log]).toEqual(['completed', 'reactive_compact_retry']);
  });
  story('in bytes: strip, drain, compact', async () => {
    const told = await tell({
      calls: () => [fails('request_too_large')],
      answers: {
        ...compact(),
        stripMedia: ({ history }) => ({ type: 'media.stripped', history, left: 0 }),
        drainCollapses: ({ history }) => ({ type: 'collapse.drained', history }),
      },
    });
    expect(brief(told)).toEqual(['prompt_too_long', 4]);
    expect(told.transitions).toEqual([
      ...['media_strip_retry', 'collapse_drain_retry', 'reactive_compact_retry'],
    ]);
  });
  story('in bytes, and media had to be left in', async () => {
    const told = await tell({
      calls: () => [fails('request_too_large')],
      answers: { stripMedia: ({ history }) => ({ type: 'media.stripped', history, left: 2 }) },
    });
    expect(brief(told)).toEqual(['image_error', 2]);
  });
  story('an image that is refused is stripped once', async () => {
    const told = await tell({
      calls: () => [fails('bad_image')],
      answers: { stripMedia: ({ history }) => ({ type: 'media.stripped', history, left: 0 }) },
    });
    expect([...brief(told), told.log[0]]).toEqual(['image_error', 2, 'media_strip_retry']);
  });
  story('the window is full before we ask: nothing is sent', async () => {
    const told = await tell({
      limits: { windowTokens: 5 },
      calls: () => [],
      answers: {
        legalize: ({ history }) => ({
          type: 'stage.done',
          history: { ...history, tokens: 6 },
          usd: 0,
        }),
      },
    });
    expect(brief(told)).toEqual(['blocking_limit', 0]);
  });
  story(
    'refused once and still above our own limit: it was sent, so it is prompt_too_long',
    async () => {
      const told = await tell({
        limits: { windowTokens: 5 },
        calls: () => [fails('prompt_too_long')],
        answers: {
          drainCollapses: ({ history }) => ({
            type: 'collapse.drained',
            history: { ...history, tokens: 6 },
          }),
        },
      });
      expect(brief(told)).toEqual(['prompt_too_long', 1]);
    },
  );
  story(
    'window exceeded in the middle of an answer: taken back, compacted, asked again',
    async () => {
      const told = await tell({
        calls: (n) => whole(n, stop(n === 0 ? 'model_context_window_exceeded' : 'end_turn')),
        answers: compact(),
      });
      expect([...brief(told), told.text]).toEqual(['completed', 2, 'part 1 ']);
      expect(told.log).toEqual(['tombstone', 'reactive_compact_retry']);
    },
  );
  story('window exceeded after a call: it runs, stands, and is in what is compacted', async () => {
    let compacted: readonly string[] = [];
    const told = await tell({
      calls: (n) =>
        n === 0
          ? [open, say('c'), call('t1'), stop('model_context_window_exceeded')]
          : whole(1, stop('end_turn')),
      answers: {
        reactiveCompact: (s, _, log) => {
          compacted = log.at(s.history.head).map(({ kind }) => kind);
          return { type: 'compact.done', history: summaryOf(s, log, 3), usd: 0 };
        },
      },
    });
    expect(brief(told)).toEqual(['completed', 2]);
    expect(told.log).toEqual(['t1 starts', 't1 done', 'reactive_compact_retry']);
    expect(compacted).toEqual(['note', 'text', 'tool_use', 'tool_result']);
    expect(told.kinds).toEqual(['note', 'text', 'tool_use', 'tool_result', 'text']);
  });
  story('a lower cap is tried once, then the prompt is what is too long', async () => {
    const told = await tell({
      calls: (n) => [fails('output_cap_too_high', { fittingTokens: 900 - n })],
      answers: compact(),
    });
    expect(brief(told)).toEqual(['prompt_too_long', 4]); // two, compacted, two
    expect(told.transitions).toEqual(['reactive_compact_retry']);
  });
  story('CMP-09 summaries that failed three times are not tried again', async () => {
    const told = await tell({
      calls: (n) => (n < 8 ? [open, call(`t${n}`), stop('tool_use')] : [fails('prompt_too_long')]),
      answers: {
        autocompact: ({ history, autoCompactTracking }) => ({
          type: 'stage.done',
          history,
          usd: 0,
          ...(autoCompactTracking.consecutiveFailures < 3 ? { compaction: 'failed' as const } : {}),
        }),
      },
    });
    expect(brief(told)).toEqual(['prompt_too_long', 9]);
    expect(told.asked.reactiveCompact).toBeUndefined();
  });
  const refilling = (every: number): World => ({
    limits: { turnsMax: 20 },
    calls: (n) => [open, call(`t${n}`), stop('tool_use')],
    answers: {
      autocompact: (s, n, log) =>
        n % every === 0
          ? { type: 'stage.done', history: summaryOf(s, log, 2), compaction: 'done', usd: 0 }
          : { type: 'stage.done', history: s.history, usd: 0 },
    },
  });
  story('CMP-02 a summary after each iteration: the third rapid one ends it', async () => {
    const told = await tell(refilling(1));
    expect(brief(told)).toEqual(['rapid_refill_breaker', 3]);
    // the next prompt of the session may try again
    expect(told.autoCompactTracking).toMatchObject({ compacted: true, rapidRefills: 0 });
  });
  story('CMP-02 a summary after every second one is work that gets done', async () => {
    expect(brief(await tell(refilling(2)))).toEqual(['max_turns', 20]);
  });
});

chapter('transport', () => {
  story('RTY-11 three overloads, then the fallback model', async () => {
    const told = await tell({
      input: { fallbackModel: 'b' },
      calls: (_, s) => (s.model === 'b' ? whole(0, stop('end_turn')) : [fails('overloaded')]),
    });
    expect(brief(told)).toEqual(['completed', 4]);
    expect(told.log).toEqual(['retry', 'retry', 'fallback']);
  });
  story("ten retries, then the API's answer, shown once", async () => {
    const told = await tell({ calls: () => [fails('server')] });
    expect([...brief(told), times(told, 'retry')]).toEqual(['api_error', 11, 10]);
    expect(told.error).toEqual({ type: 'error', flaw: 'api', detail: 'server' });
  });
  story('RTY-05 no second request inside an hour', async () => {
    const told = await tell({
      calls: () => [fails('rate_limited', { retryAfterMs: 3_600_000 })],
    });
    expect(brief(told)).toEqual(['api_error', 1]);
  });
  story('RTY-07 what cannot help is not tried again', async () => {
    for (const name of ['auth', 'not_found', 'bad_request'] as const) {
      expect(brief(await tell({ calls: () => [fails(name)] }))).toEqual(['api_error', 1]);
    }
  });
  story('what the purse refuses is asked for once, and no error of an answer', async () => {
    const told = await tell({
      calls: (n) =>
        n === 0 ? [open, call('t1'), stop('tool_use')] : [fails('over_budget', { isFinal: true })],
    });
    expect([...brief(told), told.flaw, told.error]).toEqual([
      ...['budget_exhausted', 2, undefined, undefined],
    ]);
    expect(told.failure?.class).toBe('over_budget');
    expect(told.log).toEqual(['t1 starts', 't1 done', 'next_turn']);
  });
  story('max_tokens is lowered to what fits', async () => {
    const told = await tell({
      calls: (n) =>
        n === 0
          ? [fails('output_cap_too_high', { fittingTokens: 900 })]
          : whole(0, stop('end_turn')),
    });
    expect(brief(told)).toEqual(['completed', 2]);
    expect(told.context.maxOutputTokensOverride).toBe(900);
  });
  story('RTY-01 a stream that dies before a complete block is asked again', async () => {
    const told = await tell({
      calls: (n) => (n < 2 ? [open, think(), fails('connection')] : whole(0, stop('end_turn'))),
    });
    expect([...brief(told), told.text]).toEqual(['completed', 3, 'part 0 ']);
    expect(told.log).toEqual(['tombstone', 'retry', 'tombstone', 'retry']);
  });
  story('… after one it is resumed, three times', async () => {
    const told = await tell({ calls: (n) => whole(n, fails('connection')) });
    expect([...brief(told), told.text]).toEqual([
      ...['model_error', 4, 'part 0 part 1 part 2 part 3 '],
    ]);
    expect(told.log).toEqual([...Array(3).fill('stream_resume'), 'error']);
  });
  story('RTY-04 … and a call that was whole is run once, each time', async () => {
    const told = await tell({ calls: (n) => [open, call(`t${n}`), fails('server')] });
    expect([...brief(told), times(told, 'stream_resume')]).toEqual(['api_error', 4, 3]);
    expect(told.log.filter((line) => line.endsWith('done')).length).toBe(4);
  });
  story('a request that nobody answers', async () => {
    const told = await tell({ limits: { requestMs: 5, retriesMax: 2 }, calls: () => [] });
    expect(brief(told)).toEqual(['model_error', 3]);
  });
});

chapter('turns and budgets', () => {
  story('HEAD-03 max turns: the host never hears of a third', async () => {
    const told = await tell({
      limits: { turnsMax: 2 },
      calls: (n) => [open, call(`t${n}`), stop('tool_use')],
    });
    expect([...brief(told), times(told, 'next_turn')]).toEqual(['max_turns', 2, 1]);
    const word = told.out.find(({ type }) => type === 'maxTurnsReached');
    expect(word).toEqual({ type: 'maxTurnsReached', maxTurns: 2, turnCount: 3 });
  });
  story('the same call for ever: a reminder after 5, the end at 25', async () => {
    const told = await tell({
      calls: (n) => [open, call(`t${n}`), stop('tool_use')],
      tool: async () => ({ fingerprint: 'same' }),
    });
    expect(brief(told)).toEqual(['no_progress', 25]);
    expect(told.kinds.filter((kind) => kind === 'note').length).toBe(2);
  });
  story('a budget that one call has used up: its result is shown, then the end', async () => {
    const told = await tell({
      limits: { usdMax: 1.2 },
      calls: () => [open, call('t1'), stop('tool_use', 1.35)],
    });
    expect([...brief(told), told.kinds.at(-1)]).toEqual(['budget_exhausted', 1, 'tool_result']);
  });
  story('a budget too small for the next call', async () => {
    const told = await tell({ limits: { usdMax: 1, outputUsdPerToken: 1 }, calls: () => [] });
    expect(brief(told)).toEqual(['budget_exhausted', 0]);
  });
  story('a token budget: nudged on, and told when returns diminish', async () => {
    const told = await tell({
      limits: { tokenBudget: 100_000 },
      calls: (n) => whole(n, stop('end_turn')),
    });
    expect(brief(told)).toEqual(['completed', 4]);
    const words = told.out.filter(({ type }) => type.startsWith('budget'));
    expect(words.map(({ type }) => type)).toEqual([
      ...Array(3).fill('budgetContinued'),
      'budgetCompleted',
    ]);
    expect(words.at(-1)).toMatchObject({ completionEvent: { diminishingReturns: true } });
    const nudges = told.messages.filter(({ uuid }) => uuid.endsWith(':budget'));
    expect(nudges.map(({ text }) => text?.slice(0, 40))[0]).toMatch(/^0 % of the token budget/);
  });
  story('a subagent has no token budget', async () => {
    for (const input of [{ querySource: 'subagent' }, { agentId: 'a1' }] as const) {
      const told = await tell({
        input,
        limits: { tokenBudget: 100_000 },
        calls: (n) => whole(n, stop('end_turn')),
      });
      expect(brief(told)).toEqual(['completed', 1]);
      expect(told.out.filter(({ type }) => type.startsWith('budget'))).toEqual([]);
    }
  });
  story('the host has no more time', async () => {
    const told = await tell({ limits: { durationMs: 20 }, calls: () => [open] });
    expect(told.reason).toBe('deadline_exceeded');
  });
  story('an errand neither compacts nor asks stop hooks', async () => {
    const errand: World['input'] = { querySource: 'hook_agent' };
    const answered = await tell({ input: errand, calls: (n) => whole(n, stop('end_turn')) });
    expect(brief(answered)).toEqual(['completed', 1]);
    expect([answered.asked.stopHooks, answered.asked.autocompact]).toEqual([undefined, undefined]);
    const stuck = await tell({ input: errand, calls: () => [fails('prompt_too_long')] });
    expect(brief(stuck)).toEqual(['prompt_too_long', 1]);
    expect([stuck.asked.reactiveCompact, stuck.asked.drainCollapses]).toEqual([
      undefined,
      undefined,
    ]);
  });
});

chapter('stop hooks and shapes', () => {
  story('HOOK-01 a stop hook that always blocks is overridden, and that is said', async () => {
    const active: boolean[] = [];
    const told = await tell({
      calls: (n) => whole(n, stop('end_turn')),
      answers: {
        stopHooks: (s) => {
          active.push(s.stopHookActive);
          return { type: 'hooks.blocked', errors: [noteOf('red')] };
        },
      },
    });
    expect([...brief(told), told.stopHookOverridden]).toEqual(['completed', 9, true]);
    expect([times(told, 'stop_hook_blocking'), times(told, 'warning')]).toEqual([8, 1]);
    expect(active).toEqual([false, ...Array(8).fill(true)]);
  });
  story('tool rounds between them do not count', async () => {
    const told = await tell({
      limits: { stopHookBlocksMax: 2 },
      calls: (n) =>
        n % 2 === 0 ? [open, call(`t${n}`), stop('tool_use')] : whole(n, stop('end_turn')),
      answers: { stopHooks: () => ({ type: 'hooks.blocked', errors: [noteOf('red')] }) },
    });
    expect(brief(told)).toEqual(['completed', 6]);
  });
  story('a stop hook that prevents', async () => {
    const told = await tell({
      calls: (n) => whole(n, stop('end_turn')),
      answers: { stopHooks: () => ({ type: 'hooks.prevented' }) },
    });
    expect(brief(told)).toEqual(['stop_hook_prevented', 1]);
  });
  const shape = (schemaTry: 'valid' | 'invalid'): World => ({
    input: { wantsSchema: true },
    calls: (n) => [open, call(`s${n}`), stop('tool_use')],
    tool: async () => ({ schemaTry }),
  });
  story('HEAD-09 a shape wanted, prose given: one nudge', async () => {
    const told = await tell({
      input: { wantsSchema: true },
      calls: (n) => whole(n, stop('end_turn')),
    });
    expect(brief(told)).toEqual(['structured_output_retry_exhausted', 2]);
  });
  story('a shape wanted, the wrong one given: five attempts', async () => {
    expect(brief(await tell(shape('invalid')))).toEqual(['structured_output_retry_exhausted', 5]);
  });
  story('a shape wanted and given: no further request', async () => {
    expect(brief(await tell(shape('valid')))).toEqual(['completed', 1]);
  });
  story('a hook that blocks after the right shape: the answer stays satisfied', async () => {
    const told = await tell({
      ...shape('valid'),
      calls: (n) => (n === 0 ? [open, call('s0'), stop('tool_use')] : whole(n, stop('end_turn'))),
      answers: {
        stopHooks: (_, n) =>
          n === 1 ? { type: 'hooks.blocked', errors: [noteOf('red')] } : { type: 'hooks.passed' },
      },
    });
    expect([...brief(told), ...told.transitions]).toEqual(['completed', 2, 'stop_hook_blocking']);
  });
});

chapter('tools and people', () => {
  story('a hook around a tool says stop', async () => {
    const told = await tell({
      calls: () => [open, call('t1'), stop('tool_use')],
      tool: async () => 'stop',
    });
    expect(brief(told)).toEqual(['hook_stopped', 1]);
  });
  story('a deferred call stays open, its sibling does not', async () => {
    const told = await tell({
      calls: () => [open, call('t1'), call('t2'), stop('tool_use')],
      tool: async (id) => (id === 't2' ? 'defer' : {}),
    });
    expect(brief(told)).toEqual(['tool_deferred', 1]);
    expect([...told.kinds].sort()).toEqual(['note', 'tool_result', 'tool_use', 'tool_use']);
  });
  story('a tool that never answers', async () => {
    const told = await tell({
      calls: (n) =>
        n === 0 ? [open, call('t1', 20), stop('tool_use')] : whole(1, stop('end_turn')),
      tool: never,
    });
    expect(brief(told)).toEqual(['completed', 2]);
    expect(told.messages.find(({ kind }) => kind === 'tool_result')?.text).toMatch(/unknown/);
  });
  story('an answer that comes twice counts once; attachments follow the answers', async () => {
    const told = await tell({
      calls: toolsThenDone,
      answers: {
        attachments: () => ({ type: 'attachments.ready', messages: [noteOf('changed files')] }),
      },
      tool: async (id, send) => {
        send(resultOf(id));
        return {};
      },
    });
    expect(told.reason).toBe('completed');
    expect(told.kinds).toEqual(['note', 'tool_use', 'tool_result', 'note', 'text']);
  });
  story('a round is described in the background', async () => {
    const told = await tell({
      input: { emitToolUseSummaries: true },
      calls: toolsThenDone,
      describe: ({ from, to }, log) => ({
        type: 'round.described',
        text: log
          .since(from, to)
          .map(({ kind }) => kind)
          .join(),
        toolUseIds: ['t1'],
        usd: 0,
      }),
    });
    expect(told.out.find(({ type }) => type === 'roundDescribed')).toEqual({
      type: 'roundDescribed',
      text: 'tool_use,tool_result',
      toolUseIds: ['t1'],
    });
    expect(told.context.pendingToolUseSummary).toBeUndefined();
  });
  const asks = (ms: number, atMs?: readonly [number, number]): Partial<World> => ({
    calls: (n) => (n === 0 ? [open, call('t1', 1), stop('tool_use')] : whole(1, stop('end_turn'))),
    tool: async (id, send) => {
      const [asked, answered] = atMs ?? [];
      send({
        type: 'person.asked',
        question: 'q',
        toolUseId: id,
        ...(asked === undefined ? {} : { atMs: asked }),
      });
      await wait(ms);
      send({
        type: 'person.answered',
        question: 'q',
        ...(answered === undefined ? {} : { atMs: answered }),
      });
      return {};
    },
  });
  const ask = (ms: number, more: Partial<World>, atMs?: readonly [number, number]) =>
    tell({ ...(asks(ms, atMs) as World), ...more });

  story('a person may take longer than any tool', async () => {
    const told = await ask(80, { limits: { toolGraceMs: 10 } });
    expect(told.reason).toBe('completed');
    const open = told.out.flatMap((word) => (word.type === 'person' ? [word.openQuestions] : []));
    expect(open).toEqual([1, 0]);
  });
  story("… and longer than the host's time, which stands still", async () => {
    const limits = { durationMs: 500 };
    const known = await ask(700, { limits, input: { startedAtMs: 1_000 } }, [1_005, 1_155]);
    expect(known.reason).toBe('completed');
    expect(known.context.clock).toEqual({ stands: false, usedMs: 5, startedAtMs: 1_155 });
    // nobody says when it began: plain time on the wall
    expect((await ask(700, { limits })).reason).toBe('deadline_exceeded');
  });
  story('what was used before the question is not given back', async () => {
    const told = await ask(
      5,
      {
        limits: { durationMs: 1_000 },
        input: { startedAtMs: 0 },
        calls: (n) => (n === 0 ? [open, call('t1'), stop('tool_use')] : []),
      },
      [990, 995],
    );
    expect([told.reason, told.context.clock.usedMs]).toEqual(['deadline_exceeded', 990]);
  });
  story('a call that is answered has no open question', async () => {
    const told = await tell({
      calls: toolsThenDone,
      tool: async (id, send) => {
        send({ type: 'person.asked', question: 'q', toolUseId: id });
        return {}; // and nobody says that the person has answered
      },
    });
    expect(told.reason).toBe('completed');
    const open = told.out.flatMap((word) => (word.type === 'person' ? [word.openQuestions] : []));
    expect(open).toEqual([1, 0]);
  });
  story('the question that is one too many does not stop the clock', async () => {
    const told = await ask(200, { limits: { questionsMax: 0, toolGraceMs: 10 } });
    expect(told.messages.find(({ kind }) => kind === 'tool_result')?.text).toMatch(/unknown/);
  });
});

chapter('services', () => {
  story('MACH-04 one that throws ends the query, as our own fault', async () => {
    const told = await tell({
      calls: () => [],
      answers: {
        snip: () => {
          throw new Error('boom');
        },
      },
    });
    expect(brief(told)).toEqual(['model_error', 0]);
    expect(told.error).toEqual({ type: 'error', flaw: 'bug', detail: 'snip: Error: boom' });
  });
  story('a stage that hangs is skipped', async () => {
    const told = await tell({
      limits: { stageMs: 10 },
      calls: () => whole(0, stop('end_turn')),
      answers: { snip: never },
    });
    expect([...brief(told), ...told.log]).toEqual(['completed', 1, 'warning']);
  });
  story('… but not the one that makes a history legal', async () => {
    const told = await tell({
      limits: { stageMs: 10 },
      calls: () => [],
      answers: { legalize: never },
    });
    expect(brief(told)).toEqual(['model_error', 0]);
    expect(told.error).toMatchObject({ detail: 'legalize: no answer in time' });
  });
  story('a summary that hangs counts as one that failed', async () => {
    const told = await tell({
      limits: { summaryMs: 10 },
      calls: () => whole(0, stop('end_turn')),
      answers: { autocompact: never },
    });
    expect([told.reason, told.autoCompactTracking.consecutiveFailures]).toEqual(['completed', 1]);
  });
  story('a query without any bound in turns, money or time has one in turns', async () => {
    const told = await tell({
      limits: { turnsMax: UNBOUNDED },
      calls: () => whole(0, stop('end_turn')),
    });
    expect(told.context.limits.turnsMax).toBe(1_000);
  });
});

chapter('abort: one edge, at once, nothing left open', () => {
  const hang: Partial<World> = { calls: () => [open, call('t1'), stop('tool_use')], tool: never };
  const stages = [
    'toolResultBudget',
    'snip',
    'microcompact',
    'collapse',
    'autocompact',
    'legalize',
  ];
  const places: Record<string, Partial<World>> = {
    ...Object.fromEntries(stages.map((q) => [`preprocess.${q}`, { answers: { [q]: never } }])),
    'sampling.requesting': {},
    'sampling.streaming': { calls: () => [open] },
    'sampling.backingOff': { calls: () => [fails('server', { retryAfterMs: 9_000 })] },
    'sampling.switchingModel': {
      calls: () => [fails('overloaded')],
      input: { fallbackModel: 'b' },
      limits: { overloadsMax: 1 },
      answers: { switchModel: never },
    },
    'toolRun.draining': hang,
    'toolRun.asking': {
      ...hang,
      tool: async (id, send) => {
        send({ type: 'person.asked', question: 'q', toolUseId: id });
        return never();
      },
    },
    'toolRun.attaching': { ...hang, tool: async () => ({}), answers: { attachments: never } },
    'recovery.draining': {
      calls: () => [fails('prompt_too_long')],
      answers: { drainCollapses: never },
    },
    'recovery.stripping': { calls: () => [fails('bad_image')], answers: { stripMedia: never } },
    'recovery.compacting': {
      calls: () => [fails('prompt_too_long')],
      answers: { reactiveCompact: never },
    },
    'stopHooks.evaluating': {
      calls: () => whole(0, stop('end_turn')),
      answers: { stopHooks: never },
    },
  };
  story('is told for every state that waits', () => {
    expect(Object.keys(places).sort()).toEqual(waitingNodes.map(({ id }) => shortId(id)).sort());
  });
  story.each(Object.entries(places))('in %s', async (place, world) => {
    let there = 0;
    const abort: QueryEvent = { type: 'abort' };
    const told = await tell({
      calls: () => [],
      ...world,
      during: (send, at) => {
        if (at !== place) return;
        there += 1;
        setTimeout(() => send(abort), 1);
      },
    });
    expect(there).toBe(1);
    expect(told.reason).toBe(place.startsWith('toolRun') ? 'aborted_tools' : 'aborted_streaming');
    expect(told.transitions).toEqual([]);
  });
  story('wins over a rung that is just done', async () => {
    const told = await tell({
      calls: () => [fails('prompt_too_long')],
      during: (send, at) => {
        if (at === 'recovery.compacting') queueMicrotask(() => send({ type: 'abort' }));
      },
      answers: {
        reactiveCompact: ({ history }) =>
          wait(5).then(() => ({ type: 'compact.done', history, usd: 0 })),
      },
    });
    expect(brief(told)).toEqual(['aborted_streaming', 1]);
  });
});

const sends = (outputTokens: number): QueryEvent =>
  ({ ...stop('end_turn'), outputTokens }) as never;
const tokensAre = (tokens: number): World['answers'] => ({
  legalize: ({ history }) => ({ type: 'stage.done', history: { ...history, tokens }, usd: 0 }),
});
chapter('bounds, to the last unit', () => {
  story('the window: as many tokens as it holds, and not one more', async () => {
    const of = (tokens: number) =>
      tell({
        limits: { windowTokens: 5 },
        answers: { ...tokensAre(tokens) },
        calls: () => whole(0, stop('end_turn')),
      });
    expect([(await of(5)).reason, (await of(6)).reason]).toEqual(['completed', 'blocking_limit']);
  });
  story('the cap: the first, the raised one, the model’s own', async () => {
    const caps: number[] = [];
    await tell({
      calls: (n, state) => {
        caps.push(outputCap(state));
        return whole(n, stop(n === 0 ? 'max_tokens' : 'end_turn'));
      },
    });
    await tell({
      limits: { outputTokensMax: 100 },
      calls: (_, state) => {
        caps.push(outputCap(state));
        return whole(0, stop('end_turn'));
      },
    });
    await tell({
      limits: { outputTokensEscalated: 20_000 },
      calls: (n, state) => {
        caps.push(outputCap(state));
        return whole(n, stop(n === 0 ? 'max_tokens' : 'end_turn'));
      },
    });
    expect(caps).toEqual([8_000, 64_000, 100, 8_000, 20_000]);
  });
  story('money: for as few tokens as are worth a call, and not one less', async () => {
    const of = (usdMax: number) =>
      tell({
        limits: { usdMax, outputUsdPerToken: 1 },
        calls: () => whole(0, stop('end_turn')),
      });
    const [enough, less] = [await of(1_024), await of(1_023)];
    expect([enough.reason, less.reason]).toEqual(['completed', 'budget_exhausted']);
  });
  story('a token budget: nine tenths of it', async () => {
    const of = async (tokenBudget: number, n: number) => {
      const limits = { tokenBudget, tokenNudgesMax: 1 };
      const told = await tell({ limits, calls: () => [open, say('x'), sends(n)] });
      return told.requests;
    };
    expect([await of(1_001, 900), await of(1_000, 900)]).toEqual([2, 1]);
  });
  story('waits between tries: doubled, up to the cap', async () => {
    const of = async (limits: World['limits']) => {
      const told = await tell({
        limits: { retriesMax: 4, ...limits },
        calls: () => [fails('server')],
      });
      return told.out.flatMap((word) => (word.type === 'retry' ? [word.delayMs] : []));
    };
    expect(await of({ retryBaseMs: 2, retryCapMs: 9 })).toEqual([2, 4, 8, 9]);
  });
  story('a longer wait than we have is the end', async () => {
    const of = async (retryAfterMs: number) => {
      const limits = { retryAfterMaxMs: 5, retriesMax: 1 };
      return (await tell({ limits, calls: () => [fails('server', { retryAfterMs })] })).requests;
    };
    expect([await of(5), await of(6)]).toEqual([2, 1]);
  });
  story('questions: the last one that stops the clock, and the first that does not', async () => {
    const told = await tell({
      limits: { questionsMax: 2 },
      calls: (n) => (n === 0 ? [open, call('t1'), stop('tool_use')] : whole(1, stop('end_turn'))),
      tool: async (id, send) => {
        for (const question of ['a', 'b', 'c']) {
          send({ type: 'person.asked', question, toolUseId: id });
          send({ type: 'person.answered', question });
        }
        return {};
      },
    });
    const words = told.out.flatMap((word) => (word.type === 'person' ? [word.openQuestions] : []));
    expect(words).toEqual([1, 0, 1, 0]);
  });
  story('the same round: the reminder comes after the fifth', async () => {
    const told = await tell({
      limits: { turnsMax: 7 },
      calls: () => [open, call('t1'), stop('tool_use')],
      tool: async () => ({ fingerprint: 'same' }),
    });
    const reminded = told.kinds.flatMap((kind, at) => (kind === 'note' && at > 0 ? [at] : []));
    expect(reminded).toEqual([11]);
  });
});

chapter('what nobody asked for', () => {
  const odd = (send: (event: QueryEvent) => void) => {
    send(resultOf('nobody'));
    send({ type: 'person.asked', question: 'x', toolUseId: 'nobody' });
    send({ type: 'person.answered', question: 'nothing' });
  };
  story('is not heard while the model streams', async () => {
    const told = await tell({
      calls: (n) =>
        n === 0 ? [open, say('a'), call('t1'), 5, stop('tool_use')] : whole(1, stop('end_turn')),
      tool: async (id, send) => {
        odd(send);
        await wait(1);
        return id === 't1' ? {} : {};
      },
    });
    expect(told.kinds).toEqual(['note', 'text', 'tool_use', 'tool_result', 'text']);
    expect(told.out.filter(({ type }) => type === 'person')).toEqual([]);
  });
  story('nor while the tools run', async () => {
    const told = await tell({
      calls: toolsThenDone,
      tool: async (_, send) => {
        await wait(10);
        odd(send);
        return {};
      },
    });
    expect(told.kinds).toEqual(['note', 'tool_use', 'tool_result', 'text']);
    expect(told.out.filter(({ type }) => type === 'person')).toEqual([]);
  });
});

chapter('every ending is told whole', () => {
  /** Half an answer with a call: it must be answered in the history, whatever ends it. */
  const half = (world: Partial<World>) =>
    tell({ calls: () => [open, call('t1'), stop('tool_use')], tool: never, ...world });
  const answered = ({ messages }: Told) =>
    messages.filter(({ kind }) => kind === 'tool_result').map(({ text }) => text);

  story('an abort, the clock', async () => {
    const stopped = await half({
      during: (send, at) => {
        if (at === 'toolRun.draining') setTimeout(() => send({ type: 'abort' }), 1);
      },
    });
    const late = await half({
      during: (send, at) => {
        if (at === 'toolRun.draining') setTimeout(() => send({ type: 'time.ranOut' }), 1);
      },
    });
    expect([stopped.reason, late.reason]).toEqual(['aborted_tools', 'deadline_exceeded']);
    expect([...answered(stopped), ...answered(late)]).toEqual(
      Array(2).fill('The call was interrupted.'),
    );
  });
  story('a service that is late or throws is named, each by its own name', async () => {
    const boom = () => {
      throw new Error('boom');
    };
    const names = [
      ...['toolResultBudget', 'snip', 'microcompact', 'collapse', 'autocompact', 'legalize'],
      ...['stopHooks', 'drainCollapses', 'reactiveCompact', 'stripMedia', 'attachments'],
    ] as const;
    const calls: Partial<Record<string, World['calls']>> = {
      drainCollapses: () => [fails('prompt_too_long')],
      reactiveCompact: () => [fails('prompt_too_long')],
      stripMedia: () => [fails('bad_image')],
      attachments: () => [open, call('t1'), stop('tool_use')],
    };
    for (const name of names) {
      const told = await tell({
        calls: calls[name] ?? (() => whole(0, stop('end_turn'))),
        answers: { [name]: boom },
      });
      expect([told.reason, told.error]).toEqual([
        'model_error',
        { type: 'error', flaw: 'bug', detail: `${name}: Error: boom` },
      ]);
    }
    const late = await tell({
      calls: () => whole(0, stop('end_turn')),
      limits: { hooksMs: 5 },
      answers: { stopHooks: never },
    });
    expect(late.error).toMatchObject({ flaw: 'bug', detail: 'stopHooks: no answer in time' });
  });
  story('a stage or a rung that is late is said', async () => {
    const late: Partial<Record<string, World['calls']>> = {
      toolResultBudget: () => whole(0, stop('end_turn')),
      microcompact: () => whole(0, stop('end_turn')),
      collapse: () => whole(0, stop('end_turn')),
      autocompact: () => whole(0, stop('end_turn')),
      stripMedia: () => [fails('bad_image')],
      drainCollapses: () => [fails('prompt_too_long')],
      reactiveCompact: () => [fails('prompt_too_long')],
    };
    for (const [name, calls] of Object.entries(late)) {
      const told = await tell({
        calls: calls as World['calls'],
        limits: { stageMs: 5, drainMs: 5, summaryMs: 5 },
        answers: { [name]: never },
      });
      const words = told.out.flatMap((word) => (word.type === 'warning' ? [word.text] : []));
      expect(words).toEqual([`${name} took too long`]);
      // below the drain there is a summary, which fails here
      const failures = /^(autocompact|reactiveCompact|drainCollapses)$/.test(name) ? 1 : 0;
      expect(told.autoCompactTracking.consecutiveFailures).toBe(failures);
    }
  });
  story('a request or a stream that is late says so', async () => {
    const silent = await tell({ limits: { requestMs: 5, retriesMax: 0 }, calls: () => [] });
    const stuck = await tell({ limits: { streamMs: 5, retriesMax: 0 }, calls: () => [open] });
    for (const { error } of [silent, stuck]) {
      expect(error).toMatchObject({ flaw: 'transport', detail: 'no answer in time' });
    }
  });
  story('what the stages and a failed summary have done and cost is known', async () => {
    const stages = ['toolResultBudget', 'snip', 'microcompact', 'collapse', 'autocompact'] as const;
    for (const name of stages) {
      const told = await tell({
        calls: () => whole(0, stop('end_turn')),
        answers: { [name]: ({ history }: QueryState) => ({ type: 'stage.done', history, usd: 2 }) },
      });
      expect(told.spentUsd).toBe(2);
    }
    const failed = await tell({
      calls: () => [fails('prompt_too_long')],
      answers: { reactiveCompact: () => ({ type: 'compact.failed', usd: 3 }) },
    });
    expect([failed.spentUsd, failed.autoCompactTracking.consecutiveFailures]).toEqual([3, 1]);
  });
  story('what was said before a retry is taken back, thinking too', async () => {
    const rungs: Partial<World>[] = [
      {
        calls: (n) =>
          n === 0 ? [open, think(), fails('prompt_too_long')] : whole(1, stop('end_turn')),
        answers: { drainCollapses: ({ history }) => ({ type: 'collapse.drained', history }) },
      },
      {
        calls: (n) => (n === 0 ? [open, think(), fails('bad_image')] : whole(1, stop('end_turn'))),
        answers: { stripMedia: ({ history }) => ({ type: 'media.stripped', history, left: 0 }) },
      },
      { calls: (n) => (n === 0 ? [open, think(), stop('end_turn')] : whole(1, stop('end_turn'))) },
      {
        calls: (n) => (n === 0 ? [open, think(), fails('overloaded')] : whole(1, stop('end_turn'))),
        input: { fallbackModel: 'b' },
        limits: { overloadsMax: 1 },
      },
    ];
    for (const rung of rungs) {
      const told = await tell(rung as World);
      expect([told.reason, ...told.kinds, times(told, 'tombstone')]).toEqual([
        'completed',
        'note',
        'text',
        1,
      ]);
    }
  });
});
