/** Settings as guards: a file that breaks, a folder of a stranger, an administrator, a saved yes. */
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { todoWriteTool } from '../../services/tools/todo-write.ts';
import { configFromOptions, type Options } from '../../src/options.ts';
import { QueryEngine } from '../../src/query-engine.ts';
import type { SettingSource } from '../../src/settings.ts';
import { callTool, say } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

const put = (file: string, content: unknown) => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
};
const push = callTool('Bash', { command: 'git push' });
const openMode: Options = { permissionMode: 'default', allowDangerouslySkipPermissions: false };

async function folders() {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'settings-')));
  const [cwd, home] = [join(root, 'work'), join(root, 'home')];
  mkdirSync(cwd);
  mkdirSync(home);
  const environment = {
    ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
    HOME: home,
    ESCAPEMENT_HOME: home,
  };
  const config = (options: Options = {}, managedFile?: string) =>
    configFromOptions({ cwd, ...options }, environment, managedFile ? { managedFile } : {});
  return { root, cwd, home, environment, config };
}

describe('PERM-13 a settings file that breaks', () => {
  const rules = { permissions: { allow: ['Bash'], deny: ['Bash(git push:*)'] } };

  it('in a session: the guards that were read last hold, and a warning has file, line and reason', async () => {
    const told = await tell({
      script: {
        replies: [push, say('one'), push, say('two'), say('three')],
      },
      prompts: ['push', 'push again', 'and again'],
      options: { ...openMode, settingSources: ['user'] },
      prepare: ({ home }) => put(join(home, 'settings.json'), rules),
      during: (message, _, { home }) => {
        if (message.type !== 'result' || message.result !== 'one') return;
        const text = JSON.stringify(rules, null, 2).replace(/\]\n {2}\}/, '],\n  }');
        put(join(home, 'settings.json'), text);
      },
    });
    expect(told.results.map(({ permission_denials: denials }) => denials.length)).toEqual([
      1, 1, 0,
    ]);
    const warnings = told.lines.filter((line) => line.startsWith('warning'));
    expect(warnings).toHaveLength(1); // also after the third turn
    expect(warnings[0]).toMatch(/settings\.json:9:\d+: not JSON \(.*The rules that were read last/);
  });

  it.each([
    [
      'not JSON',
      '{\n "permissions": {\n  "deny": ["Bash(x)"],\n }\n}',
      /settings\.json:4:2: not JSON/,
    ],
    [
      'a wrong type',
      '{\n "permissions": {\n  "deny": "Bash"\n }\n}',
      /settings\.json:3: permissions\.deny/,
    ],
    [
      'a rule that cannot be read',
      '{\n "permissions": {\n  "deny": [\n   "Read",\n   "Bash(rm"\n  ]\n }\n}',
      /settings\.json:5: the deny rule "Bash\(rm" cannot be read: the closing parenthesis is missing/,
    ],
    ['a hook that cannot be read', '{ "hooks": { "Stopp": [] } }', /settings\.json: hooks\.Stopp/],
    ['no text', '\u0000\u0001', /settings\.json:1:1: not JSON/],
    [
      'a guard of a tool in small letters',
      '{\n "permissions": {\n  "deny": ["bash(touch:*)"], "allow": ["Bash"]\n }\n}',
      /settings\.json:3: the deny rule "bash\(touch:\*\)" guards nothing: .*did you mean "Bash"\?/,
    ],
    [
      'a guard with a slip',
      '{ "permissions": { "ask": ["Bsh(rm:*)"] } }',
      /the ask rule "Bsh\(rm:\*\)" guards nothing: .*"Bash"/,
    ],
    [
      'a guard by the name that other clients have',
      '{ "permissions": { "deny": ["agent"] } }',
      /did you mean "Agent"\?/,
    ],
    [
      'a list of guards under a name that is none',
      '{ "permissions": { "denied": ["Bash"] } }',
      /settings\.json:1: permissions\.denied: unknown key "denied", there are allow, deny, ask/,
    ],
    ['a fence with a slip', '{ "sandbox": { "enable": true } }', /did you mean "enabled"\?/],
  ])('at the start: nothing is started (%s)', async (_, text, said) => {
    const { home, config } = await folders();
    put(join(home, 'settings.json'), text);
    const start = async () => new QueryEngine(await config());
    await expect(start()).rejects.toThrow(said);
  });

  it('a guard of a tool that comes later, is of elsewhere or of the host passes; of a stranger it is told', async () => {
    const { home, config } = await folders();
    const deny = ['mcp__later', 'mcp__later__drop', '*', 'WebSearch', 'LSP', 'Bish(x)', 'Deploy'];
    const ask = ['Skill(x)', 'Agent', 'Task(y)'];
    put(join(home, 'settings.json'), { permissions: { deny, ask } });
    const own = { ...todoWriteTool, name: 'Bish' };
    const { startWarnings } = await config({ settingSources: ['user'], customTools: [own] });
    expect(startWarnings).toEqual([
      expect.stringMatching(/the deny rule "Deploy" guards nothing: no tool here is called Deploy/),
    ]);
  });

  it('a bypass that nobody has opened: both ways to open it are named', async () => {
    const { config } = await folders();
    const closed = config({ permissionMode: 'bypassPermissions' });
    await expect(closed).rejects.toThrow(/add allowDangerouslySkipPermissions: true, or --allow-d/);
  });

  it('rules of the host are refused as well', async () => {
    const { config } = await folders();
    await expect(config({ disallowedTools: ['Bash(rm'] })).rejects.toThrow(/closing parenthesis/);
  });
});

