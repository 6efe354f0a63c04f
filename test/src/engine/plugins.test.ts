/** What a plugin's folder does beside speaking to the model: its hooks and its servers of tools. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import type { Options } from '../../../src/options.ts';
import { loadPlugins } from '../../../src/plugins.ts';
import { callTool, say, toolNames, toolResults } from '../../../src/testing/index.ts';
import { UsageError } from '../../../src/usage-error.ts';
import { odd } from '../../services/mcp/kit.ts';
import { type Place, tell } from '../../tools/story.ts';

const plugin = (texts: Readonly<Record<string, unknown>>) => {
  const all = { '.claude-plugin/plugin.json': { name: 'plug' }, ...texts };
  return ({ cwd }: Place): void => {
    for (const [name, value] of Object.entries(all)) {
      const file = join(cwd, 'plug', name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
    }
  };
};
const plugins = [{ type: 'local', path: 'plug' }] as const;
const hooks = (command: string) => ({
  hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command }] }] },
});
const bash = { replies: [callTool('Bash', { command: 'echo ran' }), say('done')] };
const guard = 'echo "no: $(basename "$CLAUDE_PLUGIN_ROOT")" >&2; exit 2';

it.each([
  ['the usual file', { 'hooks/hooks.json': hooks(guard) }],
  ['the manifest', { '.claude-plugin/plugin.json': { name: 'plug', ...hooks(guard) } }],
  [
    'a file that the manifest names',
    {
      '.claude-plugin/plugin.json': { name: 'plug', hooks: './more.json' },
      'more.json': hooks(guard),
    },
  ],
])('hooks of %s guard, and find their folder', async (_, texts) => {
  const told = await tell({ prepare: plugin(texts), script: bash, options: { plugins } });
  const [, second] = told.requests;
  expect(second && toolResults(second)[0]).toMatchObject({ text: 'no: plug', isError: true });
});

it('a folder that nobody has named does nothing, whatever it holds', async () => {
  const told = await tell({
    prepare: plugin({ 'hooks/hooks.json': hooks(guard), '.mcp.json': { own: odd() } }),
    script: bash,
    options: { settingSources: ['project'] },
  });
  expect(told.lines).toContain('result "ran"');
  expect(told.requests[0] && toolNames(told.requests[0]).join()).not.toContain('mcp__');
});

const withServer = plugin({
  '.mcp.json': {
    mcpServers: { own: { ...odd(), env: { MARK: 'in $' + '{CLAUDE_PLUGIN_ROOT}' } } },
  },
});

it('its servers are offered under its name, and find their folder', async () => {
  const told = await tell({
    prepare: withServer,
    script: { replies: [callTool('mcp__plugin_plug_own__env', {}), say('done')] },
    options: { plugins },
  });
  const [, second] = told.requests;
  const seen = JSON.parse((second && toolResults(second)[0]?.text) ?? '{}');
  const folder = join(told.cwd, 'plug');
  expect(seen).toMatchObject({ CLAUDE_PLUGIN_ROOT: folder, MARK: `in ${folder}` });
  expect(told.messages[0]).toMatchObject({
    mcp_servers: [{ name: 'plugin:plug:own', status: 'connected' }],
  });
});

it.each<[string, Options]>([
  ['skipMcpDiscovery', { plugins: [{ ...plugins[0], skipMcpDiscovery: true }] }],
  ['strictMcpConfig', { plugins, strictMcpConfig: true }],
])('with %s its servers are left out', async (_, options) => {
  const told = await tell({ prepare: withServer, script: { replies: [say('hello')] }, options });
  expect(told.messages[0]).toMatchObject({ mcp_servers: [] });
});

it.each([
  ['hooks that are no JSON', { 'hooks/hooks.json': '{' }, /hooks\.json: not JSON/],
  [
    'a hook that cannot be read',
    { 'hooks/hooks.json': { hooks: { Nope: [] } } },
    /Nope is no event/,
  ],
  ['a server that cannot be read', { '.mcp.json': { own: {} } }, /\.mcp\.json: own\.command/],
  [
    'a file outside of the folder',
    { '.claude-plugin/plugin.json': { name: 'plug', hooks: '../x.json' } },
    /not in the plugin's folder/,
  ],
])('%s stop the start', async (_, texts, expected) => {
  const starting = tell({ prepare: plugin(texts), script: bash, options: { plugins } });
  const error = await starting.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(UsageError);
  expect(String(error)).toMatch(expected);
});

it('two plugins of one name, and a file that is far too long, stop the start', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'plugins-'));
  for (const folder of ['a', 'b']) {
    mkdirSync(join(cwd, folder, '.claude-plugin'), { recursive: true });
    writeFileSync(join(cwd, folder, '.claude-plugin/plugin.json'), '{"name":"plug"}');
  }
  const [a, b] = ['a', 'b'].map((path) => ({ type: 'local' as const, path }));
  const loading = (...given: readonly (typeof a)[]) =>
    loadPlugins(
      given.filter((one) => one !== undefined),
      cwd,
    ).then(
      () => 'good',
      (error: unknown) => String(error),
    );
  expect(await loading(a, b)).toMatch(/UsageError.*\/a and .*\/b are both named plug: leave one/);
  expect(await loading(a, a)).toBe('good');
  writeFileSync(join(cwd, 'a/.mcp.json'), ' '.repeat((4 << 20) + 1));
  expect(await loading(a)).toMatch(/\.mcp\.json: larger than/);
});
