/** A session as the inspector sees it: over the real engine and a real socket. */
import { expect, it } from 'vitest';
import type { Piece, RequestDiff } from '../../src/inspect/protocol.ts';
import { type Inspector, startInspector } from '../../src/inspect/start-inspector.ts';
import { callTool, say } from '../../src/testing/replies.ts';
import { tell } from '../tools/story.ts';
import { openPage, type Page } from './page.ts';

/** Of the form of a key; in parts, so that no scanner takes it for one. */
const secret = ['sk', 'ant', 'api03', 'abcdefghij'.repeat(3)].join('-');
const json = async <T>(url: string): Promise<T> => (await fetch(url)).json() as Promise<T>;

it('steps, messages, requests, services and deadlines of a turn with a tool', async () => {
  let inspector: Inspector | undefined;
  let page: Page | undefined;
  await tell({
    script: {
      replies: [callTool('Bash', { command: `echo ${secret}` }), say('All is well.')],
    },
    begin: async (engine) => {
      inspector = await startInspector(engine);
      page = openPage(inspector.url);
      await page.hello();
    },
    after: async () => {
      if (!page || !inspector) throw new Error('not opened');
      const { url } = inspector;
      await page.until(() => page?.all('message').some(({ effect }) => effect === 'ends') ?? false);
      const [instance] = page.all('instance');
      expect(instance).toMatchObject({ role: 'query', title: 'do it', status: 'active' });
      expect(page.all('instance').at(-1)).toMatchObject({ status: 'done', reason: 'completed' });
      const steps = page.all('step');
      expect(steps.map(({ reason }) => reason).filter(Boolean)).toEqual(['next_turn', 'completed']);
      expect(steps[0]).toMatchObject({ n: 0, from: [], to: ['query.preprocess.toolResultBudget'] });
      expect(steps[0]?.diff[0]).toMatchObject({ op: 'init' });
      for (const [at, step] of steps.entries()) {
        expect(step.n).toBe(at);
        // from where it came to rest the last time, however many transitions were taken since
        expect(step.from).toEqual(steps[at - 1]?.to ?? []);
      }
      expect(steps.at(-1)).toMatchObject({
        ...{ from: ['query.stopHooks.evaluating'], to: ['query.terminal'] },
      });
      const called = steps.find(({ event }) => event === 'stream.toolUse');
      expect(called?.edges).toEqual([{ id: 'query.sampling.streaming|stream.toolUse|1' }]);
      expect(called?.actions).toEqual(['record', 'feedTools']);
      expect(called?.diff).toContainEqual(
        expect.objectContaining({ op: 'append', path: ['openToolUses'], from: 0, to: 1 }),
      );
      const said = page.all('message').filter(({ effect }) => effect === 'says');
      expect(said.map(({ speaker }) => speaker)).toEqual(['user', 'model', 'tool', 'model']);
      const requests = page.all('request');
      expect(
        requests.map(({ querySource, iteration, attempt }) => [querySource, iteration, attempt]),
      ).toEqual([
        ['main', 1, 1],
        ['main', 2, 1],
      ]);
      expect(page.all('answer').every(({ usage, usd }) => usage.output > 0 && usd !== null)).toBe(
        true,
      );
      const body = await json<Piece>(`${url}request?id=${requests[1]?.id}&path=["messages"]`);
      expect(JSON.stringify(body.value)).toContain('tool_result');
      const diff = await json<RequestDiff>(`${url}request-diff?id=${requests[1]?.id}`);
      expect(diff).toMatchObject({ previous: requests[0]?.id, sameMessages: 1 });
      expect(diff.ops.some(({ op, path }) => op === 'append' && path[0] === 'messages')).toBe(true);
      const model = page.all('service').filter(({ name }) => name === 'callModel');
      expect(model.map(({ status, state }) => [status, state])).toEqual([
        ['active', 'query.sampling'],
        ['stopped', 'query.sampling'],
        ['active', 'query.sampling'],
        ['stopped', 'query.sampling'],
      ]);
      const waits = page.all('deadline').filter(({ name }) => name === 'requestMs');
      expect(waits.map(({ status, ms }) => [status, ms])).toEqual([
        ['running', 150_000],
        ['met', 150_000],
        ['running', 150_000],
        ['met', 150_000],
      ]);
      // The wait for the begin of the answer is over when it begins, not when the next one does.
      const firstMet = waits[1]?.seq ?? 0;
      expect(firstMet).toBeLessThan(called?.seq ?? 0);
      const context = await json<Piece>(`${url}context?seq=${called?.seq}&path=["openToolUses",0]`);
      expect(context.value).toMatchObject({ deadlineMs: expect.any(Number) });
      // Nothing that is secret leaves, whatever is asked for.
      const everything = await (await fetch(`${url}export.jsonl`)).text();
      for (const text of [JSON.stringify(page.entries), everything, JSON.stringify(body)]) {
        expect(text).not.toContain('abcdefghij');
        expect(text).not.toContain('a key of no value');
      }
      expect(everything).toContain('echo [redacted]');
    },
    check: async () => {
      await page?.ended;
      await inspector?.close();
    },
  });
});

