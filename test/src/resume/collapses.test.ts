/** Collapses of a session outlive their process; so does what they stand for. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { QueryEngine } from '../../../src/query-engine.ts';
import { callTool, say, tooLong } from '../../../src/testing/index.ts';
import type { SDKMessage } from '../../../src/wire.ts';
import { findings, notesOf, onceStaged, textOf, WINDOW } from '../../tools/collapses.ts';
import { linesOf, openPlace } from './kit.ts';

let place: ReturnType<typeof openPlace>;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

const options = {
  tools: ['Bash'],
  systemPrompt: 'Be brief.',
  autoCompactWindow: WINDOW,
  settings: { contextCollapse: true },
} as const;
const finding = (n: number) => `finding-${n}-${n * 7_919}`;
const dig = (n: number) =>
  callTool('Bash', { command: `yes '${finding(n)} stands here' | head -c 8000` });
const digs = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => dig(from + at));

/** Eight rounds, two collapses of which are prepared; the first is put in place. */
const begun = (prompts: readonly string[] = ['dig']) =>
  place.run({
    script: {
      replies: [
        ...digs(0, 6),
        onceStaged(place.home, 1, dig(6)),
        onceStaged(place.home, 2, dig(7)),
        onceStaged(place.home, 2, say('done')),
        say('more'),
      ],
      collapses: [findings],
    },
    prompts,
    options,
  });
/** Without marks of the cache, which move on. */
const bare = (text: string) => text.replaceAll(/,"cache_control":\{[^}]*\}/g, '');
const uuidsOf = (line: Readonly<Record<string, unknown>> | undefined) =>
  (line?.uuids ?? []) as readonly string[];
const text = (engine: QueryEngine) => JSON.stringify(engine.messages);

