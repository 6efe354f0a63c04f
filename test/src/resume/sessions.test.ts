import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileJournalStore } from '../../../services/journal/file-store.ts';
import { MemoryJournalStore } from '../../../services/journal/memory-store.ts';
import { sweepOldFiles } from '../../../services/journal/retention.ts';
import {
  deleteSession,
  exportSession,
  getSessionInfo,
  listSessions,
  renameSession,
} from '../../../src/sessions.ts';
import { callTool, message, say, text, toolUse } from '../../../src/testing/index.ts';
import { UsageError } from '../../../src/usage-error.ts';
import { conversationOf, linesOf, openPlace } from './kit.ts';

let place: ReturnType<typeof openPlace>;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

const usage = (input: number, output: number) => ({
  usage: { input_tokens: input, output_tokens: output },
});
const project = (home = place.home) =>
  join(home, 'projects', place.cwd.replace(/[^a-zA-Z0-9]/g, '-'));

describe('going on with a session', () => {
  it('the same request as if the process had never ended: the cache holds', async () => {
    const big = 'big '.repeat(20_000);
    writeFileSync(join(place.cwd, 'big.txt'), big);
    const first = await place.run({
      script: {
        replies: [
          message([text('I look'), toolUse('Bash', { command: 'cat big.txt' })]),
          say('seen'),
        ],
      },
    });
    const again = await place.run({
      script: { replies: [say('more')] },
      prompts: ['and then?'],
      options: { resume: first.sessionId },
    });
    const before = first.requests.at(-1)?.body.messages as readonly unknown[];
    const after = again.requests[0]?.body.messages as readonly unknown[];
    const plain = (messages: readonly unknown[]) =>
      JSON.parse(
        JSON.stringify(messages, (key, value) => (key === 'cache_control' ? undefined : value)),
      );
    expect(plain(after).slice(0, before.length)).toEqual(plain(before));
    expect(JSON.stringify(after)).not.toContain(big);
    const fork = await place.run({
      script: { replies: [say('fork')] },
      options: { resume: first.sessionId, forkSession: true },
    });
    const ofFork = await place.run({
      script: { replies: [say('fork')] },
      options: { resume: fork.sessionId },
    });
    const last = ofFork.requests[0]?.body.messages as readonly unknown[];
    expect(plain(last).slice(0, before.length)).toEqual(plain(before));
    expect(again.requests[0]?.body.system).toEqual(first.requests[0]?.body.system);
  });

  it('continue takes the newest; without any a new one begins', async () => {
    const none = await place.run({
      script: { replies: [say('new')] },
      options: { continue: true },
    });
    const other = await place.run({ script: { replies: [say('other')] }, prompts: ['other'] });
    const path = (id: string) => join(project(), `${id}.jsonl`);
    utimesSync(path(none.sessionId), new Date(), new Date(Date.now() - 60_000));
    const again = await place.run({
      script: { replies: [say('more')] },
      options: { continue: true },
    });
    expect(again.sessionId).toBe(other.sessionId);
  });

  it.each([
    ['nothing', ''],
    ['only ends of lines', '\n\n\n'],
    ['zeros, as a disk without power leaves them', '\0'.repeat(9_000)],
  ])('a file in which nothing was said is no session: %s', async (_, content) => {
    const good = await place.run({ script: { replies: [say('good')] } });
    writeFileSync(join(project(), 'empty.jsonl'), content);
    const later = new Date(Date.now() + 60_000);
    utimesSync(join(project(), 'empty.jsonl'), later, later);
    const here = { cwd: place.cwd, home: place.home };
    expect((await listSessions(here)).map((one) => one.sessionId)).toEqual([good.sessionId]);
    const more = { replies: [say('more')] };
    const again = await place.run({ script: more, options: { continue: true } });
    expect(again.sessionId).toBe(good.sessionId);
    const resumed = place.run({ script: more, options: { resume: 'empty' } });
    if (content.trim() === '') await expect(resumed).rejects.toThrow(/empty\.jsonl has no line/);
    else await expect(resumed).rejects.toThrow(UsageError);
    await expect(resumed).rejects.not.toThrow(/another folder/);
  });

  it.each([
    ['a pipe', (path: string) => execFileSync('/bin/sh', ['-c', 'mkfifo "$1"', 'sh', path])],
    ['a folder', (path: string) => mkdirSync(path)],
    ['a device', (path: string) => symlinkSync('/dev/zero', path)],
  ])('what is no file is refused by its name, and nobody waits: %s', async (_, make) => {
    mkdirSync(project(), { recursive: true });
    make(join(project(), 'odd.jsonl'));
    const script = { replies: [say('new')] };
    const resumed = place.run({ script, options: { resume: 'odd' } });
    await expect(resumed).rejects.toThrow(/session odd cannot be read: .*odd\.jsonl is no file/);
    const again = await place.run({ script, options: { continue: true } });
    expect(again.last).toMatchObject({ result: 'new' });
  });

  it('what cannot be resumed is said with a remedy', async () => {
    const resume = (options: object) => place.run({ script: { replies: [] }, options });
    await expect(resume({ resume: 'no-such' })).rejects.toThrow(/there is no session no-such/);
    await expect(resume({ resume: '../x' })).rejects.toThrow(UsageError);
    await expect(resume({ resumeSessionAt: 'm' })).rejects.toThrow(/--resume <session>/);
    const { sessionId } = await place.run({ script: { replies: [say('a')] } });
    await expect(resume({ sessionId })).rejects.toThrow(`--resume ${sessionId}`);
    await expect(resume({ resume: sessionId, resumeSessionAt: 'm' })).rejects.toThrow(
      `message m is not in session ${sessionId}`,
    );
    // A refused resume gives the session up again.
    await place.run({ script: { replies: [say('b')] }, options: { resume: sessionId } });
  });

  it('an engine that could not be made gives the session up again', async () => {
    const { sessionId } = await place.run({ script: { replies: [say('a')] } });
    const hooks = { PermissionRequest: [{ hooks: [async () => ({})] }] } as never;
    const wrong = { resume: sessionId, hooks };
    const made = place.run({ script: { replies: [] }, options: wrong });
    await expect(made).rejects.toThrow(/PermissionRequest/);
    const again = await place.run({
      script: { replies: [say('b')] },
      options: { resume: sessionId },
    });
    expect(again.last.result).toBe('b');
  });

  it('TRN-06: one process at a time; beside it only a fork', async () => {
    const { sessionId } = await place.run({ script: { replies: [say('a')] } });
    const fork = { resume: sessionId, forkSession: true };
    await place.run({
      script: { replies: [say('b')] },
      options: { resume: sessionId },
      finally: async () => {
        const second = place.run({ script: { replies: [] }, options: { resume: sessionId } });
        await expect(second).rejects.toThrow(`session ${sessionId} is in use by another process`);
        const beside = await place.run({ script: { replies: [say('c')] }, options: fork });
        expect(beside.sessionId).not.toBe(sessionId);
      },
    });
    expect(
      linesOf(place.home, sessionId).some((line) => JSON.stringify(line).includes('"c"')),
    ).toBe(false);
  });

  it('USE-03: totals go on, this run has its own, a fork begins at zero', async () => {
    const first = await place.run({ script: { replies: [say('a', usage(1000, 100))] } });
    const second = await place.run({
      script: { replies: [say('b', usage(2000, 200))] },
      options: { resume: first.sessionId, maxBudgetUsd: 1 },
    });
    const one = Number(first.last.total_cost_usd);
    expect(first.last.run_cost_usd).toBe(one);
    const two = Number(second.last.run_cost_usd);
    expect(two).toBeGreaterThan(one);
    expect(second.last.total_cost_usd).toBeCloseTo(one + two, 10);
    expect(second.last.usage.output_tokens).toBe(200);
    expect(Object.values(second.last.modelUsage)[0]?.outputTokens).toBe(300);
    const fork = await place.run({
      script: { replies: [say('c', usage(1000, 100))] },
      options: { resume: first.sessionId, forkSession: true },
    });
    expect(fork.last.total_cost_usd).toBe(fork.last.run_cost_usd);
    expect(Object.values(fork.last.modelUsage)[0]?.outputTokens).toBe(100);
    expect(conversationOf(fork.requests[0])).toHaveLength(5);
    const info = await getSessionInfo(first.sessionId, { cwd: place.cwd, home: place.home });
    expect(info).toMatchObject({ messageCount: 4, isFinished: true, damagedLines: 0 });
  });

  it('what was paid stays as it was, where the price depends on the length of a prompt', async () => {
    const options = { model: 'claude-haiku-5-5' };
    const script = { replies: [say('a', usage(60_000, 1)), say('b', usage(60_000, 1))] };
    const first = await place.run({ script, prompts: ['p1', 'p2'], options });
    const second = await place.run({
      script: { replies: [say('c', usage(1_000, 1))] },
      options: { ...options, resume: first.sessionId },
    });
    const paid = Number(first.last.total_cost_usd) + Number(second.last.run_cost_usd);
    expect(second.last.total_cost_usd).toBeCloseTo(paid, 10);
  });

  it('the budget of a run is its own', async () => {
    const first = await place.run({ script: { replies: [say('a', usage(100_000, 20_000))] } });
    const second = await place.run({
      script: { replies: [say('b')] },
      options: { resume: first.sessionId, maxBudgetUsd: 0.5 },
    });
    expect(Number(first.last.total_cost_usd)).toBeGreaterThan(0.5);
    expect(second.last.terminal_reason).toBe('completed');
  });

  it('resumeSessionAt: another branch; a fork keeps the file', async () => {
    const first = await place.run({
      script: { replies: [say('one'), say('two')] },
      prompts: ['p1', 'p2'],
    });
    const [one] = first.messages.filter(({ type }) => type === 'assistant');
    const at = { resume: first.sessionId, resumeSessionAt: one?.uuid ?? '' };
    const branch = await place.run({
      script: { replies: [say('two again')] },
      prompts: ['p2 again'],
      options: at,
    });
    expect(conversationOf(branch.requests[0])).toEqual([
      'user: p1',
      'assistant: one',
      'user: p2 again',
    ]);
    const again = await place.run({
      script: { replies: [say('three')] },
      prompts: ['p3'],
      options: { resume: first.sessionId },
    });
    expect(conversationOf(again.requests[0])).toEqual([
      'user: p1',
      'assistant: one',
      'user: p2 again',
      'assistant: two again',
      'user: p3',
    ]);
  });

  it('a call that was deferred is decided again, without a model call before it', async () => {
    const decide = (permissionDecision: string) => ({
      PreToolUse: [
        {
          hooks: [
            async () => ({
              hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision },
            }),
          ],
        },
      ],
    });
    const first = await place.run({
      script: { replies: [callTool('Bash', { command: 'echo ran >> log; cat log' })] },
      options: { hooks: decide('defer') as never },
    });
    expect(first.last.terminal_reason).toBe('tool_deferred');
    const still = await place.run({
      script: { replies: [] },
      prompts: ['now?'],
      options: { resume: first.sessionId, hooks: decide('defer') as never },
    });
    expect(still.last).toMatchObject({ terminal_reason: 'tool_deferred', num_turns: 0 });
    expect(still.last.deferred_tool_use).toMatchObject({ name: 'Bash' });
    const again = await place.run({
      script: { replies: [say('done')] },
      prompts: ['please'],
      options: { resume: first.sessionId, hooks: decide('allow') as never },
    });
    const talk = conversationOf(again.requests[0]);
    expect(talk).toContain('result: ran');
    expect(talk).toContain('user: now?');
    expect(talk.at(-1)).toBe('user: please');
    expect(readFileSync(join(place.cwd, 'log'), 'utf8')).toBe('ran\n');
  });

  it('after a summary: from the summary on, with the totals of all', async () => {
    const long = 'word '.repeat(4_000);
    const first = await place.run({
      script: {
        replies: [
          say(long, usage(100, 10)),
          say(long, usage(9_000, 10)),
          say('third', usage(9_000, 10)),
        ],
      },
      prompts: ['p1', 'p2', 'p3'],
      options: { settings: { autoCompactWindow: 20_000 } },
    });
    expect(first.lines).toContain('compact_boundary');
    const again = await place.run({
      script: { replies: [say('more')] },
      prompts: ['p4'],
      options: { resume: first.sessionId },
    });
    const talk = conversationOf(again.requests[0]);
    expect(talk).toEqual([
      ...conversationOf(first.requests.at(-1)),
      'assistant: third',
      'user: p4',
    ]);
    expect(Object.values(again.last.modelUsage)[0]?.inputTokens).toBeGreaterThan(15_000);
  });

  it('HEAD-05: a host that left in the middle: legal, and usable again', async () => {
    let id = '';
    const lost = place.run({
      script: { replies: [message([text('working'), toolUse('Bash', { command: 'sleep 20' })])] },
      drive: async function* (engine) {
        id = engine.sessionId;
        for await (const said of engine.submitMessage('go')) {
          yield said;
          if (said.type === 'assistant' && said.message.content[0]?.type === 'tool_use') break;
        }
      },
    });
    await lost;
    const again = await place.run({
      script: { replies: [say('good')] },
      prompts: ['go on'],
      options: { resume: id },
    });
    const talk = conversationOf(again.requests[0]);
    expect(talk.slice(0, 3)).toEqual(['user: go', 'assistant: working', 'assistant calls Bash']);
    expect(talk[3]).toMatch(/^result \(error\): .*(interrupted|unknown|not run)/);
    expect(talk.at(-1)).toBe('user: go on');
  });
});

