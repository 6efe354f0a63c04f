/** `escapement doctor`: all that is wrong at once, and never a key. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { type CliBox, openCliBox } from '../tools/cli.ts';

let box: CliBox;
afterEach(() => box?.close());

describe('doctor', () => {
  it('is content with an ordinary folder, and shows no key', async () => {
    box = await openCliBox({ replies: [say('not asked')] });
    const run = await box.run(['doctor'], '', { ANTHROPIC_API_KEY: 'secret-key' });
    expect(run.code).toBe(0);
    for (const line of [
      /✓ node/,
      /✓ settings\s+none/,
      /✓ trust\s+nothing/,
      /✓ shell/,
      /sandbox\s+off/,
    ]) {
      expect(run.stdout).toMatch(line);
    }
    expect(run.stdout + run.stderr).not.toContain('secret-key');
  });

  it('tells each file that is broken, and what a folder would do', async () => {
    box = await openCliBox({ replies: [say('not asked')] });
    const home = box.env.ESCAPEMENT_HOME ?? '';
    mkdirSync(home, { recursive: true });
    mkdirSync(join(box.cwd, '.claude'));
    writeFileSync(join(home, 'settings.json'), '{\n  "permissions": { "deny": ["Bash(rm"] }\n}');
    writeFileSync(join(box.cwd, '.claude/settings.json'), '{ "hooks": { "Stopp": [] } }');
    writeFileSync(join(box.cwd, '.mcp.json'), '{ "mcpServers": { "files": { "command": "x" } } }');
    const run = await box.run(['doctor']);
    expect(run.code).toBe(1);
    expect(run.stdout).toMatch(/✗ user\s+.*settings\.json:2: the deny rule "Bash\(rm"/);
    expect(run.stdout).toMatch(/✗ project\s+.*settings\.json: hooks\.Stopp is no event/);
    expect(run.stdout).toMatch(/• trust\s+this folder is not trusted.*starts servers: files/);
  });

  it('tells guards that guard nothing', async () => {
    box = await openCliBox({ replies: [say('not asked')] });
    const home = box.env.ESCAPEMENT_HOME ?? '';
    mkdirSync(join(box.cwd, '.claude'), { recursive: true });
    mkdirSync(home, { recursive: true });
    const put = (file: string, deny: string) =>
      writeFileSync(file, JSON.stringify({ permissions: { deny: [deny] } }));
    put(join(home, 'settings.json'), 'Bsh(rm:*)');
    put(join(box.cwd, '.claude/settings.json'), 'Deploy');
    const run = await box.run(['doctor']);
    expect(run.code).toBe(1);
    expect(run.stdout).toMatch(/✗ user\s+.*"Bsh\(rm:\*\)" guards nothing: .*did you mean "Bash"/);
    expect(run.stdout).toMatch(/• project\s+.*"Deploy" guards nothing: no tool here is called/);
  });
});
