/** What a person's answer changes, and what a person is offered. */
import { beforeAll, describe, expect, it } from 'vitest';
import { loadShellParser } from '../../../services/permissions/shell/read-only.ts';
import { suggestionsFor } from '../../../services/permissions/suggestions.ts';
import type { ToolPermissionContext } from '../../../services/permissions/types.ts';
import { applyUpdates, ruleText } from '../../../services/permissions/updates.ts';
import { ground, tools } from './ground.ts';

const context: ToolPermissionContext = {
  mode: 'default',
  rules: [{ source: 'session', allow: ['Bash(ls:*)'], deny: [], ask: [] }],
  additionalDirectories: ['/a'],
  isBypassAvailable: false,
};
const add = { type: 'addRules', behavior: 'allow', destination: 'session' };

describe('updates', () => {
  it('add, replace and remove rules in the set of their destination', () => {
    const rules = [{ toolName: 'Bash', ruleContent: 'npm test:*' }];
    const added = applyUpdates(context, [{ ...add, rules }]).context;
    expect(added.rules).toEqual([
      { source: 'session', allow: ['Bash(ls:*)', 'Bash(npm test:*)'], deny: [], ask: [] },
    ]);
    const removed = applyUpdates(added, [{ ...add, type: 'removeRules', rules }]).context;
    expect(removed.rules).toEqual(context.rules);
    const replaced = applyUpdates(context, [{ ...add, type: 'replaceRules', rules }]).context;
    expect(replaced.rules[0]?.allow).toEqual(['Bash(npm test:*)']);
    expect(context.rules[0]?.allow).toEqual(['Bash(ls:*)']);
  });

  it('name those that a settings file has to keep', () => {
    const lasting = { ...add, destination: 'localSettings', rules: [{ toolName: 'WebSearch' }] };
    const made = applyUpdates(context, [lasting, { ...add, rules: [{ toolName: 'Task' }] }]);
    expect(made.lasting).toEqual([lasting]);
    expect(made.context.rules.map(({ source }) => source)).toEqual(['local', 'session']);
  });

  it('change the mode and the folders, but open no bypass that was not available', () => {
    const updates = [
      { type: 'setMode', mode: 'acceptEdits', destination: 'session' },
      { type: 'setMode', mode: 'bypassPermissions', destination: 'session' },
      { type: 'addDirectories', directories: ['/b'], destination: 'session' },
      { type: 'removeDirectories', directories: ['/a'], destination: 'session' },
    ];
    const made = applyUpdates(context, updates);
    expect(made.context).toMatchObject({ mode: 'acceptEdits', additionalDirectories: ['/b'] });
    expect(made.problems).toHaveLength(1);
  });

  it.each([
    null,
    'allow',
    { type: 'addRules' },
    { ...add, rules: 'Bash' },
    { ...add, rules: [{}] },
    { ...add, rules: [{ toolName: 'Bash', ruleContent: '' }] },
    { ...add, behavior: 'perhaps', rules: [] },
    { type: 'setMode', mode: 'yolo', destination: 'session' },
    { type: 'addDirectories', directories: ['relative'], destination: 'session' },
  ])('believe nothing that is wrong: %j', (update) => {
    const made = applyUpdates(context, [update]);
    expect(made.context).toEqual(context);
    expect(made.problems).toHaveLength(1);
  });
});

describe('suggestions', () => {
  beforeAll(() => loadShellParser());
  const place = { cwd: '/w', home: '/home/u' };
  const rulesFor = (command: string) =>
    suggestionsFor(tools.Bash, { command }, place).flatMap((update) =>
      'rules' in update ? update.rules.map(ruleText) : [],
    );

  it.each([
    ['npm test', ['Bash(npm test:*)']],
    ['npm run lint -- --fix', ['Bash(npm run lint:*)']],
    ['git push origin main', ['Bash(git push:*)']],
    ['cd x && touch y', ['Bash(touch:*)']],
    ['timeout 5 npm test && git push', ['Bash(npm test:*)', 'Bash(git push:*)']],
    ['rm -rf build', ['Bash(rm -rf build)']],
    ['python script.py', ['Bash(python script.py)']],
    ['echo $(id)', []],
    ['ls > out', []],
    ['rm "a b"', []],
  ])('for %s: %j', (command, rules) => {
    expect(rulesFor(command)).toEqual(rules);
  });

  it('are enough: after a yes nobody is asked again', async () => {
    const { bash } = await ground();
    for (const command of ['npm run lint -- --fix', 'cd . && touch y', 'rm -rf build']) {
      expect(await bash(command)).toBe('ask');
      expect(await bash(command, { allow: rulesFor(command) })).toBe('allow');
    }
  });

  it('for files, hosts and tools of servers', async () => {
    const { decide, w, home } = await ground();
    const [read] = suggestionsFor(tools.Read, { path: '/etc/hostname' }, { cwd: w, home });
    const allow = read && 'rules' in read ? read.rules.map(ruleText) : [];
    expect(allow).toEqual(['Read(//etc/**)']);
    expect((await decide(tools.Read, { path: '/etc/hostname' }, { allow })).behavior).toBe('allow');
    expect(suggestionsFor(tools.Edit, { path: 'a' }, place)[0]).toMatchObject({
      mode: 'acceptEdits',
    });
    expect(suggestionsFor(tools.mcp, {}, place)[0]).toMatchObject({
      rules: [{ toolName: 'mcp__srv__look' }],
    });
    expect(suggestionsFor(tools.WebFetch, { url: 'https://e.org/x' }, place)[0]).toMatchObject({
      rules: [{ ruleContent: 'domain:e.org' }],
    });
  });
});
