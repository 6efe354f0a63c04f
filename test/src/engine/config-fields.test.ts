/** Fields of the engine's configuration: each does what its name says. */
import { expect, it } from 'vitest';
import { replaySnip } from '../../../src/snip-replay.ts';
import {
  callTool,
  forever,
  overloaded,
  say,
  systemText,
  tooLong,
  toolNames,
  toolResults,
} from '../../../src/testing/index.ts';
import { summing } from '../../tools/gates.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { answer, past, user } from '../../tools/past.ts';
import { heard, tell } from '../../tools/story.ts';

const hello = { replies: [say('hello')] };

it('tools, mcpClients: what the model is offered', async () => {
  const server = {
    ...{ name: 'shop', status: 'connected' as const },
    tools: [hostTool('mcp__shop__buy', () => 'bought')],
    close: async () => {},
  };
  const told = await tell({
    script: { replies: [callTool('mcp__shop__buy'), say('done')] },
    config: () => ({ tools: [hostTool('Look', () => 'seen')], mcpClients: [server] }),
  });
  expect(told.requests[0] && toolNames(told.requests[0])).toEqual(['Look', 'mcp__shop__buy']);
  expect(told.lines).toContain('result "bought"');
});

it('commands: local ones answer, others become prompts', async () => {
  const told = await tell({
    prompts: ['/time', '/say it'],
    script: hello,
    config: () => ({
      commands: [
        { type: 'local', name: 'time', description: '', run: async () => 'noon' },
        { type: 'prompt', name: 'say', description: '', expand: async (words) => `Say ${words}.` },
      ],
    }),
  });
  expect(told.results.map(({ result }) => result)).toEqual(['noon', 'hello']);
  expect(told.requests.map((request) => heard(request))).toEqual([['user: Say it.']]);
});

it('canUseTool: asked when rules leave a call open; its edit is what runs', async () => {
  const told = await tell({
    script: { replies: [callTool('Bash', { command: 'rm -r /nothing' }), say('done')] },
    options: { permissionMode: 'default' },
    config: () => ({
      canUseTool: async () => ({ behavior: 'allow', updatedInput: { command: 'echo edited' } }),
    }),
  });
  expect(told.lines).toContain('result "edited"');
});

it('getAppState, setAppState: read at each use, written through the host', async () => {
  let written = 0;
  const told = await tell({
    prompts: ['one', 'two'],
    script: {
      replies: [
        ...[callTool('Bash', { command: 'touch x' }), say('1')],
        ...[callTool('Bash', { command: 'touch x' }), say('2')],
      ],
    },
    config: (config) => ({
      setAppState: (change) => {
        written += 1;
        config.setAppState(change);
      },
    }),
    during: (message, engine) => {
      if (message.type === 'result') engine.setPermissionMode('dontAsk');
    },
  });
  expect(written).toBeGreaterThan(0);
  const results = told.lines.filter((line) => line.startsWith('result'));
  expect(results.map((line) => line.startsWith('result (error)'))).toEqual([false, true]);
  expect(told.last.permission_denials).toHaveLength(1);
});

it('getAppState: has the plan of the model, for a host that shows it; of its agents it has none', async () => {
  const todo = (content: string) => ({ content, status: 'pending', activeForm: content });
  const plans: unknown[] = [];
  await tell({
    script: {
      replies: [
        callTool('TodoWrite', { todos: [todo('one')] }),
        callTool('Task', { description: 'd', prompt: 'p', subagent_type: 'general-purpose' }),
        callTool('TodoWrite', { todos: [todo('of the agent')] }),
        say('it is done'),
        say('done'),
      ],
    },
    config: (config) => ({
      setAppState: (change) => {
        config.setAppState(change);
        plans.push(config.getAppState().todos);
      },
    }),
  });
  expect(plans.at(-1)).toEqual([todo('one')]);
});

it('initialMessages: the conversation goes on from them', async () => {
  const told = await tell({
    script: hello,
    prompts: ['and now'],
    config: () => ({ initialMessages: past(user('before'), answer('m1', 'said')) }),
  });
  expect(told.requests.map((request) => heard(request))).toEqual([
    ['user: before', 'assistant: said', 'user: and now'],
  ]);
});

it('readFileCache: an unchanged file is not shown twice', async () => {
  const told = await tell({
    script: {
      replies: [
        callTool('Bash', { command: 'echo once > a' }),
        callTool('Read', { file_path: 'a' }),
        callTool('Read', { file_path: 'a' }),
        say('done'),
      ],
    },
  });
  const last = told.requests.at(-1);
  const results = (last && toolResults(last).map(({ text }) => text)) ?? [];
  expect(told.lines.filter((line) => line.includes('1\\tonce'))).toHaveLength(1);
  expect(results.at(-1)).toMatch(/unchanged/i);
});

it('customSystemPrompt, appendSystemPrompt: ours is replaced, theirs is added', async () => {
  const told = await tell({
    script: hello,
    config: () => ({ customSystemPrompt: 'Own-1.', appendSystemPrompt: 'More-2.' }),
  });
  expect(told.requests[0] && systemText(told.requests[0])).toMatch(/^Own-1\.\s*More-2\.$/);
});

