/** What `~` stands for where nobody has said: a service and a container have no `HOME`. */
import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { childEnvironment } from '../../src/child-environment.ts';
import { engineHomeOf, userHomeOf } from '../../src/home-folders.ts';
import { configFromOptions } from '../../src/options.ts';
import { QueryEngine } from '../../src/query-engine.ts';
import { callTool, createScriptedServer, say } from '../../src/testing/index.ts';

const own = userInfo().homedir;

describe('the home folder', () => {
  it.each([
    ['is what the environment says', { HOME: '/home/me' }, '/home/me'],
    ['is what the system says', {}, own],
    ['is not an empty word', { HOME: '' }, own],
    ['is not relative to where something runs', { HOME: '.' }, own],
  ])('%s', (_, environment, home) => {
    expect(userHomeOf(environment)).toBe(home);
    // A shell has the same, so that `~` means one thing.
    expect(childEnvironment(environment, {}).HOME).toBe(home);
    expect(engineHomeOf(environment)).toBe(join(home, '.escapement'));
  });

  it('of the engine is a place of its own, and an empty word is none', () => {
    expect(engineHomeOf({ ESCAPEMENT_HOME: '/e', HOME: '/home/me' })).toBe('/e');
    expect(engineHomeOf({ ESCAPEMENT_HOME: '', HOME: '/h' })).toBe('/h/.escapement');
  });
});

describe('without HOME', () => {
  // It need not be there: nothing may even look.
  const secret = join(own, '.no-such-secret');

  it.each([
    ['~ is not the working folder', 'default', {}, `cat ~/.no-such-secret`],
    ['an absolute rule means it', 'default', { deny: [`Read(/${secret})`] }, `cat ${secret}`],
    [
      'a rule with ~ holds in every mode',
      'bypassPermissions',
      { deny: [`Read(~/.no-such-secret)`] },
      `cat ~/.no-such-secret`,
    ],
  ] as const)('%s', async (_, permissionMode, permissions, command) => {
    const server = createScriptedServer({ replies: [callTool('Bash', { command }), say('done')] });
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'home-')));
    const config = await configFromOptions(
      {
        cwd: root,
        settings: { permissions },
        permissionMode,
        allowDangerouslySkipPermissions: true,
      },
      {
        ...{ ANTHROPIC_BASE_URL: await server.listen(), ANTHROPIC_API_KEY: 'x' },
        ...{ ESCAPEMENT_HOME: join(root, '.home'), PATH: process.env.PATH },
      },
    );
    const engine = new QueryEngine(config);
    let denials = 0;
    for await (const message of engine.submitMessage('read it')) {
      if (message.type === 'result') denials = message.permission_denials.length;
    }
    await engine.close();
    await server.close();
    expect(denials).toBe(1);
  });
});