describe('what is kept', () => {
  it('nothing with persistSession: false', async () => {
    await place.run({
      script: { replies: [callTool('Bash', { command: 'true' }), say('a')] },
      options: { persistSession: false },
    });
    expect(existsSync(join(place.home, 'projects'))).toBe(false);
  });

  it('what the chart heard, and the answer that stands', async () => {
    await place.run({ script: { replies: [callTool('Bash', { command: 'true' }), say('a')] } });
    const events = linesOf(place.home).filter(({ type }) => type === 'event');
    const types = events.map(({ event }) => (event as { type: string }).type);
    for (const type of ['stream.opened', 'stream.toolUse', 'tool.result', 'tools.drained']) {
      expect(types).toContain(type);
    }
    expect(types.some((type) => type.startsWith('xstate.done.actor'))).toBe(true);
    expect(events.map(({ n }) => n)).toEqual(events.map((_, at) => at));
    expect(JSON.stringify(events)).not.toContain('"command"');
  });

  it('in a store of the host', async () => {
    const journal = new MemoryJournalStore();
    const first = await place.run({ script: { replies: [say('a')] }, options: { journal } });
    const again = await place.run({
      script: { replies: [say('b')] },
      prompts: ['more'],
      options: { journal, resume: first.sessionId },
    });
    expect(conversationOf(again.requests[0])).toEqual([
      'user: do it',
      'assistant: a',
      'user: more',
    ]);
    expect(existsSync(project())).toBe(false);
  });

  it('TRN-02: damaged lines are told once, and stay', async () => {
    const first = await place.run({ script: { replies: [say('a')] } });
    const path = join(project(), `${first.sessionId}.jsonl`);
    writeFileSync(path, `${readFileSync(path, 'utf8')}42\n{"type":"user","uuid":`);
    const again = await place.run({
      script: { replies: [say('b'), say('c')] },
      prompts: ['p', 'q'],
      options: { resume: first.sessionId },
    });
    const warnings = again.lines.filter((line) => line.startsWith('warning Resumed session'));
    expect(warnings).toEqual([
      'warning Resumed session: a last line that a crash had cut was taken off (22 bytes).',
      'warning Resumed session: 1 damaged line(s) were skipped; they are left as they are.',
    ]);
    expect(
      readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line === '42'),
    ).toHaveLength(1);
  });

  it('TRN-08: a full disk ends the turn with its cost, and the history goes on', async () => {
    const { writeSync, fdatasync } = await import('node:fs');
    let isFull = false;
    const journal = new FileJournalStore({
      folder: project(),
      calls: {
        write: (fd, bytes, offset, length) => {
          if (isFull) throw new Error('ENOSPC: no space left on device');
          return writeSync(fd, bytes, offset, length);
        },
        synchronise: (fd) => new Promise((resolve) => fdatasync(fd, () => resolve())),
      },
    });
    const ran = await place.run({
      script: {
        replies: [
          message([text('I do it'), toolUse('Bash', { command: 'echo x >> log' })], usage(100, 7)),
          say('not seen'),
          say('good again'),
        ],
      },
      options: {
        journal,
        // After the words were shown, before the call begins.
        hooks: {
          PreToolUse: [
            {
              hooks: [
                async () => {
                  isFull = true;
                  return {};
                },
              ],
            },
          ],
        },
      },
      drive: async function* (engine) {
        yield* engine.submitMessage('first');
        isFull = false;
        yield* engine.submitMessage('second');
      },
    });
    const [full, good] = ran.results;
    expect(full).toMatchObject({ is_error: true });
    expect(full?.errors[0]).toMatch(/cannot be written down: ENOSPC.*Free some space/);
    expect(full?.usage.input_tokens).toBeGreaterThan(0);
    expect(ran.lines.filter((line) => line.includes('cannot be written down'))).toHaveLength(1);
    expect(existsSync(join(place.cwd, 'log'))).toBe(false);
    expect(good?.terminal_reason).toBe('completed');
    const again = await place.run({
      script: { replies: [say('b')] },
      prompts: ['third'],
      options: { journal, resume: ran.sessionId },
    });
    const talk = conversationOf(again.requests[0]);
    for (const line of ['user: first', 'assistant: I do it', 'user: second', 'user: third']) {
      expect(talk).toContain(line);
    }
  });
});

