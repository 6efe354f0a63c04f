/** Old rounds are read as their summaries, prepared beside the loop. */
import { readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MemoryJournalStore } from '../../../services/journal/memory-store.ts';
import type { JournalRecord, JournalWriter } from '../../../services/journal/store.ts';
import type { QueryEngine } from '../../../src/query-engine.ts';
import {
  callTool,
  computed,
  message,
  say,
  serverError,
  silent,
  text,
  thinking,
  tooLong,
} from '../../../src/testing/index.ts';
import type { MessageReply, Step } from '../../../src/testing/script.ts';
import {
  collapsing,
  digs,
  dug,
  editsOf,
  findingOf,
  findings,
  notesOf,
  onceAllStaged,
  onceStaged,
  textOf,
  until,
} from '../../tools/collapses.ts';
import { answer, past, user } from '../../tools/past.ts';
import { type Told, tell } from '../../tools/story.ts';

const ROUNDS = 20;
/** Every reply waits until what could be prepared by then is prepared. */
const patient = (home: string, rounds = ROUNDS) =>
  [...digs(0, rounds), say('done')].map((step) => onceAllStaged(home, step));
/** Full when a line of this type comes; there is room again with the line after it. */
class LateStore extends MemoryJournalStore {
  readonly #type: string;
  late = 0;
  staged = 0;

  constructor(type: string) {
    super();
    this.#type = type;
  }

  override async open(sessionId: string): Promise<JournalWriter> {
    const writer = await super.open(sessionId);
    const waiting: JournalRecord[] = [];
    return {
      ...writer,
      get failure() {
        return waiting.length > 0 ? new Error('ENOSPC: no space left on device') : undefined;
      },
      append: (record) => {
        if (record.type === 'collapse-staged') this.staged += 1;
        if (record.type === this.#type) {
          this.late += 1;
          waiting.push(record);
          return;
        }
        for (const one of [...waiting.splice(0), record]) writer.append(one);
      },
    };
  }
}
const onceSaid = (store: LateStore, step: Step): Step =>
  computed(async () => {
    await until(() => store.staged > 0);
    return step as MessageReply;
  });
const summariesOf = ({ server }: Told) => server.requestsOf('compact').length;
const textOfHistory = (engine: QueryEngine) => JSON.stringify(engine.messages);

