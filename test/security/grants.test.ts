/** What servers have granted is read and changed by no tool, wherever `$ESCAPEMENT_HOME` lies. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { OwnFolder } from '../../services/permissions/own-folder.ts';
import { createReadGuard } from '../../services/permissions/read-guard.ts';
import type { PermissionMode } from '../../services/permissions/types.ts';
import { callTools, say } from '../../src/testing/index.ts';
import { ground, type Settings } from '../services/permissions/ground.ts';
import { tell } from '../tools/story.ts';

const everything: Settings = { allow: ['Read', 'Edit', 'Bash', 'Read(//w/**)', 'Edit(//w/**)'] };

/** `$ESCAPEMENT_HOME` is `/w/state`, in the folder of the session. */
async function state() {
  const own: { folder: string; hidden: string[] } = { folder: '', hidden: [] };
  const found = await ground(
    {
      '/w/state/mcp-grants/a.json': '{"access_token":"of no value"}',
      '/w/state/settings.json': '{}',
      '/w/way': '-> /w/state/mcp-grants',
      '/w/up': '-> /w/state',
      '/w/sub/a': '',
    },
    { own: own as OwnFolder },
  );
  const w = await realpath(found.w);
  own.folder = join(w, 'state');
  own.hidden.push(join(w, 'state/mcp-grants'));
  return { ...found, own };
}

describe('files', () => {
  it.each([
    ['Read', '/w/state/mcp-grants/a.json', 'deny'],
    ['Read', '/w/state/x/../mcp-grants/a.json', 'deny'],
    ['Read', '/w/way/a.json', 'deny'],
    ['Grep', '/w/way', 'deny'],
    ['Glob', '/w/state/mcp-grants', 'deny'],
    ['Edit', '/w/state/mcp-grants/a.json', 'deny'],
    ['Write', '/w/way/new.json', 'deny'],
    ['Write', '/w/up/mcp-grants/new.json', 'deny'],
    ['Read', '/w/state/settings.json', 'allow'],
    ['Read', '/w/state/mcp-grants-of-old', 'allow'],
  ] as const)('%s %s: %s, whatever is allowed', async (name, path, expected) => {
    const { file } = await state();
    const modes: readonly PermissionMode[] = ['default', 'acceptEdits', 'bypassPermissions'];
    for (const mode of modes) expect(await file(name, path, everything, mode)).toBe(expected);
  });

  it.each([
    ['/w/state/settings.json', {}, 'ask'],
    ['/w/up/settings.json', {}, 'ask'],
    ['/w/up/settings.json', { allow: ['Edit'] }, 'ask'],
    ['/w/state/settings.json', { allow: ['Edit(//w/state/**)'] }, 'allow'],
    ['/w/sub/a', {}, 'allow'],
  ] as const)('acceptEdits in %s under %j: %s', async (path, settings, expected) => {
    const { file } = await state();
    expect(await file('Edit', path, settings, 'acceptEdits')).toBe(expected);
  });

  it('a session inside of the folder works on its own files', async () => {
    const own: OwnFolder = { folder: '/', hidden: [] };
    const { file } = await ground({ '/w/a': '' }, { own });
    expect(await file('Edit', '/w/a', {}, 'acceptEdits')).toBe('allow');
  });

  it('a search above them leaves them out', async () => {
    const { w, home, own } = await state();
    const context = { mode: 'default' as const, additionalDirectories: [], rules: [] };
    const guard = createReadGuard({ ...context, isBypassAvailable: false }, w, { home, own });
    const seen = ['state/mcp-grants/a.json', 'way/a.json', 'state/settings.json', 'sub/a'];
    expect(await Promise.all(seen.map((path) => guard?.(path)))).toEqual([
      ...[false, false, true, true],
    ]);
  });
});