describe('settings that change while a session runs', () => {
  it('may tighten from the next turn on, and never loosen', async () => {
    const touch = callTool('Bash', { command: 'touch p' });
    const told = await tell({
      script: { replies: [touch, say('one'), touch, say('two')] },
      prompts: ['a', 'b'],
      options: { ...openMode, settingSources: ['user'] },
      prepare: ({ home }) => {
        put(join(home, 'settings.json'), {
          permissions: { allow: ['Bash(ls:*)'], deny: ['Read(x)'] },
        });
      },
      during: (message, _, { home }) => {
        if (message.type !== 'result' || message.result !== 'one') return;
        const permissions = { allow: ['Bash(touch:*)'], deny: ['Bash(curl:*)'] };
        put(join(home, 'settings.json'), { permissions });
      },
      after: (engine, { cwd }) => {
        expect(existsSync(join(cwd, 'p'))).toBe(false);
        expect(engine.permissionDenials).toHaveLength(2);
      },
    });
    expect(told.lines.find((line) => line.startsWith('warning'))).toMatch(
      /next session on: allow Bash\(touch:\*\) \(user\), no longer Read\(x\) \(user\)/,
    );
  });
});

it('hooks that are written while a session runs are programs of nobody: they wait', async () => {
  const hook = (command: string) => ({
    hooks: { UserPromptSubmit: [{ hooks: [{ type: 'command', command }] }] },
  });
  const told = await tell({
    script: { replies: [say('one'), say('two')] },
    prompts: ['a', 'b'],
    options: { settingSources: ['user'] },
    prepare: ({ home }) => put(join(home, 'settings.json'), hook('echo old >> ran')),
    during: (message, _, { home }) => {
      if (message.type !== 'result' || message.result !== 'one') return;
      put(join(home, 'settings.json'), hook('echo new >> ran'));
    },
    after: (_, { cwd }) => {
      expect(readFileSync(join(cwd, 'ran'), 'utf8')).toBe('old\nold\n');
    },
  });
  expect(told.lines.filter((line) => line.startsWith('warning'))).toEqual([
    'warning The hooks in the settings were changed: this session keeps those that it began with.',
  ]);
});

describe('a folder that nobody has said to trust', () => {
  const acting = {
    hooks: { SessionStart: [{ hooks: [{ type: 'command', command: 'touch ran-hook' }] }] },
    env: { FROM_PROJECT: 'yes' },
    permissions: { allow: ['Bash(touch:*)'], ask: ['Bash(ls:*)'], deny: ['Bash(echo:*)'] },
  };
  const rulesOf = async (settingSources: readonly SettingSource[] | undefined) => {
    const { cwd, config } = await folders();
    put(join(cwd, '.claude/settings.json'), acting);
    const made = await config(settingSources ? { settingSources } : {});
    const project = made
      .getAppState()
      .toolPermissionContext.rules.find(({ source }) => source === 'project');
    return { made, project };
  };

  it('forbids, and does nothing else: no hook, no variable, no allow rule', async () => {
    const { made, project } = await rulesOf(undefined);
    expect(project).toEqual({
      ...{ source: 'project', allow: [], deny: ['Bash(echo:*)'], ask: ['Bash(ls:*)'] },
    });
    expect(made.env.FROM_PROJECT).toBeUndefined();
    expect(made.hookSettings).toEqual([]);
    expect(made.memory).toEqual([]);
  });

  it('is read as a whole where the host names it, and not at all where the host names others', async () => {
    const named = await rulesOf(['project']);
    expect(named.project?.allow).toEqual(['Bash(touch:*)']);
    expect(named.made.env.FROM_PROJECT).toBe('yes');
    expect((await rulesOf(['user'])).project).toBeUndefined();
  });
});

