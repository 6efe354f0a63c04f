import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type HookCallbackMatcher, readHookCallbacks } from '../../../services/hooks/callbacks.ts';
import {
  createRunHooks,
  type HookMessage,
  type HookRunner,
  type RunHooksDeps,
} from '../../../services/hooks/run-hooks.ts';
import { readHookSettings } from '../../../services/hooks/settings.ts';
import type { HookEvent, HookVerdict } from '../../../services/hooks/types.ts';
import { findMarked } from '../../../services/tools/process/marks.ts';

let root: string;
let tag: string;
const runners: HookRunner[] = [];
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'escapement-hooks-')));
  tag = randomUUID();
});
afterEach(async () => {
  for (const runner of runners.splice(0)) await runner.dispose();
  await rm(root, { recursive: true, force: true });
});

const alive = () => findMarked(`HOOK_TEST=${tag}`).map(({ pid }) => pid);

interface Setup extends Partial<RunHooksDeps> {
  settings?: unknown;
  source?: 'user' | 'managed';
  callbacks?: Partial<Record<HookEvent, readonly HookCallbackMatcher[]>>;
}
const runner = ({ settings, source = 'user', callbacks, ...deps }: Setup): HookRunner => {
  const file = readHookSettings({ source, file: 'settings.json', hooks: settings });
  expect(file.errors).toEqual([]);
  const hooks = [...file.hooks, ...readHookCallbacks(callbacks).hooks];
  const made = createRunHooks({
    registrations: () => hooks,
    base: () => ({
      session_id: 's1',
      transcript_path: '/t.jsonl',
      cwd: root,
      permission_mode: 'default',
    }),
    env: () => ({ ...process.env, HOOK_TEST: tag }),
    projectRoot: root,
    uuid: randomUUID,
    ...deps,
  });
  runners.push(made);
  return made;
};
const ask = (
  run: HookRunner,
  event: HookEvent,
  fields: Record<string, unknown> = {},
  matchQuery?: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<HookVerdict> =>
  run(event, fields, { signal, ...(matchQuery === undefined ? {} : { matchQuery }) });

const command = (text: string, more: object = {}) => ({
  hooks: [{ type: 'command', command: text, ...more }],
});
const touch = { tool_name: 'Bash', tool_input: { command: 'touch p' }, tool_use_id: 't1' };
/** One command for one event. */
const once = (event: HookEvent, text: string, more: object = {}, setup: Setup = {}) =>
  ask(runner({ settings: { [event]: [command(text, more)] }, ...setup }), event, touch, 'Bash');

describe('a command', () => {
  it('is told what happens on stdin, in the folder and the environment of the project', async () => {
    const verdict = await once(
      'PreToolUse',
      `cat > input.json; pwd > where; echo "$CLAUDE_PROJECT_DIR $ESCAPEMENT_PROJECT_DIR" > dirs`,
    );
    expect(verdict).toEqual({ blocked: [], additionalContext: [], warnings: [] });
    expect(JSON.parse(await readFile(join(root, 'input.json'), 'utf8'))).toEqual({
      hook_event_name: 'PreToolUse',
      session_id: 's1',
      transcript_path: '/t.jsonl',
      cwd: root,
      permission_mode: 'default',
      ...touch,
    });
    expect(await readFile(join(root, 'where'), 'utf8')).toBe(`${root}\n`);
    expect(await readFile(join(root, 'dirs'), 'utf8')).toBe(`${root} ${root}\n`);
  });

  it('HOOK-01 objects by exit code 2, with stderr as the reason', async () => {
    expect(await once('Stop', "echo 'tests fail' >&2; exit 2")).toMatchObject({
      blocked: ['tests fail'],
      warnings: [],
    });
    expect(await once('PreToolUse', 'echo no >&2; exit 2')).toMatchObject({
      permission: { decision: 'deny', reason: 'no' },
      blocked: [],
    });
    expect((await once('Stop', 'exit 2')).blocked[0]).toContain('without a reason');
  });

  it.each<[HookEvent, string]>([
    ['Stop', 'exit 0'],
    ['PreToolUse', 'true'],
    ['Stop', 'echo all is well'],
    ['PreToolUse', 'echo "[INFO] fine"'],
    ['Stop', 'echo {}'],
    ['Stop', 'echo warned >&2'],
  ])('HOOK-02 %s: %s changes nothing', async (event, text) => {
    expect(await once(event, text)).toEqual({ blocked: [], additionalContext: [], warnings: [] });
  });

  it('plain text is context where a prompt or a session begins', async () => {
    expect(await once('UserPromptSubmit', 'echo " on branch main "')).toMatchObject({
      additionalContext: ['on branch main'],
    });
    const long = await once('SessionStart', 'yes 🎉 | head -n 100000');
    expect(long.additionalContext[0]?.length).toBeLessThanOrEqual(10_000);
    expect(long.additionalContext[0]).not.toMatch(/\p{Surrogate}/u);
  });

  it('HOOK-08 says what it means in JSON', async () => {
    const answer = (specific: object) =>
      `echo '${JSON.stringify({ hookSpecificOutput: { hookEventName: 'PreToolUse', ...specific } })}'`;
    expect(
      await once(
        'PreToolUse',
        answer({ permissionDecision: 'ask', permissionDecisionReason: 'sure?' }),
      ),
    ).toMatchObject({ permission: { decision: 'ask', reason: 'sure?' } });
    expect(
      await once(
        'PreToolUse',
        answer({ updatedInput: { command: 'true' }, additionalContext: 'changed' }),
      ),
    ).toMatchObject({ updatedInput: { command: 'true' }, additionalContext: ['changed'] });
    expect(await once('Stop', `echo '{"continue":false,"stopReason":"enough"}'`)).toMatchObject({
      prevented: { reason: 'enough' },
    });
  });

  it('a denial stays one although its reason is no text', async () => {
    const text = `echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":5},"continue":"no"}'`;
    const verdict = await once('PreToolUse', text);
    expect(verdict.permission?.decision).toBe('deny');
    expect(verdict.prevented).toBeUndefined();
    expect(verdict.warnings).toHaveLength(2);
  });
});

describe('CONT-07 the limits of what a hook says', () => {
  it.each([0, 1, 2, 3])('%i characters before them, an emoji is not cut', async (n) => {
    const long = `python3 -c "print('x' * ${10_000 - n} + '🎉' * 10)"`;
    const [objection, context, failure] = await Promise.all([
      once('Stop', `${long} >&2; exit 2`),
      once('UserPromptSubmit', long),
      once('Stop', `python3 -c "print('x' * ${500 - n} + '🎉' * 10)" >&2; exit 1`),
    ]);
    for (const text of [...objection.blocked, ...context.additionalContext, ...failure.warnings]) {
      expect(text).not.toMatch(/\p{Surrogate}/u);
      expect(text).toContain('x'.repeat(500 - n));
    }
    expect(objection.blocked[0]?.length).toBeLessThanOrEqual(10_000);
  });
});

describe('HOOK-03 a hook before a tool fails', () => {
  const failures: readonly (readonly [string, string, RegExp])[] = [
    ['never ends', 'sleep 300', /no answer within 1 s/],
    ['a missing program', '/no/such/file', /exit code 127.*No such file/i],
    ['a file that cannot run', './plain.txt', /exit code 126.*denied/i],
    ['another exit code', 'echo because >&2; exit 1', /exit code 1: because/],
    ['half an answer', `printf '{"decision":'`, /no JSON/],
    ['an unknown word', `echo '{"decision":"blok"}'`, /cannot be used: decision/],
    ['a list', 'echo "[]"', /no object/],
    ['killed', 'kill -9 $$', /SIGKILL/],
    ['5 MB of text', 'yes | head -c 5000000', /too much for an answer/],
    ['10 MB that begin well', `printf '{"a":"'; yes | head -c 10000000`, /too much for an answer/],
  ];

  /** Seconds: short only for the one that is meant to use them up. */
  const timeoutOf = (text: string) => (text === 'sleep 300' ? 1 : 60);

  it.each(failures)('%s: the tool runs, and one warning says why', async (_, text, expected) => {
    await writeFile(join(root, 'plain.txt'), 'x', { mode: 0o600 });
    const verdict = await once('PreToolUse', text, { timeout: timeoutOf(text) });
    expect(verdict.permission).toBeUndefined();
    expect(verdict.warnings).toHaveLength(1);
    expect(verdict.warnings[0]).toMatch(expected);
    expect(alive()).toEqual([]);
  });

  it.each(failures)('%s: with onFailure block it is a denial', async (_, text, expected) => {
    await writeFile(join(root, 'plain.txt'), 'x', { mode: 0o600 });
    const { permission } = await once('PreToolUse', text, {
      ...{ timeout: timeoutOf(text), onFailure: 'block' },
    });
    expect(permission?.decision).toBe('deny');
    expect(permission?.reason).toMatch(expected);
    expect(permission?.reason).toContain('policy');
  });

  it('of the organisation it fails closed anyway', async () => {
    const verdict = await once('PreToolUse', 'exit 1', {}, { source: 'managed' });
    expect(verdict.permission?.decision).toBe('deny');
    const afterwards = await once('PostToolUse', 'exit 1', {}, { source: 'managed' });
    expect(afterwards.blocked).toEqual([]);
  });

  it('the whole group is ended at the timeout, also what ignores SIGTERM or left', async () => {
    await once('PreToolUse', 'trap "" TERM; setsid sleep 300 & sleep 300 & wait; sleep 300', {
      timeout: 0.5,
    });
    expect(alive()).toEqual([]);
  });

  it.each(['yes', 'yes >&2'])('one that prints for ever (%s) is ended for it', async (command) => {
    const verdict = await once('Stop', command, { timeout: 50 });
    expect(verdict.warnings).toEqual([
      expect.stringContaining('it printed too much for an answer'),
    ]);
    expect(alive()).toEqual([]);
  });

  it('its folder is gone: it runs in the project', async () => {
    const run = runner({
      settings: { Stop: [command('pwd >&2; exit 2')] },
      base: () => ({
        session_id: 's',
        transcript_path: '',
        cwd: join(root, 'gone'),
        permission_mode: 'default',
      }),
    });
    expect((await ask(run, 'Stop')).blocked).toEqual([root]);
  });
});

describe('HOOK-05 a hook that leaves a child with its stdout', () => {
  it.each([
    ['a child', `sleep 300 & echo '{"decision":"block","reason":"used"}'; exit 0`, ['used']],
    ['another descriptor', 'exec 3>&1; (sleep 300 >/dev/null 2>&1 </dev/null) & exit 0', []],
    ['a session of its own', 'setsid sleep 300 & exit 0', []],
    ['one that ignores SIGTERM', `bash -c 'trap "" TERM; while :; do sleep 9; done' & exit 0`, []],
  ])('%s: over when its process ends, and nothing is left at the end', async (_, text, blocked) => {
    const run = runner({ settings: { Stop: [command(text, { timeout: 240 })] } });
    const verdict = await ask(run, 'Stop');
    expect(verdict.blocked).toEqual(blocked);
    expect(verdict.warnings).toEqual([]);
    expect(alive().length).toBeGreaterThan(0);
    await run.dispose();
    expect(alive()).toEqual([]);
  });
});

describe('an abort', () => {
  it('ends command and callback at once', async () => {
    const abort = new AbortController();
    const told: boolean[] = [];
    const run = runner({
      settings: { Stop: [command('setsid sleep 300 & sleep 300')] },
      callbacks: {
        Stop: [
          {
            hooks: [
              (_input, _id, { signal }) =>
                new Promise(() => signal.addEventListener('abort', () => told.push(true))),
            ],
          },
        ],
      },
    });
    setTimeout(() => abort.abort(), 300);
    const verdict = await ask(run, 'Stop', {}, undefined, abort.signal);
    expect(verdict).toEqual({ blocked: [], additionalContext: [], warnings: [] });
    expect(told).toEqual([true]);
    expect(alive()).toEqual([]);
  });

  it('a guard that was interrupted has not let the call pass', async () => {
    const run = runner({ settings: { PreToolUse: [command('sleep 9', { onFailure: 'block' })] } });
    const verdict = await ask(run, 'PreToolUse', touch, 'Bash', AbortSignal.abort());
    expect(verdict.permission?.decision).toBe('deny');
  });
});

describe('a hook that nobody waits for', () => {
  it('changes nothing, and ends with the session', async () => {
    const run = runner({
      settings: { Stop: [command('touch ran; sleep 300; exit 2', { async: true })] },
    });
    expect(await ask(run, 'Stop')).toEqual({ blocked: [], additionalContext: [], warnings: [] });
    await expect.poll(() => existsSync(join(root, 'ran')), { timeout: 5_000 }).toBe(true);
    await run.dispose();
    expect(alive()).toEqual([]);
  });

  it('may say so itself, and then outlives an abort of the turn', async () => {
    const abort = new AbortController();
    const run = runner({
      settings: { Stop: [command(`echo '{"async":true}'; sleep 0.5; touch late; exit 2`)] },
    });
    expect((await ask(run, 'Stop', {}, undefined, abort.signal)).blocked).toEqual([]);
    abort.abort();
    await expect.poll(() => existsSync(join(root, 'late')), { timeout: 5_000 }).toBe(true);
  });
});

describe('a hook that asks for another time (asyncTimeout, ms)', () => {
  it('is ended when that is over, although its own timeout is not', async () => {
    const text = `echo '{"async":true,"asyncTimeout":300}'; trap 'touch ended; exit' TERM; sleep 60 & wait; touch late`;
    const run = runner({ settings: { Stop: [command(text)] } });
    expect((await ask(run, 'Stop')).warnings).toEqual([]);
    await expect.poll(() => existsSync(join(root, 'ended')), { timeout: 5_000 }).toBe(true);
    expect(existsSync(join(root, 'late'))).toBe(false);
  });

  it('may go on for longer than its timeout', async () => {
    const text = `echo '{"async":true,"asyncTimeout":5000}'; sleep 1.5; touch late`;
    const run = runner({ settings: { Stop: [command(text, { timeout: 0.5 })] } });
    expect((await ask(run, 'Stop')).warnings).toEqual([]);
    await expect.poll(() => existsSync(join(root, 'late')), { timeout: 5_000 }).toBe(true);
  });
});

describe('a callback', () => {
  const callback = (run: HookCallbackMatcher['hooks'][number], more: object = {}) =>
    runner({ callbacks: { PreToolUse: [{ hooks: [run], ...more }] } });

  it('is told the same, with the id of the call', async () => {
    const seen: unknown[] = [];
    const run = callback(async (input, toolUseId) => {
      seen.push(input.hook_event_name, input.tool_name, toolUseId);
      return { systemMessage: 'hi' };
    });
    const signal = new AbortController().signal;
    const verdict = await run('PreToolUse', touch, { matchQuery: 'Bash', toolUseId: 't1', signal });
    expect(seen).toEqual(['PreToolUse', 'Bash', 't1']);
    expect(verdict.warnings).toEqual(['hi']);
  });

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('crash');
      },
    ],
    ['rejects', () => Promise.reject(new Error('crash'))],
    ['never answers', () => new Promise(() => {})],
    ['answers nonsense', () => 5],
  ])('that %s warns and passes, or blocks', async (_, run) => {
    const hook = run as HookCallbackMatcher['hooks'][number];
    const lax = await ask(callback(hook, { timeout: 0.2 }), 'PreToolUse', touch, 'Bash');
    expect(lax.warnings).toHaveLength(1);
    expect(lax.permission).toBeUndefined();
    const strict = callback(hook, { timeout: 0.2, onFailure: 'block' });
    expect((await ask(strict, 'PreToolUse', touch, 'Bash')).permission?.decision).toBe('deny');
  });

  it('that answers nothing is silent', async () => {
    const run = callback((async () => undefined) as unknown as () => Promise<object>);
    expect((await ask(run, 'PreToolUse', touch, 'Bash')).warnings).toEqual([]);
  });
});

