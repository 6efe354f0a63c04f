/** Files against rules, modes and links. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diskFileSystem, type FileSystem } from '../../../services/permissions/paths.ts';
import { createReadGuard } from '../../../services/permissions/read-guard.ts';
import { describeProblem, parseRule, rulesOf } from '../../../services/permissions/rules.ts';
import { ground, ruleSet, tools } from './ground.ts';

describe('PERM-10 links and dots in file rules', () => {
  const files = {
    '/w/secret/key': 'k',
    '/w/link': '-> /w/secret/key',
    '/w/dir': '-> /w/secret',
    '/w/real/rc': 'r',
    '/w/rc': '-> /w/real/rc',
    '/w/new': '-> /w/secret/not-yet',
  };
  const settings = {
    allow: ['Read', 'Edit'],
    deny: ['Read(//w/secret/**)', 'Edit(//w/secret/**)', 'Read(//w/rc)'],
  };
  it.each([
    ['Read', '/w/secret/key', 'deny'],
    ['Read', '/w/link', 'deny'],
    ['Read', '/w/dir/key', 'deny'],
    ['Read', '/w/x/../secret/key', 'deny'],
    ['Read', './secret/key', 'deny'],
    ['Read', '~/../w/secret/key', 'deny'],
    ['Grep', '/w/dir', 'deny'],
    ['Glob', '/w/dir', 'deny'],
    ['Read', '/w/rc', 'deny'],
    ['Read', '/w/real/rc', 'deny'],
    ['Edit', '/w/link', 'deny'],
    ['Write', '/w/new', 'deny'],
    ['Write', '/w/dir/deep/er', 'deny'],
    ['Read', '/w/secretfoo/a', 'allow'],
  ] as const)('%s %s: %s', async (name, path, decision) => {
    const { file } = await ground(files);
    expect(await file(name, path, settings)).toBe(decision);
  });

  it('reads a link that leads out of the folder as what it is', async () => {
    const { file } = await ground({ '/w/out': '-> /etc/hostname', '/w/a': 'a' });
    expect(await file('Read', '/w/a')).toBe('allow');
    expect(await file('Read', '/w/out')).toBe('ask');
    expect(await file('Edit', '/w/out', { allow: ['Edit(./**)'] })).toBe('ask');
    expect(await file('Write', '/w/out', {}, 'acceptEdits')).toBe('ask');
  });
});

describe('PERM-10 a search above a denied file', () => {
  it('can leave it out, by any way to it', async () => {
    const { w, home } = await ground({
      '/w/secret/key': 'k',
      '/w/link': '-> /w/secret/key',
      '/w/a': '',
    });
    const context = (deny: readonly string[]) => ({
      ...{ mode: 'default' as const, additionalDirectories: [], isBypassAvailable: false },
      rules: [ruleSet({ deny })],
    });
    const mayShow = createReadGuard(context(['Read(./secret/**)']), w, { home });
    expect(
      await Promise.all(['a', 'secret/key', 'link', `${w}/secret/key`].map((p) => mayShow?.(p))),
    ).toEqual([...[true, false, false, false]]);
    expect(createReadGuard(context(['Bash(rm:*)']), w, { home })).toBeUndefined();
  });
});

describe('PERM-12 case and Unicode variants of protected names', () => {
  /** A volume that ignores case: what the disk says, asked in lower case. */
  const insensitive: FileSystem = {
    realpath: (path) => diskFileSystem.realpath(path),
    linkAt: (path) => diskFileSystem.linkAt(path),
    ignoresCase: async () => true,
  };
  const settings = {
    allow: ['Read', 'Edit'],
    deny: ['Read(//w/.env)', 'Edit(**/.git/**)', 'Read(//w/.\u00e9nv)'],
  };
  const rows = [
    ['Read', '/w/.ENV', 'deny', 'allow'],
    ['Edit', '/w/.Git/config', 'deny', 'ask'],
    ['Read', '/w/.env', 'deny', 'deny'],
    ['Read', '/w/.env.example', 'allow', 'allow'],
    ['Edit', '/w/.gitignore', 'allow', 'allow'],
    ['Read', '/w/.e\u0301nv', 'deny', 'deny'],
    ['Edit', '/w/.git/config', 'deny', 'deny'],
  ] as const;
  it.each(rows)('%s %s: %s where case is ignored', async (name, path, decision) => {
    const { file } = await ground({}, { fileSystem: insensitive });
    expect(await file(name, path, settings)).toBe(decision);
  });
  it.each(rows)('%s %s: (%s) %s elsewhere', async (name, path, _, decision) => {
    const { file } = await ground();
    expect(await file(name, path, settings)).toBe(decision);
  });
});

