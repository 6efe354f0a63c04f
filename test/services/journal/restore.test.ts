import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileJournalStore } from '../../../services/journal/file-store.ts';
import { type Restored, restore } from '../../../services/journal/restore.ts';
import { openTranscript, type Transcript } from '../../../services/journal/transcript.ts';
import type { LogMessage } from '../../../services/messages.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'escapement-restore-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const store = () => new FileJournalStore({ folder });
let ids = 0;
const open = async (options: { isResumed?: boolean; tip?: string | null } = {}) => {
  const transcript = openTranscript({
    path: join(folder, 's.jsonl'),
    openWriter: () => store().open('s'),
    sessionId: 's',
    cwd: '/w',
    version: '0',
    now: () => new Date(0),
    uuid: () => {
      ids += 1;
      return `id-${ids}`;
    },
    onFailure: () => {},
    ...options,
  });
  await transcript.open();
  return transcript;
};
const base = { timestamp: new Date(0).toISOString() };
const prompt = (uuid: string): LogMessage => ({
  ...{ ...base, uuid, role: 'user', kind: 'note', origin: 'prompt' },
  content: [{ type: 'text', text: uuid }],
});
const said = (uuid: string, apiId = `api-${uuid}`): LogMessage => ({
  ...{ ...base, uuid, role: 'assistant', kind: 'text', origin: 'model', apiId, model: 'm' },
  content: [{ type: 'text', text: uuid }],
});
const called = (uuid: string, id: string, apiId = `api-${uuid}`): LogMessage => ({
  ...{ ...base, uuid, role: 'assistant', kind: 'tool_use', origin: 'model', apiId, model: 'm' },
  toolUseId: id,
  content: [{ type: 'tool_use', id, name: 'Bash', input: { command: 'ls' } }],
});
const read = async (options: { at?: string } = {}): Promise<Restored> => {
  const restored = await restore(store(), 's', options);
  if (!restored) throw new Error('no session');
  return restored;
};
const uuids = ({ messages }: Restored) => messages.map(({ uuid }) => uuid);
const write = async (work: (transcript: Transcript) => void, options = {}) => {
  const transcript = await open(options);
  work(transcript);
  await transcript.close();
};
const foreign = (...lines: readonly (object | string)[]) => {
  mkdirSync(folder, { recursive: true });
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  writeFileSync(join(folder, 's.jsonl'), `${text.join('\n')}\n`);
};

describe('what was said comes back', () => {
  it('byte for byte: thinking, calls, results, what the host alone sees', async () => {
    const thinking: LogMessage = {
      ...said('t', 'api'),
      kind: 'thinking',
      content: [{ type: 'thinking', thinking: 'hm\u2028"', signature: 'c2ln' }],
    };
    const cut: LogMessage = {
      ...called('c', 'toolu_1', 'api'),
      unreadable: { raw: '{"comm', cause: 'cut', detail: 'x' },
    };
    const result: LogMessage = {
      ...{ ...base, uuid: 'r', role: 'user', kind: 'tool_result', origin: 'tool' },
      toolUseId: 'toolu_1',
      isMeta: true,
      toolUseResult: { exitCode: 1 },
      content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'no', is_error: true }],
    };
    const all = [prompt('p'), thinking, cut, result];
    await write((transcript) => {
      for (const message of all) transcript.record(message);
    });
    expect((await read()).messages).toEqual(all);
  });

  it('without what was taken back, and as what ran', async () => {
    await write((t) => {
      t.record(prompt('p'));
      t.record(said('a', 'x'));
      t.record(said('b', 'x'));
      t.retract('a');
      t.retract('b');
      t.record(called('c', 'toolu_1'));
      const edited = called('c', 'toolu_1');
      t.amend({
        ...edited,
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'pwd' } }],
      });
    });
    const restored = await read();
    expect(uuids(restored)).toEqual(['p', 'c']);
    expect(restored.messages[1]?.content[0]).toMatchObject({ input: { command: 'pwd' } });
    const lines = readFileSync(join(folder, 's.jsonl'), 'utf8').trimEnd().split('\n');
    const line = lines.map((one) => JSON.parse(one)).find(({ uuid }) => uuid === 'c');
    expect(line.parentUuid).toBe('p');
  });

  it('when the crash came between two retractions', async () => {
    await write((t) => {
      for (const message of [prompt('p'), said('a', 'x'), said('b', 'x')]) t.record(message);
      t.retract('a');
    });
    expect(uuids(await read())).toEqual(['p', 'b']);
  });

  it('subagents have a line of their own, and no place in the conversation', async () => {
    await write((t) => {
      t.record(prompt('p'));
      t.record({ ...said('sub'), parentToolUseId: 'toolu_1' });
      t.record(said('a'));
    });
    const restored = await read();
    expect(uuids(restored)).toEqual(['p', 'a']);
    expect(restored.gaps).toBe(0);
  });
});