describe('context collapse', () => {
  it('makes room for twenty rounds: what was found is still known, and nothing is summed up', async () => {
    const told = await tell({
      script: ({ home }) => ({ replies: patient(home), collapses: [findings] }),
      prompts: ['dig for the-marked-request'],
      config: () => collapsing(),
      after: (engine, { home }) => {
        // The host has what was said, and can look behind each collapse.
        for (let n = 0; n < ROUNDS; n += 1) expect(textOfHistory(engine)).toContain(findingOf(n));
        const [first] = notesOf(home, 'collapse-staged');
        const originals = engine.expandCollapse(String(first?.id));
        expect(originals).toEqual(engine.messages.slice(1, 5));
        expect(engine.expandCollapse('nobody')).toBeUndefined();
      },
      check: (told) => {
        const last = textOf(told.requests.at(-1));
        for (let n = 0; n < ROUNDS; n += 1) expect(last).toContain(findingOf(n));
        expect(last).toContain('dig for the-marked-request');
        expect(last.match(/FOLDED/g)?.length).toBeGreaterThan(3);
        expect(summariesOf(told)).toBe(0);
        // What the model cannot see any more it can read: the note says where.
        const [path = ''] = /[^ "]+collapsed-[0-9a-f-]+\.txt/.exec(last) ?? [];
        expect(readFileSync(path, 'utf8')).toContain(`${findingOf(0)} stands here`);
        expect(statSync(path).mode & 0o777).toBe(0o600);
      },
    });
    const edits = editsOf(told.messages);
    expect(edits.length).toBeGreaterThan(2);
    for (const { tokens_freed, cache_tokens_lost = 0 } of edits) {
      expect(cache_tokens_lost).toBeGreaterThan(0);
      expect(tokens_freed).toBeGreaterThan((2 / 3) * cache_tokens_lost);
    }
    expect(told.server.requestsOf('collapse').every(({ body }) => body.tools === undefined)).toBe(
      true,
    );
  });

  it('the same without it needs summaries of everything', async () => {
    const told = await tell({
      script: { replies: [...digs(0, ROUNDS), say('done')] },
      config: () => collapsing({ gates: { contextCollapse: false } }),
    });
    expect(summariesOf(told)).toBeGreaterThan(0);
    expect(told.server.requestsOf('collapse')).toEqual([]);
  });

  it('a request finds all of the prompt that comes before a change in the cache', async () => {
    const told = await tell({
      script: ({ home }) => ({ replies: patient(home), collapses: [findings] }),
      config: () => collapsing(),
    });
    const bodies = told.requests.map(textOf);
    const changed = bodies.flatMap((body, n) => {
      const before =
        bodies[n - 1]?.slice(0, -2).replaceAll(/,"cache_control":\{[^}]*\}/g, '') ?? '';
      return body.replaceAll(/,"cache_control":\{[^}]*\}/g, '').startsWith(before) ? [] : [n];
    });
    expect(changed.length).toBe(editsOf(told.messages).length);
    // From the second collapse on, the ones before it are read from the cache.
    const reads = told.results[0]?.usage.cache_read_input_tokens ?? 0;
    expect(reads).toBeGreaterThan(0);
    for (const n of changed.slice(1)) expect(bodies[n]).toMatch(/FOLDED[^}]*","cache_control"/);
  });

  it('a jump over the threshold of a summary is cured by what is prepared', async () => {
    const told = await tell({
      script: ({ home }) => ({
        replies: [
          ...digs(0, 6),
          // 2 collapses are prepared by now; this round alone adds a third of the window.
          onceStaged(
            home,
            2,
            message(
              [1, 2, 3].map((n) => ({ type: 'tool_use', name: 'Dig', input: { n: 10 + n } })),
            ),
          ),
          say('done'),
        ],
        collapses: [findings],
      }),
      config: () => collapsing(),
    });
    expect(summariesOf(told)).toBe(0);
    expect(editsOf(told.messages)).toHaveLength(1);
  });

  it('what a person said and the newest rounds stay word for word', async () => {
    const told = await tell({
      script: ({ home }) => ({
        replies: [
          ...digs(0, 4),
          say('first part done'),
          ...digs(4, 6),
          ...digs(6, 9).map((dig) => onceStaged(home, 2, dig)),
          onceStaged(home, 2, say('done')),
        ],
        collapses: [findings],
      }),
      prompts: ['the first wish', 'the second wish'],
      config: () => collapsing(),
      except: ['usage'], // a summary may be on its way when the turn ends
    });
    const last = textOf(told.requests.at(-1));
    expect(last).toContain('the first wish');
    expect(last).toContain('the second wish');
    for (const n of [7, 8]) expect(last).toContain(`${findingOf(n)} stands here`);
    expect(last).not.toContain(`${findingOf(0)} stands here`);
  });
});

