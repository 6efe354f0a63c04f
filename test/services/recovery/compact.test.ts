import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogMessage } from '../../../services/messages.ts';
import { piecesOf, splitHistory } from '../../../services/recovery/split-history.ts';
import { readSummary } from '../../../services/recovery/summary-prompt.ts';
import {
  callTool,
  httpError,
  lastText,
  message,
  overloaded,
  say,
  text,
  tooLong,
} from '../../../src/testing/index.ts';
import { violationsOf } from '../preprocess/as-request.ts';
import { assistant, call, image, legalHistory, result, user } from '../preprocess/histories.ts';
import { prose, quiet, world } from './world.ts';

const round = (n: number, tokens: number) => [
  assistant(`m${n}`, `step ${n}`),
  call(`m${n}`, `c${n}`),
  result(`c${n}`, `result ${n} ${prose(tokens)}`),
];
const rounds = (count: number, tokens: number) =>
  Array.from({ length: count }, (_, n) => round(n, tokens)).flat();
const signal = new AbortController().signal;
const allText = (messages: readonly LogMessage[]) => JSON.stringify(messages.map((m) => m.content));

describe('where a history is cut', () => {
  it('PAIR-02, PAIR-03 never inside of a round, whatever is kept', () => {
    fc.assert(
      fc.property(legalHistory(), fc.nat({ max: 40 }), (history, keptMax) => {
        expect(piecesOf(history).flatMap((piece) => piece.messages)).toEqual(history);
        const split = splitHistory(history, keptMax, (messages) => messages.length);
        if (!split) return;
        const old = split.old.flatMap((piece) => piece.messages);
        expect([...old, ...split.kept]).toEqual(history);
        expect(split.kept.some((m) => m.role === 'assistant')).toBe(true);
        expect(violationsOf([user('summary'), ...split.kept, user('end')])).toEqual([]);
        expect(violationsOf([...old, user('sum up')])).toEqual([]);
      }),
    );
  });

  it('keeps the last round whole even when it is larger than what may be kept', () => {
    const history = [user('go'), ...rounds(3, 100)];
    const split = splitHistory(history, 1, (messages) => messages.length);
    expect(split?.kept).toEqual(history.slice(-3));
    expect(split?.request).toBe(history[0]);
  });

  it('has nothing to cut in a first exchange', () => {
    const history = [user('go'), ...round(0, 10)];
    expect(splitHistory(history, 0, () => 1)).toBeUndefined();
    expect(splitHistory([user('go')], 0, () => 1)).toBeUndefined();
  });
});