describe('PERM-13 a rule that cannot be read', () => {
  it('lets nothing through that it might have been for, and says so', async () => {
    const { bash, file } = await ground();
    const settings = { allow: ['Bash', 'Read'], deny: ['Bash(git push'] };
    expect(await bash('git push', settings)).toBe('ask');
    expect(await bash('git push', settings, 'bypassPermissions')).toBe('ask');
    expect(await file('Read', '/w/a', settings)).toBe('allow');
    const { problems } = rulesOf({ rules: [ruleSet(settings)] });
    expect(problems.map(describeProblem)).toEqual([
      'The deny rule "Bash(git push" (project settings) cannot be read: the closing parenthesis is missing.',
    ]);
  });

  it('takes no other rule with it', async () => {
    const { bash } = await ground();
    expect(await bash('rm x', { allow: ['Bash'], deny: ['Bash(', 'Bash(rm:*)'] })).toBe('deny');
  });
});

describe('rules', () => {
  it.each([
    ['Bash(npm run test)', true],
    ['Bash(git status:*)', true],
    ['Read(./src/**)', true],
    ['mcp__server', true],
    ['mcp__server__*', true],
    ['mcp__server__tool', true],
    ['WebFetch(domain:example.org)', true],
    ['Task(Explore)', true],
    ['', false],
    ['git push', false],
    ['Bash(rm', false],
    ['Bash()', false],
    ['Bash("rm)', false],
    ['mcp__server(x)', false],
    ['WebFetch(example.org)', false],
    ['Ba*', false],
  ])('%j is a rule: %s', (text, ok) => {
    expect(parseRule(text, 'user').ok).toBe(ok);
  });

  it('never throw (property)', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        parseRule(text, 'user');
        parseRule(`Bash(${text})`, 'user');
      }),
    );
  });

  it.each([
    ['./src/**', '/w/src/a/b', 'allow'],
    ['src/**', '/w/src', 'allow'],
    ['/src', '/w/src/a', 'allow'],
    ['*.md', '/w/deep/er/x.md', 'allow'],
    ['//w/a', '/w/a', 'allow'],
    ['~/notes/**', '~/notes/x', 'allow'],
    ['./src/*', '/w/srcs/a', 'ask'],
    ['./src/**', '/w/src/../b', 'ask'],
  ])('Edit(%s) for %s: %s', async (pattern, path, decision) => {
    const { file } = await ground();
    expect(await file('Write', path, { allow: [`Edit(${pattern})`] })).toBe(decision);
  });

  it('deny goes before ask, and ask before allow, whatever the source', async () => {
    const { file, decide } = await ground();
    const all = { allow: ['Edit(a)'], ask: ['Edit(a)'], deny: ['Edit(a)'] };
    expect(await file('Edit', '/w/a', all)).toBe('deny');
    expect(await file('Edit', '/w/a', { ...all, deny: [] })).toBe('ask');
    const firm = await decide(tools.Edit, { path: 'a' }, { ...all, deny: [] }, 'bypassPermissions');
    expect(firm).toMatchObject({ behavior: 'ask', isFirm: true });
  });

  it('who must not read a file cannot edit it either', async () => {
    const { file } = await ground();
    expect(await file('Edit', '/w/.env', { allow: ['Edit'], deny: ['Read(.env)'] })).toBe('deny');
  });

  it('a deny rule with one slash is also read as absolute', async () => {
    const { file } = await ground();
    expect(await file('Read', '/etc/hostname', { allow: ['Read'], deny: ['Read(/etc/**)'] })).toBe(
      'deny',
    );
  });

  it('for hosts, and for tools of servers', async () => {
    const { decide } = await ground();
    const fetch = async (url: string, allow: string) =>
      (await decide(tools.WebFetch, { url }, { allow: [allow] })).behavior;
    expect(await fetch('https://example.org/a', 'WebFetch(domain:example.org)')).toBe('allow');
    expect(await fetch('https://example.org.evil.com/', 'WebFetch(domain:example.org)')).toBe(
      'ask',
    );
    expect(await fetch('https://a.example.org/', 'WebFetch(domain:*.example.org)')).toBe('allow');
    for (const rule of ['mcp__srv', 'mcp__srv__*', 'mcp__srv__look']) {
      expect((await decide(tools.mcp, {}, { allow: [rule] })).behavior).toBe('allow');
    }
    expect((await decide(tools.mcp, {}, { allow: ['mcp__sr'] })).behavior).toBe('ask');
  });
});