describe('TRN-08 a disk that fails', () => {
  /** A turn of which one sync fails, and one after it. @returns `undefined`: it has no such sync. */
  async function failing(at: number) {
    const { writeSync } = await import('node:fs');
    let syncs = 0;
    const journal = new FileJournalStore({
      folder: project(),
      calls: {
        write: (fd, bytes, offset, length) => writeSync(fd, bytes, offset, length),
        synchronise: async () => {
          syncs += 1;
          if (syncs === at) throw new Error('EIO: i/o error, fdatasync');
        },
      },
    });
    let first = 0;
    const ran = await place.run({
      script: {
        replies: [
          message([text('I do it'), toolUse('Bash', { command: 'echo x >> log' })]),
          say('done'),
        ],
      },
      options: { journal },
      drive: async function* (engine) {
        yield* engine.submitMessage('first');
        first = syncs;
        yield* engine.submitMessage('second');
      },
    });
    return at > first ? undefined : ran;
  }

  it('wherever a sync fails, the turn ends with an error that says so, and so does the next', async () => {
    let at = 1;
    for (let ran = await failing(at); ran; ran = await failing(at)) {
      expect(
        ran.results.map(({ is_error }) => is_error),
        `sync ${at}`,
      ).toEqual([true, true]);
      for (const { errors } of ran.results) expect(errors.join()).toMatch(/EIO: i\/o error/);
      expect(ran.results[0]?.errors[0]).toMatch(
        /cannot be written down: EIO.*go on in a new process/,
      );
      at += 1;
    }
    expect(at).toBeGreaterThan(4); // the prompt, the call, what was shown, the result
  });
});