describe('what an administrator has decided', () => {
  it('counts before all others, and cannot be left out', async () => {
    const { root, config } = await folders();
    const managed = join(root, 'managed.json');
    put(managed, { model: 'claude-haiku-4-5', permissions: { deny: ['WebFetch'] } });
    const made = await config(
      {
        settingSources: [],
        settings: { model: 'claude-opus-4-5', permissions: { allow: ['WebFetch'] } },
      },
      managed,
    );
    expect(made.userSpecifiedModel).toBe('claude-haiku-4-5');
    expect(made.getAppState().toolPermissionContext.rules).toContainEqual({
      ...{ source: 'managed', allow: [], deny: ['WebFetch'], ask: [] },
    });
    put(managed, '{');
    await expect(config({ settingSources: [] }, managed)).rejects.toThrow(/managed\.json:1:2/);
  });

  it('can switch bypassPermissions off', async () => {
    const { root, config } = await folders();
    const managed = join(root, 'managed.json');
    put(managed, { permissions: { disableBypassPermissionsMode: 'disable' } });
    const bypass: Options = {
      permissionMode: 'bypassPermissions',
      allowDangerouslySkipPermissions: true,
    };
    await expect(config(bypass, managed)).rejects.toThrow(/disableBypassPermissionsMode/);
    await expect(config(bypass)).resolves.toBeTruthy();
  });

  it('nobody opens the bypass later', async () => {
    const { config } = await folders();
    const engine = new QueryEngine(await config({ persistSession: false }));
    expect(() => engine.setPermissionMode('bypassPermissions')).toThrow(/at the start/);
    engine.setPermissionMode('plan');
    await engine.close();
  });
});

describe('keys of the model', () => {
  it('do not reach commands, unless somebody hands them over by name', async () => {
    const show = callTool('Bash', {
      command: 'echo "<$ANTHROPIC_API_KEY><$ANTHROPIC_AUTH_TOKEN>"',
    });
    const heard = async (options: Options) => {
      const told = await tell({
        script: { replies: [show, say('ok')] },
        options,
        environment: { ANTHROPIC_API_KEY: 'secret-key', ANTHROPIC_AUTH_TOKEN: 'secret-token' },
      });
      return JSON.stringify(told.requests[1]?.body.messages ?? '');
    };
    expect(await heard({})).toContain('<><>');
    expect(await heard({ env: { ANTHROPIC_API_KEY: 'mine' } })).toContain('<mine><>');
  });
});

describe('an answer that is to be kept', () => {
  const touch = callTool('Bash', { command: 'touch p' });
  const yes = (destination: string): Options => ({
    ...openMode,
    canUseTool: async () => ({
      behavior: 'allow',
      updatedPermissions: [
        {
          ...{ type: 'addRules', behavior: 'allow', destination },
          rules: [{ toolName: 'Bash', ruleContent: 'touch:*' }],
        },
      ],
    }),
  });
  const script = { replies: [touch, say('ok')] };

  it('is written where it says, 0600, and everything else in the file stays', async () => {
    await tell({
      script,
      options: { ...yes('userSettings'), settingSources: ['user'] },
      prepare: ({ home }) => {
        put(join(home, 'settings.json'), {
          other: { tool: 1 },
          permissions: { deny: ['WebFetch'] },
        });
      },
      check: ({ home }) => {
        expect(JSON.parse(readFileSync(join(home, 'settings.json'), 'utf8'))).toEqual({
          other: { tool: 1 },
          permissions: { deny: ['WebFetch'], allow: ['Bash(touch:*)'] },
        });
      },
    });
    await tell({
      script,
      options: { ...yes('localSettings'), settingSources: ['local'] },
      check: ({ cwd }) => {
        const file = join(cwd, '.claude/settings.local.json');
        expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
          permissions: { allow: ['Bash(touch:*)'] },
        });
        expect(statSync(file).mode & 0o777).toBe(0o600);
      },
    });
  });

  it('holds for the session where the file does not count, and says so', async () => {
    const told = await tell({
      script,
      options: { ...yes('localSettings'), settingSources: [] },
      check: ({ cwd }) => {
        expect(existsSync(join(cwd, 'p'))).toBe(true);
        expect(existsSync(join(cwd, '.claude'))).toBe(false);
      },
    });
    expect(told.lines.join('\n')).toMatch(/holds for this session: not saved: the local settings/);
  });

  it('does not follow a link that a stranger has laid, nor touch what it does not understand', async () => {
    await tell({
      script,
      options: { ...yes('localSettings'), settingSources: ['local'] },
      prepare: ({ cwd, home }) => {
        mkdirSync(join(home, 'elsewhere'));
        symlinkSync(join(home, 'elsewhere'), join(cwd, '.claude'));
      },
      check: ({ home }) => {
        expect(existsSync(join(home, 'elsewhere/settings.local.json'))).toBe(false);
      },
    });
  });
});