describe('several hooks of one event', () => {
  it('run at the same time, and speak in the order of registration', async () => {
    // Each waits for the other: one after the other, the first would never end.
    const meet = (mine: string, other: string) =>
      command(`touch ${mine}; until [ -e ${other} ]; do sleep 0.05; done; echo ${mine}`, {
        timeout: 10,
      });
    const run = runner({
      settings: { UserPromptSubmit: [meet('one', 'two'), meet('two', 'one'), command('echo 3')] },
    });
    const { additionalContext } = await ask(run, 'UserPromptSubmit');
    expect(additionalContext).toEqual(['one', 'two', '3']);
  });

  it('only those that match run, and the same command once', async () => {
    const write = (name: string, more: object = {}) => command(`echo x >> ${name}`, more);
    const run = runner({
      settings: {
        PreToolUse: [
          { matcher: 'Edit', ...write('edit') },
          { matcher: 'Bash|Edit', ...write('both') },
          { matcher: 'B.*', ...write('both') },
          write('git', { if: 'Bash(git push:*)' }),
          write('touch', { if: 'Bash(touch:*)' }),
          write('broken', { if: 'Nonsense(' }),
        ],
      },
      matchesRule: (rule, toolName, input) => {
        if (rule.startsWith('Nonsense')) throw new Error('no rule');
        const prefix = /\((.*):\*\)/.exec(rule)?.[1] ?? '';
        return toolName === 'Bash' && String(input.command).startsWith(prefix);
      },
    });
    await ask(run, 'PreToolUse', touch, 'Bash');
    const wrote = await Promise.all(
      ['edit', 'both', 'git', 'touch', 'broken'].map((name) =>
        readFile(join(root, name), 'utf8').catch(() => ''),
      ),
    );
    expect(wrote).toEqual(['', 'x\n', '', 'x\n', 'x\n']);
  });

  it('the stricter of two that are the same stays', async () => {
    const run = runner({
      settings: { PreToolUse: [command('exit 1'), command('exit 1', { onFailure: 'block' })] },
    });
    const verdict = await ask(run, 'PreToolUse', touch, 'Bash');
    expect(verdict.permission?.decision).toBe('deny');
    expect(verdict.warnings).toHaveLength(1);
  });
});

