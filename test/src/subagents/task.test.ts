/** Tasks that are given to agents: what host, models, hooks, purse and file see of them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  callTool,
  callTools,
  httpError,
  type MessageReply,
  message,
  type ReceivedRequest,
  type Step,
  say,
  systemText,
  text,
  toolNames,
  toolResults,
} from '../../../src/testing/index.ts';
import { type Place, tell } from '../../tools/story.ts';

const helper = { description: 'does small jobs', prompt: 'You are helper-1.' };
const task = (more: Readonly<Record<string, unknown>> = {}) =>
  callTool('Task', { description: 'a job', prompt: 'job-7', subagent_type: 'helper', ...more });
const isAgent = (request: ReceivedRequest) => systemText(request).includes('helper-1');
/** Steps of an agent stand before those of its caller, and are taken by it alone. */
const ofAgent = (...steps: readonly Step[]): Step[] =>
  steps.map((step) => ({
    ...(typeof step === 'string' ? say(step) : (step as MessageReply)),
    when: { systemIncludes: 'helper-1' },
  }));
const journal = ({ home }: Pick<Place, 'home'>): readonly Record<string, unknown>[] => {
  const projects = join(home, 'projects');
  const [project = ''] = readdirSync(projects);
  const file = readdirSync(join(projects, project)).find((name) => name.endsWith('.jsonl')) ?? '';
  return readFileSync(join(projects, project, file), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
};

describe('a task that is waited for', () => {
  it('is a conversation of its own; the caller gets its last words', async () => {
    const told = await tell({
      script: {
        replies: [
          ...ofAgent(callTool('Bash', { command: 'echo seen' }), say('the job is done')),
          message([text('I delegate'), ...task().content]),
          say('all done'),
        ],
      },
      options: { agents: { helper } },
    });
    expect(told.lines).toEqual([
      'init',
      'status requesting',
      'model says "I delegate"',
      expect.stringMatching(/^model calls Task/),
      'task_started a job',
      'agent: model calls Bash {"command":"echo seen"}',
      'agent: result "seen"',
      'agent: → next_turn',
      'agent: model says "the job is done"',
      'task_notification a job: completed',
      'result "the job is done"',
      '→ next_turn',
      'status requesting',
      'model says "all done"',
      'end completed "all done"',
    ]);
    const [first, second] = told.requests.filter(isAgent);
    expect(JSON.stringify(first?.body.messages)).toContain('job-7');
    expect(JSON.stringify(first?.body.messages)).not.toContain('I delegate');
    expect(second && toolResults(second).map(({ text }) => text)).toEqual(['seen']);
    expect(told.last.num_turns).toBe(2);
    expect(told.history.every(({ parentToolUseId }) => parentToolUseId === undefined)).toBe(true);
  });

  it('stands in the file on a side of its own, and its usage with the session', async () => {
    await tell({
      script: {
        replies: [
          ...ofAgent(callTool('Bash', { command: 'echo x' }), say('ok')),
          task(),
          say('end'),
        ],
      },
      options: { agents: { helper } },
      check: (place) => {
        const lines = journal(place);
        const side = lines.filter(({ isSidechain }) => isSidechain === true);
        expect(side.map(({ kind }) => kind)).toEqual(['note', 'tool_use', 'tool_result', 'text']);
        expect(new Set(side.map(({ parentToolUseId }) => parentToolUseId)).size).toBe(1);
        const main = lines.filter(({ isSidechain }) => isSidechain === false);
        expect(main.map(({ kind }) => kind)).toEqual(['note', 'tool_use', 'tool_result', 'text']);
        expect(lines.filter(({ type }) => type === 'transition')).toHaveLength(1);
        expect(lines.filter(({ type }) => type === 'agent-transition')).toHaveLength(1);
        expect(lines.filter(({ type }) => type === 'usage')).toHaveLength(4);
      },
    });
  });

  it('has the tools that its definition names, and may use another model', async () => {
    const told = await tell({
      script: { replies: [...ofAgent(say('ok')), task(), say('end')] },
      options: { agents: { helper: { ...helper, tools: ['Read', 'Bash(ls *)'], model: 'haiku' } } },
    });
    const [request] = told.requests.filter(isAgent);
    expect(request && toolNames(request)).toEqual(['Bash', 'Read']);
    expect(request?.body.model).toMatch(/haiku/);
    expect(Object.keys(told.last.modelUsage)).toHaveLength(2);
  });

  it('an agent that there is not is named, with those that there are', async () => {
    const told = await tell({
      script: { replies: [task({ subagent_type: 'nobody' }), say('end')] },
      options: { agents: { helper } },
    });
    expect(told.lines).toContain(
      'result (error) "There is no agent nobody. There are: general-purpose, explore, helper."',
    );
  });

  it('an answer without end is cut in the middle', async () => {
    const told = await tell({
      script: {
        replies: [...ofAgent(say(`begin${'x'.repeat(100_000)}end`)), task(), say('end')],
      },
      options: { agents: { helper } },
    });
    const [, last] = told.requests.filter((request) => !isAgent(request));
    const answer = (last && toolResults(last)[0]?.text) ?? '';
    expect(answer.length).toBeLessThan(31_000);
    expect(answer).toMatch(/^begin.*characters left out.*end$/s);
  });

  it('one that fails is an error for the caller, who goes on', async () => {
    const told = await tell({
      script: {
        replies: [
          ...ofAgent(httpError(400, 'invalid_request_error', 'no')),
          task(),
          say('went on'),
        ],
      },
      options: { agents: { helper } },
    });
    expect(told.lines.find((line) => line.startsWith('result'))).toMatch(
      /^result \(error\) "The agent did not finish \(api_error: /,
    );
    expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'went on' });
  });
});