describe('staging', () => {
  it('an interrupt ends a summary that is on its way; what it has used counts', async () => {
    let isOnItsWay = () => false;
    const told = await tell({
      script: {
        replies: [
          ...digs(0, 6),
          computed(async () => {
            await until(() => isOnItsWay());
            return message([text('never ends')], { fault: { kind: 'stall', after: { block: 0 } } });
          }),
          say('back again'),
        ],
        collapses: [
          message([text('half of')], { fault: { kind: 'stall', after: { block: 0, delta: 0 } } }),
        ],
      },
      prompts: ['dig', 'go on'],
      config: () => collapsing(),
      begin: (_, { server }) => {
        isOnItsWay = () => server.log.some((entry) => entry.type === 'fault');
      },
      during: (said, engine) => {
        if (JSON.stringify(said).includes('never ends')) engine.interrupt();
      },
      check: ({ home }) => expect(notesOf(home, 'collapse-staged')).toEqual([]),
    });
    expect(told.results.map((r) => r.terminal_reason)).toEqual(['aborted_streaming', 'completed']);
    const [request] = told.server.requestsOf('collapse');
    expect(request).toBeDefined();
    const [interrupted] = told.results;
    const tokens = Object.values(interrupted?.usage ?? {}).reduce((sum, n) => sum + n, 0);
    expect(tokens).toBeGreaterThan(9_000); // the loop's last prompt, and that of the summary
  });

  it('the end of the turn does not wait for it, and the next turn begins anew', async () => {
    let hang = true;
    const told = await tell({
      script: ({ home }) => ({
        replies: [...digs(0, 6), say('done'), onceStaged(home, 2, say('done again'))],
        collapses: [
          computed(
            (request, n) => {
              if (!hang) return findings.reply(request, n);
              hang = false;
              return message([text('x')], { fault: { kind: 'stall', after: 'message_start' } });
            },
            { times: 'always' },
          ),
        ],
      }),
      prompts: ['dig', 'go on'],
      config: () => collapsing(),
      except: ['usage'], // a prompt that is aborted is told in part, or not at all
      check: ({ home }) => expect(notesOf(home, 'collapse-staged').length).toBeGreaterThan(1),
    });
    expect(told.results.map((r) => r.terminal_reason)).toEqual(['completed', 'completed']);
  });

  it.each([
    ['the server fails', serverError()],
    ['the summary is empty', say('  ')],
    ['the summary is cut', say('half', { stopReason: 'max_tokens' })],
    ['it does not answer', silent()],
    [
      'its stream dies',
      message([text('half of it')], { fault: { kind: 'cut', after: { block: 0 } } }),
    ],
    [
      'its stream is no stream',
      message([text('x')], { fault: { kind: 'garbage', after: 'message_start' } }),
    ],
    ['it refuses', say('No.', { stopReason: 'refusal' })],
    ['it makes a call', callTool('Dig', { n: 1 })],
    ['it only thinks', message([thinking('hm')])],
  ])('%s: three times and no more, and the turn is none the worse', async (_, reply) => {
    const told = await tell({
      script: {
        replies: [...digs(0, 14), say('done')],
        collapses: [reply],
      },
      config: () => collapsing(),
      except: ['usage'],
    });
    expect(told.last.terminal_reason).toBe('completed');
    expect(told.server.requestsOf('collapse').length).toBeLessThanOrEqual(3);
    expect(editsOf(told.messages)).toEqual([]);
  });

  it('a summary as long as what it stands for: twice a portion, and those behind it come too', async () => {
    const told = await tell({
      script: {
        replies: [...digs(0, 14), say('done')],
        collapses: [computed(() => say('many words '.repeat(900)), { times: 'always' })],
      },
      config: () => collapsing(),
      except: ['usage'],
    });
    expect(told.last.terminal_reason).toBe('completed');
    const asked = told.server
      .requestsOf('collapse')
      .map(({ body }) => JSON.stringify(body.messages));
    expect(new Set(asked).size).toBeGreaterThan(1);
    for (const one of asked) expect(asked.filter((other) => other === one).length).toBeLessThan(3);
    expect(editsOf(told.messages)).toEqual([]);
  });

  it.each(['collapse-staged', 'collapse-committed', 'read-as'])(
    'a disk that takes the line %s later, and no sooner, fails no turn',
    async (type) => {
      const store = new LateStore(type);
      const told = await tell({
        script: {
          replies: [...digs(0, 6), ...digs(6, 9).map((dig) => onceSaid(store, dig)), say('done')],
          collapses: [findings],
        },
        config: () => collapsing({ journal: store }),
        except: ['usage'],
      });
      expect(told.last).toMatchObject({ terminal_reason: 'completed', errors: [] });
      expect(store.late).toBeGreaterThan(0);
      expect(editsOf(told.messages).length).toBeGreaterThan(0);
    },
  );

  it('costs nothing that the budget has not: then there is none', async () => {
    const told = await tell({
      script: { replies: [...digs(0, 8), say('done')], collapses: [findings] },
      config: () => collapsing({ maxBudgetUsd: 0.12 }),
      except: ['usage'],
    });
    expect(told.server.requestsOf('collapse')).toEqual([]);
    const rich = await tell({
      script: ({ home }) => ({
        replies: [...digs(0, 8), onceStaged(home, 1, say('done'))],
        collapses: [findings],
      }),
      config: () => collapsing({ maxBudgetUsd: 10 }),
      except: ['usage'],
    });
    expect(rich.server.requestsOf('collapse').length).toBeGreaterThan(0);
  });

  it('another model does it when one is named', async () => {
    const told = await tell({
      script: ({ home }) => ({
        replies: [...digs(0, 7), onceStaged(home, 1, say('done'))],
        collapses: [findings],
      }),
      config: () => collapsing({ smallModel: 'claude-haiku-4-5' }),
      except: ['usage'],
    });
    const models = told.server.requestsOf('collapse').map(({ body }) => body.model);
    expect(new Set(models)).toEqual(new Set(['claude-haiku-4-5']));
    expect(Object.keys(told.last.modelUsage)).toContain('claude-haiku-4-5');
  });
});

describe('a prompt that is too long', () => {
  it('is cured by everything that is prepared, at once; a second time by a summary', async () => {
    const told = await tell({
      script: ({ home }) => ({
        replies: [...digs(0, 6), onceStaged(home, 2, tooLong()), tooLong(), say('It fits.')],
        collapses: [findings],
      }),
      config: () => collapsing(),
      except: ['usage'],
    });
    expect(told.transitions.slice(-2)).toEqual(['collapse_drain_retry', 'reactive_compact_retry']);
    expect(editsOf(told.messages).map((edit) => edit.collapse_ids?.length)).toEqual([2]);
    expect(summariesOf(told)).toBe(1);
  });
});