it('a page that comes back gets what it has not seen', async () => {
  let first: Page | undefined;
  let inspector: Inspector | undefined;
  await tell({
    script: { replies: [say('one'), say('two')] },
    prompts: ['a', 'b'],
    begin: async (engine) => {
      inspector = await startInspector(engine);
      first = openPage(inspector.url);
    },
    during: async (message) => {
      if (message.type !== 'result' || message.result !== 'one') return;
      await first?.until(() => first?.entries.some(({ kind }) => kind === 'answer') ?? false);
      first?.close();
    },
    after: async () => {
      const last = first?.entries.at(-1)?.seq ?? 0;
      const again = openPage(inspector?.url ?? '', last);
      await again.until(() => again.all('message').some(({ effect }) => effect === 'ends'));
      expect(again.entries[0]?.seq).toBe(last + 1);
      const seqs = again.entries.map(({ seq }) => seq);
      expect(seqs).toEqual(seqs.map((_, at) => last + 1 + at));
      again.close();
    },
    check: () => inspector?.close(),
  });
});

it('MACH-01 what a page hears of a step does not grow with what was said, and holds no key', async () => {
  let inspector: Inspector | undefined;
  let page: Page | undefined;
  const words = 'a line of a long output 1234567890\n';
  const command = `yes '${words.trim()}' | head -n 700`;
  const sizes = new Map<string, number>();
  await tell({
    script: {
      replies: [1, 2, 3]
        .map((n) => callTool('Bash', { command: `${command} # ${n}` }))
        .concat(say('done')),
    },
    begin: async (engine) => {
      inspector = await startInspector(engine);
      page = openPage(inspector.url);
      await page.hello();
    },
    after: async () => {
      if (!page) throw new Error('not opened');
      const { entries, all, until } = page;
      await until(() => all('message').some(({ effect }) => effect === 'ends'));
      const said = JSON.stringify(entries);
      expect(said).not.toContain('a key of no value');
      expect(said).not.toMatch(/x-api-key|text_delta/);
      for (const entry of entries) {
        const { length } = JSON.stringify(entry);
        sizes.set(entry.kind, Math.max(sizes.get(entry.kind) ?? 0, length));
        const body = JSON.stringify(words.repeat(20)).slice(1, -1);
        if (entry.kind !== 'message') expect(JSON.stringify(entry)).not.toContain(body);
      }
      // 75 kB were read: a step tells of ids and counts, a message of its begin
      expect(sizes.get('step')).toBeLessThan(16_000);
      expect(sizes.get('message')).toBeLessThan(16_000);
      page.close();
    },
    check: () => inspector?.close(),
  });
});