describe('compaction', () => {
  it('sums up the old rounds, and keeps the request and the last round word for word', async () => {
    const history = [user('please do the marked-task-77'), ...rounds(4, 4_000)];
    const w = await world({ history });
    const outcome = await w.compact({
      state: w.stateWith(w.history),
      trigger: 'auto',
      signal,
    });
    expect(outcome).toMatchObject({ kind: 'done', usd: 0.5 });
    if (outcome.kind !== 'done') return;
    const [summary, request, ...kept] = w.messagesAt(outcome.history);
    expect(summary).toMatchObject({ role: 'user', origin: 'summary', isMeta: true });
    expect(JSON.stringify(summary?.content)).toContain('CONDENSED-1');
    expect(request).toBe(history[0]);
    expect(kept).toEqual(history.slice(-3));
    expect(outcome.history.tokens).toBeLessThan(w.history.tokens / 2);
    expect(w.told('compactBoundary')).toMatchObject([
      { trigger: 'auto', preTokens: w.history.tokens, postTokens: outcome.history.tokens },
    ]);
    expect(w.words.map((word) => word.type)).toEqual(['status', 'compactBoundary', 'status']);
    expect(w.billed).toHaveLength(1);
    expect(w.server.violations).toEqual([]);
    expect(w.messagesAt(w.history)).toEqual(history);
  });

  it('asks with the same system prompt in front and the instruction last', async () => {
    const w = await world({ history: [user('go'), ...rounds(4, 4_000)] });
    await w.compact({ state: w.stateWith(w.history), trigger: 'auto', signal });
    const [request] = w.server.requestsOf('compact');
    expect(request?.body.system).toMatchObject([{ text: 'be good' }]);
    expect(request && lastText(request)).toContain('<summary>');
    expect(JSON.stringify(request?.body.messages)).not.toContain('result 3');
  });

  it('FILE-14 the summary request carries no media', async () => {
    const history = [
      user([{ type: 'text', text: 'look' }, image()]),
      call('m', 'c'),
      result('c', [image()]),
      ...rounds(3, 4_000),
    ];
    const w = await world({ history });
    await w.compact({ state: w.stateWith(w.history), trigger: 'auto', signal });
    const body = JSON.stringify(w.server.requestsOf('compact')[0]?.body);
    expect(body).not.toContain('base64');
    expect(body).toContain('[image not shown here]');
    expect(w.server.violations).toEqual([]);
  });

  it('CMP-01 a summary request that is too long is made smaller, at most three times', async () => {
    const history = [user('go'), ...rounds(8, 2_000)];
    const script = { compactions: [tooLong(), tooLong(), say('<summary>at last</summary>')] };
    const w = await world({ history, script });
    const outcome = await w.compact({ state: w.stateWith(w.history), trigger: 'auto', signal });
    expect(outcome.kind).toBe('done');
    const bytes = w.server.requestsOf('compact').map((request) => request.bytes);
    expect(bytes).toHaveLength(3);
    expect(bytes[1]).toBeLessThan(bytes[0] ?? 0);
    expect(bytes[2]).toBeLessThan(bytes[1] ?? 0);
    const [boundary] = w.told('compactBoundary');
    expect(boundary?.messagesDropped).toBeGreaterThan(3);
    if (outcome.kind !== 'done') return;
    expect(allText(w.messagesAt(outcome.history))).toContain(
      `oldest ${boundary?.messagesDropped} messages`,
    );
    expect(w.server.violations).toEqual([]);
  });

  it('CMP-01 gives up after three; history is what it was', async () => {
    const w = await world({
      history: [user('go'), ...rounds(8, 2_000)],
      script: { compactions: [tooLong()] },
    });
    const outcome = await w.compact({ state: w.stateWith(w.history), trigger: 'auto', signal });
    expect(outcome).toMatchObject({ kind: 'failed', reason: expect.stringContaining('too long') });
    expect(w.server.requestsOf('compact')).toHaveLength(3);
    expect(w.told('compactFailed')).toHaveLength(1);
  });

  it.each([
    ['an empty reply', message([text('<summary> </summary>')])],
    ['a tool call', callTool('Read')],
    ['a refusal', say('I will not', { stopReason: 'refusal' })],
    ['half a reply', say('<summary>cut', { stopReason: 'max_tokens' })],
    ['a reply as long as the original', say(prose(12_000))],
  ])('CMP-09 %s is a failure', async (_, reply) => {
    const w = await world({
      history: [user('go'), ...rounds(4, 3_000)],
      script: { compactions: [reply] },
    });
    const outcome = await w.compact({ state: w.stateWith(w.history), trigger: 'auto', signal });
    expect(outcome.kind).toBe('failed');
    expect(w.server.requestsOf('compact')).toHaveLength(1);
    expect(w.billed).toHaveLength(1);
    expect(w.words.at(-1)).toMatchObject({ type: 'compactFailed' });
  });

  it('asks again after a passing failure, three times in all', async () => {
    const history = [user('go'), ...rounds(4, 3_000)];
    const cured = await world({ history, script: { compactions: [overloaded(), say('fine')] } });
    const asked = { state: cured.stateWith(cured.history), trigger: 'auto', signal } as const;
    expect((await cured.compact(asked)).kind).toBe('done');
    const ill = await world({ history, script: { compactions: [overloaded()] } });
    const outcome = await ill.compact({ ...asked, state: ill.stateWith(ill.history) });
    expect(outcome.kind).toBe('failed');
    expect(ill.server.requests).toHaveLength(3);
  });

  it('a cap that does not fit beside the prompt is lowered; nothing is left out for it', async () => {
    const refused = httpError(
      400,
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 16000 + 5000 > 20000, decrease input',
    );
    const w = await world({
      history: [user('go'), ...rounds(4, 3_000)],
      script: { compactions: [refused, say('<summary>fits</summary>')] },
    });
    const outcome = await w.compact({ state: w.stateWith(w.history), trigger: 'auto', signal });
    expect(outcome.kind).toBe('done');
    const [first, second] = w.server.requestsOf('compact').map((request) => request.body);
    expect(Number(second?.max_tokens)).toBeLessThan(Number(first?.max_tokens));
    expect(second?.messages).toEqual(first?.messages);
  });

  it('keeps less of a prompt that a smaller window than ours has refused', async () => {
    const history = [user('go'), ...rounds(6, 2_000)];
    const w = await world({ history, windowTokens: 200_000 });
    const outcome = await w.compact({ state: w.stateWith(w.history), trigger: 'auto', signal });
    if (outcome.kind !== 'done') throw new Error(outcome.kind);
    expect(outcome.history.tokens).toBeLessThan(w.history.tokens / 3);
  });

  it('CMP-09 an abort during the summary leaves history unchanged', async () => {
    const stop = new AbortController();
    const w = await world({
      history: [user('go'), ...rounds(4, 3_000)],
      script: { compactions: [say('late', { headersDelayMs: 5_000 })] },
    });
    const running = w.compact({
      state: w.stateWith(w.history),
      trigger: 'auto',
      signal: stop.signal,
    });
    await w.server.until((entry) => entry.type === 'request');
    stop.abort();
    expect(await running).toMatchObject({ kind: 'failed', reason: 'aborted' });
    expect(w.told('compactBoundary')).toEqual([]);
    expect(
      await w.compact({ state: w.stateWith(w.history), trigger: 'auto', signal: stop.signal }),
    ).toMatchObject({ kind: 'failed', reason: 'aborted' });
    expect(w.server.requests).toHaveLength(1);
  });

  it('CMP-04 what is re-attached stands once, before the request', async () => {
    const todos = user('todos: B in progress, C pending', { origin: 'attachment', kind: 'note' });
    const history = [user('Rename foo to bar ONLY in src'), ...rounds(4, 4_000)];
    const w = await world({ history, reattach: async () => [todos] });
    const outcome = await w.compact({ state: w.stateWith(w.history), trigger: 'auto', signal });
    if (outcome.kind !== 'done') throw new Error(outcome.kind);
    const after = w.messagesAt(outcome.history);
    expect(after.slice(1, 3)).toEqual([todos, history[0]]);
    expect(violationsOf(after)).toEqual([]);
  });

  it('runs the hooks: wishes go to the model, an objection prevents', async () => {
    const history = [user('go'), ...rounds(4, 3_000)];
    const w = await world({
      history,
      hooks: async () => ({ ...quiet, additionalContext: ['mention the colour'] }),
    });
    const state = w.stateWith(w.history);
    await w.compact({ state, trigger: 'manual', customInstructions: 'be short', signal });
    expect(w.hookCalls).toMatchObject([
      { event: 'PreCompact', fields: { trigger: 'manual', custom_instructions: 'be short' } },
      { event: 'PostCompact', fields: { compact_summary: expect.stringContaining('CONDENSED') } },
    ]);
    const [request] = w.server.requestsOf('compact');
    expect(request && lastText(request)).toMatch(/be short\n- mention the colour/);

    const no = await world({ history, hooks: async () => ({ ...quiet, blocked: ['not now'] }) });
    const outcome = await no.compact({ state: no.stateWith(no.history), trigger: 'auto', signal });
    expect(outcome).toMatchObject({ kind: 'failed', reason: expect.stringContaining('not now') });
    expect(no.server.requests).toEqual([]);
  });

  it('can be done again: the summary of a summary carries on', async () => {
    const w = await world({ history: [user('go'), ...rounds(4, 4_000)] });
    const once = await w.compact({ state: w.stateWith(w.history), trigger: 'auto', signal });
    if (once.kind !== 'done') throw new Error(once.kind);
    const more = [5, 6, 7].flatMap((n) => round(n, 4_000));
    const grown = w.log.append(once.history, more);
    const twice = await w.compact({ state: w.stateWith(grown), trigger: 'auto', signal });
    if (twice.kind !== 'done') throw new Error(twice.kind);
    const after = w.messagesAt(twice.history);
    expect(after.filter((m) => m.origin === 'summary')).toHaveLength(1);
    expect(allText(after)).toContain('CONDENSED-2');
    expect(JSON.stringify(w.server.requestsOf('compact')[1]?.body)).toContain('CONDENSED-1');
    expect(w.server.violations).toEqual([]);
  });
});

it('a summary is what stands in its tags, or the whole reply without loud thinking', () => {
  expect(readSummary('x <summary>\na b\n</summary> y')).toBe('a b');
  expect(readSummary('<analysis>hm</analysis>\nplain')).toBe('plain');
  expect(readSummary('about <analysis> tags')).toBe('about <analysis> tags');
  expect(readSummary('<summary></summary>')).toBe('');
});
