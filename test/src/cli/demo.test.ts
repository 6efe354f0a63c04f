import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { say } from '../../../src/testing/index.ts';
import { type CliBox, cliPath, openCliBox } from '../../tools/cli.ts';

let box: CliBox;
afterEach(() => box?.close());

it('without a key: says that the model is scripted, retries, fixes the test, shows it green', async () => {
  box = await openCliBox({ replies: [] });
  const noModel = { ANTHROPIC_API_KEY: '', ANTHROPIC_BASE_URL: '', TMPDIR: box.home };
  const run = await box.run(['demo'], '', noModel);
  expect(run.code).toBe(0);
  expect(run.stderr).toMatch(/^escapement: inspector: http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/\n$/);
  expect(run.stdout).toContain('SCRIPTED');
  expect(run.stdout).toMatch(/529 overloaded, again in 0\.\d s/);
  expect(run.stdout).toMatch(/● Edit .*median\.js/);
  expect(run.stdout).toContain('↻ next_turn: ');
  expect(run.stdout).toMatch(/[#ℹ] fail 0/);
  expect(run.stdout).toMatch(/✔ completed · 4 model calls · .*\$0\.\d+/);
  const folder = /The project is in (\S+),/.exec(run.stdout)?.[1] ?? '';
  expect(readFileSync(path.join(folder, 'src', 'median.js'), 'utf8')).toContain('a - b');
  expect(existsSync(path.join(box.home, '.escapement'))).toBe(false);
  // The session can be looked at afterwards, as it says.
  const [, home] = /ESCAPEMENT_HOME=(\S+)/.exec(run.stdout) ?? [];
  const file = path.join(box.home, 'demo.html');
  const command = [cliPath(), 'inspect', '--export', file];
  const env = { ...box.env, ESCAPEMENT_HOME: home };
  execFileSync(process.execPath, command, { cwd: folder, env });
  expect(readFileSync(file, 'utf8')).toContain('"reason":"completed"');
  rmSync(path.dirname(folder), { recursive: true });
}, 40_000);

it('demo --help prints help', async () => {
  box = await openCliBox({ replies: [] });
  const run = await box.run(['demo', '--help']);
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(run.stdout).toContain('Usage: escapement demo');
  expect(box.server.requests).toEqual([]);
});

it('with a key or an address: the prompt runs in this folder, in the same view', async () => {
  box = await openCliBox({ replies: [say('done here')] });
  const run = await box.run(['demo', 'do', 'it'], '', { FORCE_COLOR: '1' });
  expect(run.code).toBe(0);
  expect(run.stdout).toContain('done here');
  expect(run.stdout).toContain('\u001b[');
  expect(JSON.stringify(box.server.requests[0]?.body.messages)).toContain('do it');
});

it('with a key and without a prompt it says what is missing', async () => {
  box = await openCliBox({ replies: [] });
  const run = await box.run(['demo']);
  expect(run).toMatchObject({ code: 2, stdout: '' });
  expect(run.stderr).toMatch(/npm start -- /);
});