describe('what is known of the turn that was cut off', () => {
  it('its prompts, its turns, its calls', async () => {
    await write((t) => {
      t.record(prompt('old'));
      t.record(said('a'));
      t.note('result', { terminal_reason: 'completed' });
      t.record(prompt('p'));
      t.note('transition', { reason: 'next_turn' });
      t.note('transition', { reason: 'stream_resume' });
      t.record(called('c', 'toolu_1'));
      t.note('tool_started', { toolUseId: 'toolu_1', name: 'Bash' });
      t.note('tool_finished', { toolUseId: 'toolu_1', name: 'Bash' });
      t.note('tool_started', { toolUseId: 'toolu_2', name: 'Bash' });
      t.used(
        'm',
        {
          input_tokens: 1,
          output_tokens: 2,
          cache_read_input_tokens: 3,
          cache_creation_input_tokens: 4,
        },
        0.1,
      );
      t.used(
        'm',
        {
          input_tokens: 10,
          output_tokens: 0,
          cache_read_input_tokens: 0,
          cache_creation_input_tokens: 0,
        },
        0.1,
      );
    });
    const restored = await read();
    expect(restored).toMatchObject({ isInterrupted: true, openPrompts: ['p'], turnsSpent: 1 });
    expect([...restored.ledger]).toEqual([
      ['toolu_2', { name: 'Bash', isFinished: false }],
      ['toolu_1', { name: 'Bash', isFinished: true }],
    ]);
    expect(restored.totals).toEqual({
      m: {
        input_tokens: 11,
        output_tokens: 2,
        cache_read_input_tokens: 3,
        cache_creation_input_tokens: 4,
      },
    });
    expect(restored.costs).toEqual({ m: expect.closeTo(0.2) });
  });

  it('nothing, when it has a result', async () => {
    await write((t) => {
      t.record(prompt('p'));
      t.note('result', { terminal_reason: 'tool_deferred' });
    });
    const restored = await read();
    expect(restored).toMatchObject({ isInterrupted: false, openPrompts: [], isDeferred: true });
  });

  it('prompts that no turn has taken, unless they were taken back', async () => {
    await write((t) => {
      t.record(prompt('p'));
      for (const uuid of ['q1', 'q2', 'q3']) {
        t.note('queue-operation', { operation: 'enqueue', uuid, message: prompt(uuid) });
      }
      t.note('queue-operation', { operation: 'remove', uuid: 'q2' });
      t.record(prompt('q1'));
    });
    expect((await read()).queued.map(({ uuid }) => uuid)).toEqual(['q3']);
  });
});