describe('back to a message', () => {
  it('the conversation, the files, both, or only a look', async () => {
    const file = join(place.cwd, 'a.txt');
    const fresh = join(place.cwd, 'sub', 'new.txt');
    writeFileSync(file, 'old\n', { mode: 0o640 });
    mkdirSync(join(place.cwd, 'sub'));
    const uuid = '22222222-2222-4222-8222-222222222222';
    await place.run({
      script: {
        replies: [
          say('ready'),
          callTool('Read', { file_path: file }),
          callTool('Edit', { file_path: file, old_string: 'old', new_string: 'new' }),
          callTool('Write', { file_path: fresh, content: 'n\n' }),
          say('edited'),
          say('once more'),
        ],
      },
      drive: async function* (engine) {
        yield* engine.submitMessage('hello');
        yield* engine.submitMessage('edit', { uuid });
        expect(readFileSync(file, 'utf8')).toBe('new\n');
        const look = await engine.rewind(uuid, { files: true, dryRun: true });
        expect(look).toEqual({ canRewind: true, filesChanged: [fresh, file], conflicts: [] });
        expect(readFileSync(file, 'utf8')).toBe('new\n');
        expect(engine.messages).toHaveLength(10);
        await engine.rewind(uuid, { files: true });
        expect(readFileSync(file, 'utf8')).toBe('old\n');
        expect(statSync(file).mode & 0o777).toBe(0o640);
        expect(existsSync(fresh)).toBe(false);
        expect(engine.messages.map(({ origin }) => origin)).toEqual(['prompt', 'model', 'prompt']);
        await expect(engine.rewind('no-such-message')).rejects.toThrow(/not in session/);
        yield* engine.submitMessage('differently');
      },
    });
    const last = linesOf(place.home)
      .filter(({ type }) => type === 'user')
      .at(-1);
    expect(last?.parentUuid).toBe(uuid);
  });

  it('beside a turn: a name that is wrong is said, and a right one waits for its end', async () => {
    const uuid = '22222222-2222-4222-8222-222222222222';
    const said: string[] = [];
    await place.run({
      script: { replies: [message([toolUse('Bash', { command: 'true' })]), say('done')] },
      prompts: [{ prompt: 'go', uuid }],
      during: async (heard, engine) => {
        if (heard.type !== 'assistant' || said.length > 0) return;
        for (const name of ['no-such-message', uuid]) {
          await engine.rewind(name).catch((error: unknown) => said.push(String(error)));
        }
      },
    });
    expect(said).toEqual([
      expect.stringContaining('no-such-message'),
      expect.stringContaining('a turn is running: interrupt it first'),
    ]);
    expect(said[0]).not.toContain('a turn is running');
  });

  it('a file that somebody else has changed since is left alone', async () => {
    const file = join(place.cwd, 'a.txt');
    const uuid = '33333333-3333-4333-8333-333333333333';
    await place.run({
      script: { replies: [callTool('Write', { file_path: file, content: 'tool\n' }), say('x')] },
      prompts: [{ prompt: 'go', uuid }],
      finally: async (engine) => {
        writeFileSync(file, 'mine\n');
        const rewound = await engine.rewind(uuid, { files: true, conversation: false });
        expect(rewound.filesChanged).toEqual([]);
        expect(rewound.conflicts).toEqual([
          { path: file, reason: 'it was changed since by somebody else' },
        ]);
        expect(readFileSync(file, 'utf8')).toBe('mine\n');
        rmSync(join(project(), engine.sessionId, 'file-history'), { recursive: true, force: true });
      },
    });
  });
});