describe('bounds', () => {
  it('several agents work at the same time', async () => {
    const rendezvous = (mine: string, other: string) =>
      callTool('Bash', {
        command: `touch ${mine}; for i in $(seq 200); do [ -e ${other} ] && echo met && exit; sleep 0.02; done; exit 1`,
      });
    const call = (prompt: string) =>
      ['Task', { description: prompt, prompt, subagent_type: 'helper' }] as const;
    const branch = (prompt: string, mine: string, other: string): Step[] => [
      {
        ...rendezvous(mine, other),
        when: { systemIncludes: 'helper-1', firstTextIncludes: prompt },
      },
      { ...say(`${prompt} ok`), when: { systemIncludes: 'helper-1', firstTextIncludes: prompt } },
    ];
    const told = await tell({
      script: {
        replies: [
          ...branch('job-a', 'a', 'b'),
          ...branch('job-b', 'b', 'a'),
          callTools([call('job-a'), call('job-b')]),
          say('end'),
        ],
      },
      options: { agents: { helper } },
    });
    const results = told.lines.filter((line) => line.startsWith('result'));
    expect([...results].sort()).toEqual(['result "job-a ok"', 'result "job-b ok"']);
  });

  it('agents nest twice and no deeper', async () => {
    const told = await tell({
      script: {
        whenExhausted: (request) => {
          if (toolResults(request).length > 0) return say('level done');
          return toolNames(request).includes('Task') ? task() : say('the deepest');
        },
      },
      options: { agents: { helper } },
    });
    const deep = told.requests.filter((request) => !toolNames(request).includes('Task'));
    expect(deep).toHaveLength(1);
    expect(told.requests).toHaveLength(5);
    expect(told.last.result).toBe('level done');
  });

  it('what agents have spent is gone for the one who asked them', async () => {
    const told = await tell({
      script: {
        replies: [
          ...ofAgent(say('dear', { usage: { output_tokens: 3_000 } })),
          task(),
          say('never asked for'),
        ],
      },
      options: { agents: { helper }, maxBudgetUsd: 0.06 },
    });
    expect(told.last.terminal_reason).toBe('budget_exhausted');
    expect(told.requests).toHaveLength(2);
  });

  it('an agent has turns of its own, and they end', async () => {
    const told = await tell({
      script: {
        replies: [
          ...ofAgent(
            callTool('Bash', { command: 'echo 1' }),
            callTool('Bash', { command: 'echo 2' }),
            say('never'),
          ),
          task(),
          say('end'),
        ],
      },
      options: { agents: { helper: { ...helper, maxTurns: 2 } } },
      except: ['script'],
    });
    expect(told.lines.find((line) => line.startsWith('result'))).toContain('max_turns');
  });

  it('an interrupt ends the agents, their processes and the turn', async () => {
    let isStopped = false;
    const told = await tell({
      script: {
        replies: [
          ...ofAgent(callTool('Bash', { command: 'touch on; sleep 300; touch off' })),
          task(),
        ],
      },
      options: { agents: { helper } },
      during: (message, engine, { cwd }) => {
        const isCall = message.type === 'assistant' && message.parent_tool_use_id;
        if (!isCall || isStopped) return;
        isStopped = true;
        const timer = setInterval(() => {
          if (!existsSync(join(cwd, 'on'))) return;
          clearInterval(timer);
          engine.interrupt();
        }, 10);
      },
    });
    expect(told.last.terminal_reason).toBe('aborted_tools');
  });

  it('stopTask ends one of them; the caller is told and goes on', async () => {
    const told = await tell({
      script: {
        replies: [...ofAgent(callTool('Bash', { command: 'sleep 300' })), task(), say('went on')],
      },
      options: { agents: { helper } },
      during: (message, engine) => {
        if (message.type !== 'assistant' || !message.parent_tool_use_id) return;
        expect(engine.stopTask('nothing')).toBe(false);
        engine.stopTask(message.parent_tool_use_id);
      },
    });
    expect(told.lines).toContain('task_notification a job: stopped');
    expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'went on' });
  });
});