describe('a summary', () => {
  const compacted = (t: Transcript, history: readonly LogMessage[]) =>
    t.compacted({
      ...{ trigger: 'auto', preTokens: 9, postTokens: 1, history, promptUuids: ['p'], queued: [] },
      totals: {
        m: {
          input_tokens: 5,
          output_tokens: 0,
          cache_read_input_tokens: 0,
          cache_creation_input_tokens: 0,
        },
      },
      costs: { m: 0.25 },
    });
  const summary: LogMessage = { ...prompt('sum'), origin: 'summary', isMeta: true };

  it('is where the conversation goes on: nothing older is read', async () => {
    await write((t) => {
      t.record(prompt('p'));
      for (let n = 0; n < 50; n += 1) t.record(said(`old-${n}`));
      compacted(t, [summary, said('old-49')]);
      t.record(said('new'));
    });
    const restored = await read();
    expect(uuids(restored)).toEqual(['sum', 'old-49', 'new']);
    expect(restored.totals.m?.input_tokens).toBe(5);
    expect(restored.costs).toEqual({ m: 0.25 });
    expect(restored).toMatchObject({ isInterrupted: true, openPrompts: ['p'] });
    const lines = readFileSync(join(folder, 's.jsonl'), 'utf8').trimEnd().split('\n');
    const boundary = lines.map((line) => JSON.parse(line)).find(({ type }) => type === 'system');
    expect(boundary).toMatchObject({
      subtype: 'compact_boundary',
      parentUuid: null,
      logicalParentUuid: 'old-49',
    });
    expect(lines.some((line) => line.includes('"isCompactSummary":true'))).toBe(true);
  });

  it('also when the crash came right behind the boundary', async () => {
    await write((t) => {
      t.record(prompt('p'));
      compacted(t, [summary, said('kept')]);
    });
    const path = join(folder, 's.jsonl');
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    writeFileSync(
      path,
      `${lines.filter((line) => !line.includes('isCompactSummary')).join('\n')}\n`,
    );
    const restored = await read();
    expect(uuids(restored)).toEqual(['sum', 'kept']);
    await write((t) => t.record(said('next')), { isResumed: true, tip: restored.tip });
    expect(uuids(await read())).toEqual(['sum', 'kept', 'next']);
  });

  it('is passed over when the conversation was taken back to before it', async () => {
    await write((t) => {
      t.record(prompt('p'));
      t.record(said('a'));
      t.record(said('b'));
      compacted(t, [summary, said('b')]);
      t.record(said('c'));
      t.rewind('a');
      t.record(prompt('other'));
    });
    expect(uuids(await read())).toEqual(['p', 'a', 'other']);
    expect(uuids(await read({ at: 'c' }))).toEqual(['sum', 'b', 'c']);
    expect(uuids(await read({ at: 'b' }))).toEqual(['sum', 'b']);
  });
});

describe('a snip', () => {
  it('what was dropped stays dropped, also the mark of the snip before', async () => {
    const boundary = (uuid: string): LogMessage => ({ ...prompt(uuid), origin: 'repair' });
    await write((t) => {
      for (const message of [prompt('p'), said('a'), prompt('q'), said('b')]) t.record(message);
      t.note('snip', { dropped: ['p', 'a~00ff'], boundary: boundary('cut-1') });
      t.record(prompt('r'));
      t.record(said('c'));
      t.note('snip', { dropped: ['cut-1', 'q', 'b'], boundary: boundary('cut-2') });
      t.record(said('d'));
    });
    expect(uuids(await read())).toEqual(['cut-2', 'r', 'c', 'd']);
    expect(uuids(await read({ at: 'b' }))).toEqual(['cut-1', 'q', 'b']);
  });
});