describe('the list of sessions', () => {
  it('is listed, named, exported and deleted', async () => {
    const where = { cwd: place.cwd, home: place.home };
    const first = await place.run({
      script: { replies: [callTool('Bash', { command: "printf '\\140\\140\\140'" }), say('done')] },
      prompts: ['fix the\n  bug'],
    });
    await place.run({ script: { replies: [say('b')] }, prompts: ['other'] });
    const titles = (await listSessions(where)).map(({ title }) => title).sort();
    expect(titles).toEqual(['fix the bug', 'other']);
    await renameSession(first.sessionId, '  The bug ', where);
    const listed = await listSessions({ ...where, limit: 1 });
    expect(listed).toMatchObject([
      { sessionId: first.sessionId, title: 'The bug', cwd: place.cwd },
    ]);
    const markdown = await exportSession(first.sessionId, where);
    expect(markdown).toContain('**prompt**\n\nfix the');
    expect(markdown).toContain('````\n```\n````');
    const json = JSON.parse(await exportSession(first.sessionId, { ...where, format: 'json' }));
    expect(json.messages).toHaveLength(4);
    expect(await deleteSession(first.sessionId, where)).toBe(true);
    expect(existsSync(join(project(), first.sessionId))).toBe(false);
    await expect(exportSession(first.sessionId, where)).rejects.toThrow(UsageError);
    await expect(renameSession('../x', 'y', where)).rejects.toThrow(UsageError);
    await expect(deleteSession('../x', where)).rejects.toThrow(UsageError);
  });

  it('a folder has one name, whatever way leads there, and keeps it when it is gone', async () => {
    const link = join(place.home, 'link');
    symlinkSync(place.cwd, link);
    const { sessionId } = await place.run({ script: { replies: [say('a')] } });
    const where = { cwd: link, home: place.home };
    const ids = async () => (await listSessions(where)).map((one) => one.sessionId);
    expect(await ids()).toEqual([sessionId]);
    await renameSession(sessionId, 'By another way', where);
    const info = await getSessionInfo(sessionId, where);
    expect(info?.title).toBe('By another way');
    expect(await exportSession(sessionId, where)).toContain('do it');
    const gone = { ...where, cwd: join(link, 'gone') };
    mkdirSync(gone.cwd);
    const inGone = await place.run({ script: { replies: [say('b')] }, options: { cwd: gone.cwd } });
    rmSync(gone.cwd, { recursive: true });
    expect((await listSessions(gone)).map((one) => one.sessionId)).toEqual([inGone.sessionId]);
    expect(await deleteSession(sessionId, where)).toBe(true);
    expect(await ids()).toEqual([]);
  });

  it('old results and versions go after 30 days, transcripts stay', async () => {
    const { sessionId } = await place.run({ script: { replies: [say('a')] } });
    const results = join(project(), sessionId, 'tool-results');
    mkdirSync(results);
    const projects = join(place.home, 'projects');
    const day = 24 * 3_600_000;
    rmSync(join(projects, '.swept'), { force: true });
    expect(await sweepOldFiles(projects, new Date(Date.now() + 29 * day))).toEqual([]);
    const late = new Date(Date.now() + 31 * day);
    expect(await sweepOldFiles(projects, late)).toEqual([results]);
    expect(await sweepOldFiles(projects, late)).toEqual([]);
    expect(existsSync(join(project(), `${sessionId}.jsonl`))).toBe(true);
  });
});