describe('who watches', () => {
  it('may break: the hook still counts, and fails closed if it must', async () => {
    const onMessage = () => {
      throw new Error('listener');
    };
    const lax = runner({ settings: { PreToolUse: [command('true')] }, onMessage });
    expect((await ask(lax, 'PreToolUse', touch, 'Bash')).warnings[0]).toContain('listener');
    const strict = runner({
      settings: { PreToolUse: [command('true', { onFailure: 'block' })] },
      onMessage,
    });
    const verdict = await ask(strict, 'PreToolUse', touch, 'Bash');
    expect(verdict.permission?.decision).toBe('deny');
  });

  it('is told of begin, progress and end, by one id', async () => {
    const messages: HookMessage[] = [];
    const run = runner({
      settings: { PreToolUse: [command('echo a; sleep 1.2; echo b; sleep 0.1; exit 1')] },
      onMessage: (message) => messages.push(message),
    });
    await ask(run, 'PreToolUse', touch, 'Bash');
    expect(messages.map(({ subtype }) => subtype)).toEqual([
      'hook_started',
      'hook_progress',
      'hook_response',
    ]);
    expect(new Set(messages.map(({ hook_id }) => hook_id)).size).toBe(1);
    expect(messages.at(-1)).toMatchObject({
      hook_event: 'PreToolUse',
      hook_name: 'PreToolUse:Bash',
      stdout: 'a\nb\n',
      exit_code: 1,
      outcome: 'error',
    });
  });
});
