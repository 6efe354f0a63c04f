import { describe, expect, it } from 'vitest';
import { type Invocation, parseArguments } from '../../../src/cli/args.ts';
import { UsageError } from '../../../src/usage-error.ts';

const terminal = { cwd: '/w', stdinIsTTY: false, stdoutIsTTY: false };
const parse = (...argv: string[]) => parseArguments(argv, terminal);
function optionsOf(...argv: string[]) {
  const { invocation } = parse(...argv);
  if (invocation.kind === 'text') throw new Error('no options');
  return invocation.options;
}
const refusal = (...argv: string[]): string => {
  try {
    parse(...argv);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error('it was accepted');
};

describe('flags of the official SDK', () => {
  // Recorded: what SDK 0.3.332 passes for a session with many options.
  const recorded = [
    ['--output-format', 'stream-json', '--verbose', '--input-format', 'stream-json'],
    ['--thinking=adaptive', '--thinking-display=summarized', '--effort=high', '--max-turns=3'],
    ['--max-budget-usd=0.5', '--task-budget=20000', '--model=claude-sonnet-5-5', '--betas=a,b'],
    ['--json-schema={"type":"object"}', '--permission-prompt-tool=stdio'],
    ['--allowedTools=Read,Bash(npm test:*)', '--disallowedTools=WebFetch', '--tools=Bash,Read'],
    ['--mcp-config', '{"mcpServers":{"a":{"command":"x"}}}', '--setting-sources=user,project'],
    ['--strict-mcp-config', '--permission-mode=acceptEdits', '--fallback-model=claude-haiku-4-5'],
    ['--allow-dangerously-skip-permissions', '--include-partial-messages', '--add-dir=/a'],
    ['--add-dir=/b', '--fork-session', '--session-id=s1', '--settings', '{"a":1}', '--resume=r'],
    ['--no-session-persistence', '--include-hook-events', '--continue'],
  ].flat();

  it('all become options', () => {
    const { invocation, mcpConfig, ignored } = parse(...recorded);
    expect(invocation).toEqual({
      kind: 'headless',
      asksHost: true,
      debug: false,
      options: {
        cwd: '/w',
        thinking: { type: 'adaptive' },
        maxTurns: 3,
        maxBudgetUsd: 0.5,
        taskBudget: { total: 20_000 },
        model: 'claude-sonnet-5-5',
        outputFormat: { type: 'json_schema', schema: { type: 'object' } },
        allowedTools: ['Read', 'Bash(npm test:*)'],
        disallowedTools: ['WebFetch'],
        tools: ['Bash', 'Read'],
        settingSources: ['user', 'project'],
        permissionMode: 'acceptEdits',
        fallbackModel: 'claude-haiku-4-5',
        allowDangerouslySkipPermissions: true,
        includePartialMessages: true,
        includeHookEvents: true,
        additionalDirectories: ['/a', '/b'],
        forkSession: true,
        sessionId: 's1',
        settings: '{"a":1}',
        resume: 'r',
        continue: true,
        persistSession: false,
        strictMcpConfig: true,
      },
    });
    expect(mcpConfig).toEqual(['{"mcpServers":{"a":{"command":"x"}}}']);
    expect(ignored).toEqual(['betas', 'effort', 'thinking-display']);
  });

  it('folders of plugins, with and without their servers', () => {
    expect(optionsOf('-p', 'x', '--plugin-dir=/a', '--plugin-dir-no-mcp=/b').plugins).toEqual([
      { type: 'local', path: '/a' },
      { type: 'local', path: '/b', skipMcpDiscovery: true },
    ]);
  });

  it('an empty value is an empty list, not a list of nothing', () => {
    const options = optionsOf('-p', 'x', '--tools=', '--setting-sources=');
    expect(options.tools).toEqual([]);
    expect(options.settingSources).toEqual([]);
  });

  it('no flag gives no option: the engine has the defaults', () => {
    expect(optionsOf('-p', 'x')).toEqual({ cwd: '/w' });
  });
});

describe('lists of tools', () => {
  it.each([
    [['--allowedTools', 'a,b', '-p', 'x']],
    [['--allowedTools', 'a', 'b', '-p', 'x']],
    [['--allowedTools', 'a', '--allowedTools', 'b', '-p', 'x']],
    [['--allowed-tools=a,b', '-p', 'x']],
    [['-p', 'x', '--allowed-tools=a', '--allowedTools=b']],
  ])('%j', (argv) => {
    expect(optionsOf(...argv).allowedTools).toEqual(['a', 'b']);
  });

  it('keeps commas and blanks inside of a rule', () => {
    const options = optionsOf(
      '-p',
      'x',
      '--allowedTools',
      'Bash(git log --format=a,b),Edit(src/**)',
    );
    expect(options.allowedTools).toEqual(['Bash(git log --format=a,b)', 'Edit(src/**)']);
  });
});

describe('print', () => {
  it.each<[string[], Partial<Invocation>]>([
    [['-p', 'say it'], { kind: 'print', prompt: 'say it', outputFormat: 'text' }],
    [['say', 'it', '--print'], { kind: 'print', prompt: 'say it', outputFormat: 'text' }],
    [['-p', '--output-format', 'json'], { kind: 'print', prompt: undefined, outputFormat: 'json' }],
    [['-p', '--', '--looks-like-a-flag'], { kind: 'print', prompt: '--looks-like-a-flag' }],
  ])('%j', (argv, expected) => {
    expect(parse(...argv).invocation).toMatchObject(expected);
  });

  it('both spellings of going without questions', () => {
    expect(optionsOf('-p', 'x', '--dangerously-skip-permissions')).toMatchObject({
      permissionMode: 'bypassPermissions',
      allowDangerouslySkipPermissions: true,
    });
  });
});

describe('what cannot be understood names itself', () => {
  it.each([
    [['--no-such-flag', '-p', 'x'], /no-such-flag/],
    [['-p', 'x', '--output-format', 'xml'], /xml.*text, json, stream-json/],
    [['-p', 'x', '--max-turns', 'many'], /max-turns.*many/],
    [['-p', 'x', '--max-turns', '1.5'], /whole number/],
    [['-p', 'x', '--max-budget-usd=-1'], /above 0/],
    [['-p', 'x', '--json-schema', '{'], /Not JSON/],
    [['-p', 'x', '--json-schema', '[]'], /JSON object/],
    [['-p', 'x', '--permission-mode', 'yolo'], /default, acceptEdits/],
    [['-p', 'x', '--setting-sources', 'moon'], /user, project, local/],
    [['-p', 'x', '--model'], /--model/],
    [['-p', 'x', '--allowedTools', 'Bash(git log'], /bracket is missing/],
    [['-p', 'x', '--allowedTools', 'Bash)'], /bracket is missing/],
    [['-p', 'x', '--permission-prompt-tool', 'stdio'], /needs --input-format stream-json/],
    [['--input-format', 'stream-json', 'hello'], /comes on stdin/],
    [['--input-format', 'stream-json', '--output-format', 'text'], /needs --output-format/],
    [['--input-format', 'stream-json', '--permission-prompt-tool', 'mcp__x__y'], /use stdio/],
  ])('%j', (argv, expected) => {
    const message = refusal(...argv);
    expect(message).toMatch(expected);
    expect(message).not.toContain('\n');
  });

  it('a person at a terminal gets the interactive mode, unless a flag says otherwise', () => {
    const atTerminal = { cwd: '/w', stdinIsTTY: true, stdoutIsTTY: true };
    const kindOf = (...argv: string[]) => parseArguments(argv, atTerminal).invocation.kind;
    expect(kindOf()).toBe('interactive');
    expect(parseArguments(['fix', 'it'], atTerminal).invocation).toMatchObject({
      kind: 'interactive',
      prompt: 'fix it',
    });
    expect(kindOf('-p', 'x')).toBe('print');
    expect(kindOf('--output-format', 'json', 'x')).toBe('print');
    expect(kindOf('--input-format', 'stream-json')).toBe('headless');
    expect(parseArguments(['x'], { ...atTerminal, stdinIsTTY: false }).invocation.kind).toBe(
      'print',
    );
  });
});

it('the help names every flag that is not hidden', () => {
  const { invocation } = parse('--help');
  if (invocation.kind !== 'text') throw new Error('no text');
  for (const flag of [
    '--print',
    '--model',
    '--mcp-config',
    '--resume',
    'mock-server',
    'Exit codes',
  ]) {
    expect(invocation.text).toContain(flag);
  }
  expect(invocation.text).not.toContain('--session-mirror');
});