describe('modes', () => {
  const calls = [
    ['reads inside', 'Read', '/w/a'],
    ['reads outside', 'Read', '/etc/hostname'],
    ['edits inside', 'Edit', '/w/a'],
    ['edits outside', 'Edit', '/tmp/elsewhere'],
    ['edits a repository', 'Edit', '/w/.git/config'],
    ['edits settings', 'Write', '/w/.claude/settings.json'],
    ['edits a start file', 'Write', '/w/.bashrc'],
  ] as const;
  it.each([
    ['default', ['allow', 'ask', 'ask', 'ask', 'ask', 'ask', 'ask']],
    ['acceptEdits', ['allow', 'ask', 'allow', 'ask', 'ask', 'ask', 'ask']],
    ['plan', ['allow', 'ask', 'deny', 'deny', 'deny', 'deny', 'deny']],
    ['dontAsk', ['allow', 'deny', 'deny', 'deny', 'deny', 'deny', 'deny']],
    ['bypassPermissions', ['allow', 'allow', 'allow', 'allow', 'allow', 'allow', 'allow']],
  ] as const)('%s', async (mode, decisions) => {
    const { file } = await ground();
    const made = [];
    for (const [, name, path] of calls) made.push(await file(name, path, {}, mode));
    expect(made).toEqual(decisions);
  });

  it('ask for every tool of a server, read-only or not, and for none that touches nothing', async () => {
    const { decide } = await ground();
    expect((await decide(tools.mcp, {})).behavior).toBe('ask');
    expect((await decide(tools.TodoWrite, {})).behavior).toBe('allow');
  });

  it('deny rules hold in each', async () => {
    const { file } = await ground();
    for (const mode of [
      'default',
      'acceptEdits',
      'plan',
      'dontAsk',
      'bypassPermissions',
    ] as const) {
      expect(await file('Read', '/w/a', { deny: ['Read(a)'] }, mode)).toBe('deny');
    }
  });

  it('plan lets commands run that only read', async () => {
    const { bash } = await ground();
    expect(await bash('ls', {}, 'plan')).toBe('allow');
    expect(await bash('npm test', { allow: ['Bash(npm test)'] }, 'plan')).toBe('deny');
  });

  it('a general rule does not lift the protection of start files; one that names them does', async () => {
    const { file } = await ground();
    expect(await file('Edit', '/w/.bashrc', { allow: ['Edit', 'Edit(**)'] })).toBe('ask');
    expect(await file('Edit', '/w/.bashrc', { allow: ['Edit(.bashrc)'] })).toBe('allow');
  });
});