describe('beside other changes of the past', () => {
  const folded = {
    script: ({ home }: { home: string }) => ({
      replies: [...patient(home, 10), say('after it'), say('and on')],
      collapses: [findings],
    }),
    config: () => collapsing(),
    except: ['usage'] as const,
  };

  it('a snip takes a collapse with all that it stands for', async () => {
    const told = await tell({
      ...folded,
      prompts: ['dig', 'the next wish'],
      during: (said, engine) => {
        if (said.type !== 'result' || said.result !== 'done') return;
        const sixth = engine.messages.find((m) => JSON.stringify(m).includes(`${findingOf(6)} `));
        engine.snip(sixth?.uuid ?? '');
      },
      after: (engine) => {
        expect(textOfHistory(engine)).not.toContain(findingOf(0));
        expect(textOfHistory(engine)).toContain(findingOf(7));
      },
    });
    const snip = told.messages.find(
      (m) => m.type === 'system' && m.subtype === 'context_edit' && m.stage === 'snip',
    );
    const shown = new Set(told.messages.map(({ uuid }) => uuid));
    const ids = snip?.type === 'system' && snip.subtype === 'context_edit' ? snip.ids : [];
    expect(ids.length).toBeGreaterThan(4);
    // A store of the host knows all of them but the prompt, which it has said itself.
    expect(ids.filter((id) => !shown.has(id)).length).toBeLessThanOrEqual(1);
    expect(textOf(told.requests.at(-1))).not.toContain('FOLDED');
  });

  it('a summary of everything takes collapses up, and the work goes on', async () => {
    const told = await tell({
      ...folded,
      prompts: ['dig', '/compact', 'the next wish'],
    });
    const last = textOf(told.requests.at(-1));
    expect(last).toContain('CONDENSED');
    expect(last).not.toContain('FOLDED');
    const [asked] = told.server.requestsOf('compact');
    expect(textOf(asked)).toContain('FOLDED');
  });

  it('an agent has collapses of its own', async () => {
    const ofAgent = (step: Step): Step => ({
      ...(step as MessageReply),
      when: { systemIncludes: 'You dig.' },
    });
    const told = await tell({
      script: ({ home }) => ({
        replies: [
          ...digs(0, 6).map(ofAgent),
          ...digs(6, 9).map((dig) => ofAgent(onceStaged(home, 2, dig, 'agent-collapse-staged'))),
          ofAgent(say('dug')),
          callTool('Task', { description: 'dig', prompt: 'dig deep', subagent_type: 'digger' }),
          say('done'),
        ],
        collapses: [findings],
      }),
      config: ({ tools }) =>
        collapsing({
          tools: [...(collapsing().tools ?? []), ...tools.filter(({ name }) => name === 'Task')],
          agents: [{ name: 'digger', description: 'digs', prompt: 'You dig.' }],
        }),
      except: ['usage'],
      after: (engine) => expect(textOfHistory(engine)).not.toContain('FOLDED'),
      check: ({ home }) => {
        expect(notesOf(home, 'agent-collapse-staged').length).toBeGreaterThan(0);
        expect(notesOf(home, 'collapse-staged')).toEqual([]);
      },
    });
    const [edit] = editsOf(told.messages);
    expect(edit?.parent_tool_use_id).toEqual(expect.any(String));
    expect(told.last.result).toBe('done');
  });

  it('the model reads the file with the originals without asking anybody', async () => {
    const read = computed((request) => {
      const [path = ''] = /[^ "]+collapsed-[0-9a-f-]+\.txt/.exec(textOf(request)) ?? [];
      return callTool('Grep', { pattern: findingOf(0), path, output_mode: 'content' });
    });
    const told = await tell({
      script: ({ home }) => ({
        replies: [onceStaged(home, 4, tooLong()), read, say('done')],
        collapses: [say('FOLDED without the finding')],
      }),
      options: { permissionMode: 'default' },
      config: ({ tools }) =>
        collapsing({
          initialMessages: dug(5),
          tools: [...(collapsing().tools ?? []), ...tools.filter(({ name }) => name === 'Grep')],
        }),
    });
    expect(told.last.permission_denials).toEqual([]);
    expect(textOf(told.requests.at(-1))).toContain(findingOf(0));
  });

  it('is off unless it is asked for', async () => {
    const long = past(
      ...Array.from({ length: 12 }, (_, i) => [
        user(`prompt ${i}`),
        answer(`m${i}`, `answer ${i} ${'a'.repeat(3_000)}`),
      ]).flat(),
    );
    const told = await tell({
      script: { replies: [say('done')] },
      config: () => ({ initialMessages: long, autoCompactWindow: 24_000 }),
    });
    expect(told.server.requestsOf('collapse')).toEqual([]);
  });
});