describe('commands', () => {
  const table: readonly (readonly [command: string, expected: string])[] = [
    ['cat state/mcp-grants/a.json', 'deny'],
    ['cat /w/way/a.json', 'deny'],
    ['head -1 < state/mcp-grants/a.json', 'deny'],
    ['echo x > state/mcp-grants/a.json', 'deny'],
    ['cat state/mcp-grants/*', 'deny'],
    ['cat state/*/*', 'deny'],
    ['cat */*/*.json', 'deny'],
    ['cat up/m*/a.json', 'deny'],
    ['cp state/mcp-grants/a.json b', 'deny'],
    ['cd state/mcp-grants && cat a.json', 'deny'],
    ['cd state && cat mcp-grants/a.json', 'deny'],
    ['sh -c "cat state/mcp-grants/a.json"', 'deny'],
    ['ls state/mcp-grants', 'deny'],
    ['grep -r token .', 'ask'],
    ['grep -r token *', 'ask'],
    ['rg token', 'ask'],
    ['rg token up', 'ask'],
    ['cp -r state elsewhere', 'ask'],
    ['tar cf - .', 'ask'],
    ['git grep --no-index token', 'ask'],
    ['ls', 'allow'],
    ['ls -R state', 'allow'],
    ['grep -r token sub', 'allow'],
    ['cat state/settings.json', 'allow'],
  ];
  it.each(table)('%j: %s, whatever is allowed', async (command, expected) => {
    const { bash } = await state();
    expect(await bash(command, everything)).toBe(expected);
    expect(await bash(command, everything, 'bypassPermissions')).toBe(expected);
    const unasked = await bash(command, {}, 'acceptEdits');
    if (expected !== 'allow') expect(unasked).not.toBe('allow');
  });

  it('who has granted nothing is not asked for it', async () => {
    const { bash } = await ground(
      { '/w/a': '' },
      { own: { folder: '/nowhere', hidden: ['/nowhere/mcp-grants'] } },
    );
    expect(await bash('grep -r token /w')).toBe('allow');
  });
});

it('over the engine, with nobody to ask and everything allowed', async () => {
  const told = await tell({
    script: ({ home }) => ({
      replies: [
        callTools([
          ['Read', { file_path: join(home, 'mcp-grants/a.json') }],
          ['Read', { file_path: 'way/a.json' }],
          ['Grep', { pattern: 'tell-', path: home, output_mode: 'content' }],
          ['Glob', { pattern: '**/*.json', path: home }],
          ['Bash', { command: `cat ${home}/mcp-grants/a.json` }],
          ['Write', { file_path: join(home, 'mcp-grants/b.json'), content: '{}' }],
        ]),
        say('ok'),
      ],
    }),
    prepare: ({ home, cwd }) => {
      mkdirSync(join(home, 'mcp-grants'));
      writeFileSync(join(home, 'mcp-grants/a.json'), 'tell-nobody');
      writeFileSync(join(home, 'open.json'), 'tell-everybody');
      symlinkSync(join(home, 'mcp-grants'), join(cwd, 'way'));
    },
  });
  const messages = told.requests[1]?.body.messages;
  const results = JSON.stringify(Array.isArray(messages) ? messages.at(-1) : '');
  expect(results).toContain('tell-everybody');
  expect(results).not.toMatch(/tell-nobody|grants\/\w+\.json:/);
  expect(told.last.permission_denials).toHaveLength(4);
});

describe.skipIf(process.platform !== 'linux')(
  'what a process was started with, keys among it',
  () => {
    const modes: readonly PermissionMode[] = ['default', 'acceptEdits', 'bypassPermissions'];
    const own = `/proc/${process.pid}`;

    it.each([
      [`${own}/environ`, 'deny'],
      ['/proc/self/environ', 'deny'],
      ['/proc/thread-self/environ', 'deny'],
      ['/proc/self/root/proc/self/environ', 'deny'],
      [`${own}/task/${process.pid}/environ`, 'deny'],
      ['/w/environ', 'allow'],
    ] as const)('Read %s: %s, whatever is allowed', async (path, expected) => {
      const { file } = await ground({ '/w/environ': 'x' });
      for (const mode of modes) expect(await file('Read', path, everything, mode)).toBe(expected);
    });

    it.each([
      `cat ${own}/environ`,
      `tr a b < ${own}/environ`,
      'cat /proc/self/environ',
      'cat /proc/*/environ',
      'head /proc/[0-9]*/env*',
    ])('%s', async (command) => {
      const { bash } = await ground({});
      for (const mode of modes) expect(await bash(command, everything, mode)).toBe('deny');
    });
  },
);
