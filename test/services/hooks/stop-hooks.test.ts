import { describe, expect, it } from 'vitest';
import { begin, type QueryState } from '../../../machines/state.ts';
import { readHookCallbacks } from '../../../services/hooks/callbacks.ts';
import { createRunHooks } from '../../../services/hooks/run-hooks.ts';
import { createStopHooks } from '../../../services/hooks/stop-hooks.ts';
import type { HookInput, HookOutput } from '../../../services/hooks/types.ts';
import { emptyHistory, MessageLog } from '../../../services/message-log.ts';

const setup = (...answers: readonly HookOutput[]) => {
  const log = new MessageLog();
  const seen: HookInput[] = [];
  const warnings: string[] = [];
  const reasons: string[] = [];
  const hooks = answers.map((answer) => async (input: HookInput) => {
    seen.push(input);
    return answer;
  });
  const { hooks: registered } = readHookCallbacks({ Stop: [{ hooks }], SubagentStop: [{ hooks }] });
  let ids = 0;
  const runHooks = createRunHooks({
    registrations: () => registered,
    base: () => ({ session_id: 's', transcript_path: '', cwd: '/', permission_mode: 'default' }),
    env: () => ({}),
    projectRoot: '/',
    uuid: () => `h${ids++}`,
  });
  const stopHooks = createStopHooks({
    runHooks,
    log,
    uuid: () => `u${ids++}`,
    now: () => 0,
    onWarning: (text) => warnings.push(text),
    onPrevented: (reason) => reasons.push(reason),
  });
  const ask = (change: Partial<QueryState> = {}) =>
    stopHooks(
      { ...begin({ queryId: 'q', history: emptyHistory, model: 'm' }), ...change },
      new AbortController().signal,
    );
  return { ask, log, seen, warnings, reasons };
};

describe('the stop hooks', () => {
  it('let an answer stand when nobody objects', async () => {
    expect(await setup({}).ask()).toEqual({ type: 'hooks.passed' });
    expect(await setup().ask()).toEqual({ type: 'hooks.passed' });
  });

  it('HOOK-01 object in one message, each reason once, and know whether they did before', async () => {
    const { ask, log, seen } = setup(
      { decision: 'block', reason: 'tests fail' },
      { decision: 'block', reason: 'lint fails' },
      { hookSpecificOutput: { hookEventName: 'Stop', additionalContext: 'tests fail' } },
    );
    const answer = await ask({ stopHookActive: true });
    expect(answer.type).toBe('hooks.blocked');
    const errors = answer.type === 'hooks.blocked' ? answer.errors : [];
    expect(errors).toHaveLength(1);
    const message = log.get(errors[0]?.uuid ?? '');
    expect(message).toMatchObject({ role: 'user', kind: 'note', origin: 'hook', isMeta: true });
    const text = JSON.stringify(message.content);
    expect(text.split('tests fail')).toHaveLength(2);
    expect(text.split('lint fails')).toHaveLength(2);
    expect(seen.map((input) => input.stop_hook_active)).toEqual([true, true, true]);
  });

  it('additional context counts as an objection', async () => {
    const { ask } = setup({ hookSpecificOutput: { additionalContext: 'please lint, too' } });
    expect((await ask()).type).toBe('hooks.blocked');
  });

  it('stop the query, which wins over an objection', async () => {
    const { ask, reasons } = setup(
      { decision: 'block', reason: 'go on' },
      { continue: false, stopReason: 'enough' },
    );
    expect(await ask()).toEqual({ type: 'hooks.prevented' });
    expect(reasons).toEqual(['enough']);
  });

  it('of a subagent are others, and errands have none', async () => {
    const { ask, seen } = setup({});
    await ask({ querySource: 'subagent' });
    expect(seen.map(({ hook_event_name }) => hook_event_name)).toEqual(['SubagentStop']);
    expect(await ask({ querySource: 'compact' })).toEqual({ type: 'hooks.passed' });
    expect(seen).toHaveLength(1);
  });

  it('see what was said', async () => {
    const { ask, log, seen } = setup({});
    log.put({
      uuid: 'a1',
      role: 'assistant',
      kind: 'text',
      origin: 'model',
      timestamp: '',
      content: [{ type: 'text', text: 'all done' }],
    });
    await ask({ attempt: [{ uuid: 'a1', role: 'assistant', kind: 'text' }] });
    expect(seen[0]?.last_assistant_message).toBe('all done');
  });
});