describe('a session with collapses', () => {
  it('is resumed: the same prompt goes on, nothing is summed up twice', async () => {
    const first = await begun();
    const committed = notesOf(place.home, 'collapse-committed').flatMap(({ ids }) => ids);
    expect(committed.length).toBeGreaterThan(0);
    let originals: unknown;
    const again = await place.run({
      script: { replies: [say('good')], collapses: [findings] },
      // With more room, so that nothing new is put in place: a new process knows no usage yet.
      options: { ...options, autoCompactWindow: 40_000, resume: first.sessionId },
      drive: async function* (engine): AsyncGenerator<SDKMessage> {
        originals = engine.expandCollapse(String(committed[0]));
        yield* engine.submitMessage('go on');
      },
      finally: (engine) => {
        for (let n = 0; n < 8; n += 1) expect(text(engine)).toContain(`${finding(n)} stands`);
      },
    });
    expect(JSON.stringify(originals)).toContain(`${finding(0)} stands here`);
    const before = bare(textOf(first.requests.at(-1))).slice(0, -2);
    expect(bare(textOf(again.requests[0])).startsWith(before)).toBe(true);
  });

  it('its file is read by others as before: one message after the other, originals and all', async () => {
    await begun();
    const said = linesOf(place.home).filter(({ type }) => type === 'user' || type === 'assistant');
    expect(JSON.stringify(said)).not.toContain('FOLDED');
    let parent: unknown = null;
    for (const { uuid, parentUuid } of said) {
      expect(parentUuid).toBe(parent);
      parent = uuid;
    }
    expect(said.filter(({ type }) => type === 'assistant')).toHaveLength(9);
  });

  it('is forked with them, and without the gate everything is there word for word', async () => {
    const first = await begun();
    const fork = await place.run({
      script: { replies: [say('good')], collapses: [findings] },
      options: { ...options, resume: first.sessionId, forkSession: true },
    });
    expect(textOf(fork.requests[0])).toContain('FOLDED');
    const third = await place.run({
      script: { replies: [say('good')], collapses: [findings] },
      options: { ...options, resume: fork.sessionId },
    });
    expect(textOf(third.requests[0])).toContain('FOLDED');
    const off = await place.run({
      script: { replies: [say('good')] },
      options: { ...options, settings: {}, autoCompactWindow: 100_000, resume: first.sessionId },
    });
    expect(textOf(off.requests[0])).not.toContain('FOLDED');
    expect(textOf(off.requests[0])).toContain(`${finding(0)} stands here`);
  });

  it('is taken back into a collapse: what is left of it is word for word again', async () => {
    const first = await begun();
    const lines = linesOf(place.home);
    const [staged] = notesOf(place.home, 'collapse-staged');
    const inside = uuidsOf(staged)[1] ?? '';
    expect(lines.some(({ uuid }) => uuid === inside)).toBe(true);
    const again = await place.run({
      script: { replies: [say('from here')], collapses: [findings] },
      options: { ...options, resume: first.sessionId },
      drive: async function* (engine): AsyncGenerator<SDKMessage> {
        await engine.rewind(inside);
        yield* engine.submitMessage('another way');
      },
    });
    const body = textOf(again.requests[0]);
    expect(body).not.toContain('FOLDED');
    expect(body).toContain(`${finding(0)} stands here`);
    expect(body).not.toContain(finding(1));
  });

  it('is taken back behind a collapse: that one stands', async () => {
    const first = await begun();
    const [staged] = notesOf(place.home, 'collapse-staged');
    const last = uuidsOf(staged).at(-1) ?? '';
    const again = await place.run({
      script: { replies: [say('from here')], collapses: [findings] },
      prompts: ['another way'],
      options: { ...options, resume: first.sessionId, resumeSessionAt: last },
    });
    const body = textOf(again.requests[0]);
    expect(body).toContain('FOLDED');
    expect(body).not.toContain(`${finding(2)} stands here`);
  });

  it('a summary of everything ends them, also for the next process', async () => {
    const first = await begun(['dig', '/compact']);
    const again = await place.run({
      script: { replies: [say('good')], collapses: [findings] },
      prompts: ['go on'],
      options: { ...options, resume: first.sessionId },
      finally: (engine) => {
        const [staged] = notesOf(place.home, 'collapse-staged');
        expect(engine.expandCollapse(String(staged?.id))).toBeUndefined();
      },
    });
    expect(textOf(again.requests[0])).toContain('CONDENSED');
    expect(textOf(again.requests[0])).not.toContain('FOLDED');
  });

  it('a snip of a collapse drops the originals, also for the next process', async () => {
    const first = await place.run({
      script: {
        replies: [
          ...digs(0, 6),
          ...[6, 7, 8].map((n) => onceStaged(place.home, 2, dig(n))),
          say('done'),
          say('more'),
        ],
        collapses: [findings],
      },
      prompts: ['dig', 'more'],
      options,
      during: (said, engine) => {
        if (said.type !== 'result' || said.result !== 'done') return;
        const one = engine.messages.find((m) => JSON.stringify(m).includes(`${finding(6)} stands`));
        engine.snip(one?.uuid ?? '');
      },
    });
    const again = await place.run({
      script: { replies: [say('good')] },
      options: { ...options, resume: first.sessionId },
    });
    const body = textOf(again.requests[0]);
    expect(body).not.toContain(finding(0));
    expect(body).not.toContain('FOLDED');
    expect(body).toContain(`${finding(7)} stands here`);
  });

  it('a crash between preparing and putting in place loses nothing', async () => {
    let crashed = '';
    const first = await place.run({
      script: {
        replies: [...digs(0, 6), onceStaged(place.home, 1, say('almost there'))],
        collapses: [findings],
      },
      options,
      during: (said) => {
        if (JSON.stringify(said).includes('almost there')) crashed ||= place.crash();
      },
    });
    expect(notesOf(crashed, 'collapse-committed')).toEqual([]);
    const again = await place.run({
      home: crashed,
      script: { replies: [tooLong(), say('It fits.')], collapses: [say('not needed')] },
      options: { ...options, autoCompactWindow: 40_000, resume: first.sessionId },
    });
    expect(again.lines).toContain('→ collapse_drain_retry');
    expect(textOf(again.requests.at(-1))).toContain(`FOLDED: ${finding(0)}, ${finding(1)}`);
  });
});