describe('permissions and hooks', () => {
  it('the host is asked about calls of agents, and a denial stands in the result', async () => {
    const asked: string[] = [];
    const told = await tell({
      script: {
        replies: [
          ...ofAgent(callTool('Bash', { command: 'touch x' }), say('ok')),
          task(),
          say('end'),
        ],
      },
      options: {
        agents: { helper },
        permissionMode: 'default',
        canUseTool: async (name) => {
          asked.push(name);
          return { behavior: 'deny', message: 'not today' };
        },
      },
    });
    expect(asked).toEqual(['Bash']);
    expect(told.last.permission_denials).toMatchObject([{ tool_name: 'Bash' }]);
    expect(told.lines.filter((line) => line.startsWith('state'))).toEqual([
      'state requires_action',
      'state running',
    ]);
  });

  it('SubagentStop hooks may send an agent back to work; they hear who it is', async () => {
    const command = 'cat >> seen; [ -e once ] || { touch once; echo "not yet" >&2; exit 2; }';
    const told = await tell({
      script: { replies: [...ofAgent(say('first'), say('second')), task(), say('end')] },
      options: {
        agents: { helper },
        settings: { hooks: { SubagentStop: [{ hooks: [{ type: 'command', command }] }] } },
      },
      check: ({ cwd }) => {
        const seen = readFileSync(join(cwd, 'seen'), 'utf8');
        expect(seen).toContain('"agent_type":"helper"');
        expect(seen).toContain('"hook_event_name":"SubagentStop"');
      },
    });
    expect(told.lines).toContain('agent: → stop_hook_blocking');
    expect(told.lines).toContain('result "second"');
  });
});

describe('a task in the background', () => {
  it('is answered at once; its answer comes with a later round or prompt', async () => {
    const told = await tell({
      prompts: ['first', 'second'],
      script: {
        replies: [
          ...ofAgent(say('from the background')),
          task({ run_in_background: true }),
          say('first done'),
          say('second done'),
        ],
      },
      options: { agents: { helper } },
      // The first turn is over: its answer is still to come, or has come.
      during: async (message, _engine, place) => {
        if (message.type !== 'result') return;
        const used = () => journal(place).filter(({ type }) => type === 'usage').length;
        while (used() < 3) await new Promise((resolve) => setTimeout(resolve, 10));
        await new Promise((resolve) => setTimeout(resolve, 100));
      },
      except: ['usage'],
    });
    expect(told.lines.find((line) => line.startsWith('result'))).toMatch(/runs in the background/);
    expect(told.lines).toContain('task_notification a job: completed');
    const last = told.requests.filter((request) => !isAgent(request)).at(-1);
    expect(JSON.stringify(last?.body.messages)).toContain('from the background');
  });

  it('TaskOutput waits for it, and then it is not told again', async () => {
    let id = '';
    const told = await tell({
      script: {
        replies: [
          ...ofAgent(callTool('Bash', { command: 'sleep 0.2' }), say('late answer')),
          task({ run_in_background: true }),
          () => callTool('TaskOutput', { task_id: id }),
          say('end'),
        ],
      },
      options: { agents: { helper } },
      during: (message) => {
        if (message.type === 'system' && message.subtype === 'task_started') id = message.task_id;
      },
    });
    const last = told.requests.filter((request) => !isAgent(request)).at(-1);
    expect(JSON.stringify(last?.body.messages).match(/late answer/g)).toHaveLength(1);
  });

  it('ends with the session', async () => {
    await tell({
      script: {
        replies: [
          ...ofAgent(callTool('Bash', { command: 'sleep 300; touch off' })),
          task({ run_in_background: true }),
          say('end'),
        ],
      },
      options: { agents: { helper } },
      except: ['usage', 'script'],
    });
  }, 10_000);
});