describe('TRN-04 branches', () => {
  it('the newest one, and every other by its last message', async () => {
    await write((t) => {
      for (const message of [prompt('p'), said('a'), prompt('q'), said('b')]) t.record(message);
      t.rewind('a');
      for (const message of [prompt('q2'), said('b2')]) t.record(message);
    });
    expect(uuids(await read())).toEqual(['p', 'a', 'q2', 'b2']);
    expect(uuids(await read({ at: 'b' }))).toEqual(['p', 'a', 'q', 'b']);
    await expect(read({ at: 'nowhere' })).rejects.toThrow('message nowhere is not in session s');
  });

  it('taken back and then nothing: it ends where it was taken back to', async () => {
    await write((t) => {
      for (const message of [prompt('p'), said('a'), prompt('q')]) t.record(message);
      t.rewind('a');
    });
    expect(await read()).toMatchObject({ tip: 'a', isInterrupted: false, openPrompts: [] });
    await write((t) => t.rewind(null), { isResumed: true, tip: 'a' });
    expect(uuids(await read())).toEqual([]);
  });

  const text = (words: string) => [{ type: 'text', text: words }];
  const use = (id: string) => [{ type: 'tool_use', id, name: 'Read', input: {} }];
  const result = (id: string) => [{ type: 'tool_result', tool_use_id: id, content: id }];
  const user = (uuid: string, parentUuid: string | null, content: unknown) => ({
    ...{ type: 'user', uuid, parentUuid, timestamp: base.timestamp },
    message: { role: 'user', content },
  });
  const assistant = (uuid: string, parentUuid: string, id: string, content: unknown) => ({
    ...{ type: 'assistant', uuid, parentUuid, timestamp: base.timestamp },
    message: { id, role: 'assistant', model: 'm', content },
  });
  const progress = (uuid: string, parentUuid: string) => ({ type: 'progress', uuid, parentUuid });

  it('of another program: parallel calls as siblings, notices in between', async () => {
    foreign(
      user('u1', null, 'go'),
      assistant('a1', 'u1', 'msg_1', use('A')),
      progress('p1', 'a1'),
      assistant('a2', 'u1', 'msg_1', use('B')),
      user('r1', 'a1', result('A')),
      progress('p2', 'r1'),
      user('r2', 'a2', result('B')),
      assistant('a3', 'p2', 'msg_2', text('done')),
      user('u2', 'a3', 'more'),
      assistant('a4', 'u2', 'msg_3', text('yes')),
    );
    const restored = await read();
    expect(uuids(restored)).toEqual(['u1', 'a1', 'a2', 'r1', 'r2', 'a3', 'u2', 'a4']);
    expect(restored).toMatchObject({ gaps: 0, isOwn: false, isInterrupted: false });
  });

  it('of another program: several blocks in a line, errors that were only shown', async () => {
    foreign(
      user('u1', null, 'go'),
      assistant('a1', 'u1', 'msg_1', [...text('I look'), ...use('A')]),
      { ...assistant('e', 'a1', 'msg_e', text('API Error')), isApiErrorMessage: true },
      user('r1', 'a1', result('A')),
    );
    const restored = await read();
    expect(uuids(restored)).toEqual(['u1', 'a1', 'a1#1', 'r1']);
    expect(restored.messages[2]).toMatchObject({
      kind: 'tool_use',
      toolUseId: 'A',
      apiId: 'msg_1',
    });
  });

  it('TRN-02: bad lines are counted, and what stands around them is joined', async () => {
    const exchange = (n: number, parent: string | null) => [
      user(`u${n}`, parent, `question ${n}`),
      assistant(`a${n}`, `u${n}`, `msg_${n}`, text(`answer ${n}`)),
    ];
    const lines: (object | string)[] = [];
    for (let n = 0; n < 10; n += 1) lines.push(...exchange(n, n === 0 ? null : `a${n - 1}`));
    lines[7] = '\0'.repeat(300);
    lines[11] = '{"type":"user"';
    lines[14] = '42';
    foreign(...lines);
    const restored = await read();
    const expected = lines.flatMap((line) =>
      typeof line === 'string' ? [] : [(line as { uuid: string }).uuid],
    );
    expect(uuids(restored)).toEqual(expected);
    expect(restored).toMatchObject({ damagedLines: 3, gaps: 3 });
  });
});

it('a session of a newer version is refused, not misread', async () => {
  foreign({ type: 'escapement', schema: 99, sessionId: 's' });
  await expect(read()).rejects.toThrow(/newer version \(schema 99/);
});

it('there is nothing where there is no file', async () => {
  expect(await restore(store(), 's')).toBeUndefined();
});