it('userSpecifiedModel, fallbackModel, thinkingConfig: who answers, and how', async () => {
  const told = await tell({
    script: { replies: [...Array.from({ length: 3 }, () => overloaded()), say('from the other')] },
    config: () => ({
      userSpecifiedModel: 'claude-sonnet-4-5',
      fallbackModel: 'claude-haiku-4-5',
      thinkingConfig: { type: 'enabled', budgetTokens: 1_024 },
    }),
  });
  const models = told.requests.map(({ body }) => body.model);
  expect(models.slice(0, 3)).toEqual(Array(3).fill('claude-sonnet-4-5'));
  expect(models.at(-1)).toBe('claude-haiku-4-5');
  expect(told.requests[0]?.body.thinking).toMatchObject({ type: 'enabled', budget_tokens: 1_024 });
});

it('maxTurns, maxBudgetUsd: bounds of one prompt, and of the process', async () => {
  const again = forever(callTool('Bash', { command: 'date +%N' }), 10);
  const turns = await tell({ script: { replies: again }, config: () => ({ maxTurns: 2 }) });
  expect(turns.last).toMatchObject({ terminal_reason: 'max_turns', num_turns: 2 });
  const money = await tell({ script: hello, config: () => ({ maxBudgetUsd: 0.001 }) });
  expect(money.last.terminal_reason).toBe('budget_exhausted');
});

it('taskBudget: told to the model', async () => {
  const told = await tell({ script: hello, config: () => ({ taskBudget: { total: 50_000 } }) });
  expect(told.requests[0]?.body.output_config).toMatchObject({
    task_budget: { type: 'tokens', total: 50_000 },
  });
});

it('jsonSchema: the answer has a shape', async () => {
  const told = await tell({
    script: { replies: [callTool('StructuredOutput', { n: 7 }), say('done')] },
    config: () => ({
      jsonSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    }),
  });
  expect(told.last.structured_output).toEqual({ n: 7 });
});

it('replayUserMessages, includePartialMessages: what the host hears', async () => {
  const told = await tell({
    script: hello,
    config: () => ({ replayUserMessages: true, includePartialMessages: true }),
  });
  expect(told.messages.filter((m) => m.type === 'user' && m.isReplay)).toHaveLength(1);
  expect(told.messages.filter(({ type }) => type === 'stream_event').length).toBeGreaterThan(0);
});

it('setSDKStatus: what a status line may show', async () => {
  const seen: unknown[] = [];
  await tell({ script: hello, config: () => ({ setSDKStatus: (status) => seen.push(status) }) });
  expect(seen).toEqual(['requesting', null]);
});

it('verbose: what each request holds, and why each call may run; the work is the same', async () => {
  const story = {
    script: { replies: [callTool('Bash', { command: 'echo seen' }), say('done')] },
  };
  const [quiet, loud] = [
    await tell(story),
    await tell({ ...story, config: () => ({ verbose: true }) }),
  ];
  const isExtra = (line: string) => line.startsWith('info ');
  expect(quiet.lines.filter(isExtra)).toEqual([]);
  expect(loud.lines.filter((line) => !isExtra(line))).toEqual(quiet.lines);
  expect(loud.lines.filter(isExtra)).toEqual([
    expect.stringMatching(/^info request to claude-sonnet-4-5: 1 messages of about \d+ tokens, /),
    expect.stringMatching(/^info Bash may run: /),
    expect.stringMatching(/^info request to claude-sonnet-4-5: 3 messages of about \d+ tokens, /),
  ]);
});

it('cwd: a value; the folder of the process does not change', async () => {
  const before = process.cwd();
  const told = await tell({
    script: { replies: [callTool('Bash', { command: 'pwd' }), say('x')] },
  });
  expect(told.lines).toContain(`result ${JSON.stringify(told.cwd)}`);
  expect(process.cwd()).toBe(before);
});

it('snipReplay: asked about each boundary, and its store is what stands', async () => {
  const boundaries: string[] = [];
  const told = await tell({
    prompts: ['one', 'two', 'three'],
    script: { replies: [say('1'), say('2'), say('3')] },
    config: () => ({
      historySnip: { maxMessages: 2 },
      snipReplay: (said, store) => {
        boundaries.push(said.type === 'system' ? said.subtype : said.type);
        return replaySnip(said, store);
      },
    }),
    except: ['stands'],
  });
  expect(new Set(boundaries)).toEqual(new Set(['context_edit']));
  expect(told.last.result).toBe('3');
});

it("snipReplay is not asked about the past of an agent: it is not the store's", async () => {
  const heardOf: string[] = [];
  const told = await tell({
    gates: summing,
    script: {
      replies: [
        ...[
          ...['a', 'b', 'c', 'd'].map((letter) =>
            callTool('Bash', { command: `head -c 25000 /dev/zero | tr '\\0' ${letter}` }),
          ),
          tooLong(),
          say('the job is done'),
        ].map((step) => ({ ...step, when: { systemIncludes: 'helper-1' } })),
        callTool('Task', { description: 'a job', prompt: 'job-7', subagent_type: 'helper' }),
        say('end'),
      ],
    },
    options: { agents: { helper: { description: 'small jobs', prompt: 'You are helper-1.' } } },
    config: () => ({
      snipReplay: (said, store) => {
        heardOf.push(said.type === 'system' ? said.subtype : said.type);
        return { messages: store.slice(0, 1), executed: true };
      },
    }),
  });
  const boundary = told.messages.find(
    (said) => said.type === 'system' && said.subtype === 'compact_boundary',
  );
  expect(boundary).toMatchObject({ parent_tool_use_id: expect.any(String) });
  expect(heardOf).toEqual([]);
  expect(told.history).toHaveLength(4);
});
