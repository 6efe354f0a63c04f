import { describe, expect, it } from 'vitest';
import { shellTools } from '../../../../services/tools/shell/index.ts';
import type { Tool } from '../../../../services/tools/tool.ts';

const bash = (isReadOnlyCommand?: (command: string) => boolean): Tool =>
  shellTools(isReadOnlyCommand ? { isReadOnlyCommand } : {})[0] as Tool;

describe('the shell tools', () => {
  it('refuses what it does not know', async () => {
    const parsed = await bash().parse({ command: 'ls', sandbox: false });
    expect(parsed).toMatchObject({ ok: false });
    expect(parsed.ok || parsed.message).toContain('sandbox');
  });

  it('nothing is read-only unless somebody knows it', () => {
    expect(bash().isReadOnly({ command: 'ls' })).toBe(false);
    expect(bash().isConcurrencySafe({ command: 'ls' })).toBe(false);
    const knows = bash((command) => command.startsWith('ls') || command.startsWith('cd'));
    expect(knows.isReadOnly({ command: 'ls' })).toBe(true);
    expect(knows.isConcurrencySafe({ command: 'ls' })).toBe(true);
    expect(knows.isConcurrencySafe({ command: 'cd x' })).toBe(false);
    expect(knows.isReadOnly({ command: 'ls', run_in_background: true })).toBe(false);
    expect(knows.isReadOnly({})).toBe(false);
  });

  it("the executor's deadline is beyond the command's own", () => {
    expect(bash().deadlineMs({ command: 'x' })).toBeGreaterThan(120_000);
    expect(bash().deadlineMs({ command: 'x', timeout: 5_000 })).toBeGreaterThan(9_000);
    expect(bash().deadlineMs({ command: 'x', timeout: 1e12 })).toBeLessThan(620_000);
  });
});
