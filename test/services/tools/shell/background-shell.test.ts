import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ShellHarness, shellHarness } from './shell-harness.ts';

let shell: ShellHarness;
beforeEach(async () => {
  shell = await shellHarness();
});
afterEach(async () => {
  await shell.cleanUp();
});

const startShell = async (command: string): Promise<string> => {
  const { data } = await shell.bash(command, { run_in_background: true });
  return String(data.shellId);
};
const lookAt = (id: string, filter?: string) =>
  shell.run('BashOutput', { bash_id: id, ...(filter === undefined ? {} : { filter }) });
const ended = (id: string) =>
  expect.poll(async () => (await lookAt(id)).data.status, { timeout: 5_000 });

describe('a shell in the background', () => {
  it('gives what is new at each look, and its exit code at the end', async () => {
    const id = await startShell('echo one; read -t 1 x < <(sleep 2); echo two; exit 7');
    await expect.poll(() => peek(id), { timeout: 5_000 }).toBe('one');
    let said = '';
    await expect
      .poll(
        async () => {
          const { data } = await lookAt(id);
          said += data.stdout;
          return data.status;
        },
        { timeout: 5_000 },
      )
      .toBe('failed');
    expect(said).toBe('two');
    expect((await lookAt(id)).data).toMatchObject({ exitCode: 7, stdout: '' });
  });

  it('is ended with everything that it has started', async () => {
    const id = await startShell('setsid sleep 1000 & sleep 1000');
    await expect.poll(() => shell.alive().length, { timeout: 5_000 }).toBe(3);
    const { isError } = await shell.run('KillShell', { shell_id: id });
    expect(isError).toBe(false);
    expect(shell.alive()).toEqual([]);
    expect((await lookAt(id)).data).toMatchObject({ status: 'killed' });
    expect((await shell.run('KillShell', { shell_id: id })).text).toContain('ended already');
  });

  it('ends with the session, also when it ignores SIGTERM', async () => {
    await startShell('trap "" TERM; while :; do sleep 1; done');
    await expect.poll(() => shell.alive().length, { timeout: 5_000 }).toBeGreaterThan(0);
    await shell.dispose();
    expect(shell.alive()).toEqual([]);
  });

  it('keeps the beginning and the end of what nobody reads', async () => {
    const id = await startShell('echo first; yes | head -c 5000000; echo last');
    await outputIsRead();
    const { text } = await lookAt(id);
    expect(text.startsWith('first\n')).toBe(true);
    expect(text).toMatch(/bytes left out[\s\S]*\nlast\n\nStatus: /);
    expect(text.length).toBeLessThan(31_000);
  });

  it('shows only lines that match a filter, and a bad filter is told', async () => {
    const id = await startShell('echo an error; echo fine; echo error two');
    await outputIsRead();
    expect((await lookAt(id, '[')).text).toContain('no regular expression');
    expect((await lookAt(id, 'error')).data.stdout).toBe('an error\nerror two');
  });

  it('an evil filter is cut short', async () => {
    const id = await startShell(`echo ${'a'.repeat(40)}b`);
    await outputIsRead();
    const { text, isError } = await lookAt(id, '^(a+)+$');
    expect(isError).toBe(true);
    expect(text).toContain('too long');
  });

  it('is named when another one is asked for', async () => {
    expect((await lookAt('bash_9')).text).toContain('none was started');
    await startShell('true');
    expect((await lookAt('bash_9')).text).toContain('Known: bash_1');
    expect((await shell.run('KillShell', { shell_id: 'x' })).isError).toBe(true);
  });

  it('a character that comes in two looks is whole', async () => {
    const id = await startShell("printf '\\xe6\\x97'; sleep 0.5; printf '\\xa5'");
    let said = '';
    await expect
      .poll(
        async () => {
          said += (await lookAt(id)).data.stdout;
          return said;
        },
        { timeout: 5_000 },
      )
      .toBe('日');
    await ended(id).toBe('completed');
  });
});

/** The status comes with the output that is there: so wait without looking. */
const outputIsRead = async () => {
  await expect.poll(() => shell.alive().length, { timeout: 5_000 }).toBe(0);
  await new Promise((resolve) => setTimeout(resolve, 300));
};

const peek = async (id: string) => (await lookAt(id)).data.stdout;
