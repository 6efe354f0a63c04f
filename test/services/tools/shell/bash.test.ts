import { readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ShellHarness, shellHarness } from './shell-harness.ts';

let shell: ShellHarness;
beforeEach(async () => {
  shell = await shellHarness();
});
afterEach(async () => {
  await shell.cleanUp();
});

describe('a command', () => {
  it('gives its output and exit code, and joins stderr in the order of printing', async () => {
    const { text, isError, data } = await shell.bash('echo a; echo b >&2; echo c; exit 3');
    expect(text).toBe('a\nb\nc\n\nExit code 3');
    expect(isError).toBe(true);
    expect(data).toMatchObject({ exitCode: 3, stdout: 'a\nb\nc', interrupted: false });
  });

  it('keeps the order of what two streams print', async () => {
    const { text } = await shell.bash('for i in {1..300}; do echo out$i; echo err$i >&2; done');
    const lines = Array.from({ length: 300 }, (_, i) => `out${i + 1}\nerr${i + 1}`);
    expect(text).toBe(lines.join('\n'));
  });

  it('says which signal ended the shell, or a child of it', async () => {
    expect((await shell.bash('kill -SEGV $$')).text).toContain('Ended by signal SIGSEGV');
    expect((await shell.bash('bash -c "kill -9 \\$\\$"; exit $?')).text).toContain('137 (SIGKILL)');
  });

  it('quotes only the command when bash cannot read it', async () => {
    const { text, data } = await shell.bash('echo )');
    expect(text).toContain('syntax error');
    expect(text).not.toContain('pwd');
    expect(data).toMatchObject({ exitCode: 2 });
  });

  it.each([
    ['an open here-document', 'cat <<END\nhello', 'hello'],
    ['a comment at the end', 'echo hello # and more', 'hello'],
    ['a backslash at the end', 'echo hello \\', 'hello'],
    ['its own trap', 'trap "echo bye" EXIT; echo hello', 'hello\nbye'],
  ])('may end with %s', async (_, command, expected) => {
    expect((await shell.bash(command)).text).toContain(expected);
  });

  it('is refused in words when it is longer than the system takes', async () => {
    const { text, isError } = await shell.bash(`echo ${'x'.repeat(300_000)}`);
    expect(isError).toBe(true);
    expect(text).toContain('too long');
  });

  it('CONT-02 that says nothing is no error', async () => {
    expect(await shell.bash('mkdir -p x')).toMatchObject({ text: '', isError: false });
    expect(await shell.bash('printf "\\n\\n"')).toMatchObject({ text: '', isError: false });
  });

  it('shows its last line while it runs', async () => {
    await shell.bash('for i in 1 2 3; do echo line $i; sleep 0.6; done');
    expect(shell.gists.length).toBeGreaterThan(0);
    expect(shell.gists[0]).toMatch(/^line \d$/);
  });
});

describe('BASH-01 a background process keeps the pipe', () => {
  it.each([
    ['a silent holder', 'sleep 300 & echo started', 'started'],
    ['a talker', '(while :; do echo tick; sleep 0.2; done) & sleep 0.5; echo fg', 'fg'],
    ['one that holds nothing', 'sleep 300 </dev/null >/dev/null 2>&1 & echo x', 'x'],
    ['one that left the group', 'setsid sleep 300 & echo y', 'y'],
  ])('%s: the result comes at once, and nothing outlives the session', async (_, command, said) => {
    const { text, isError, data } = await shell.bash(command);
    expect(isError).toBe(false);
    expect(text).toContain(said);
    const pids = data.backgroundPids as number[];
    expect(pids.length).toBeGreaterThan(0);
    expect(text).toContain(`pid ${pids[0]}`);
    expect(shell.alive()).toContain(pids[0]); // the oldest; a loop's sleep comes and goes

    await shell.dispose();
    expect(shell.alive()).toEqual([]);
  });

  it('what has let go of everything ends with the session, too', async () => {
    await shell.bash('(setsid sleep 300 </dev/null >/dev/null 2>&1 43>&- &); sleep 0.3');
    expect(shell.alive().length).toBe(1);
    await shell.dispose();
    expect(shell.alive()).toEqual([]);
  });

  it('may say goodbye at the end of the session', async () => {
    await shell.bash(
      'bash -c "trap \'touch bye; exit\' TERM; touch up; while :; do sleep 0.05; done" &',
    );
    await expect.poll(() => stat(join(shell.root, 'up')).catch(() => undefined)).toBeDefined();
    await shell.dispose();
    expect(await stat(join(shell.root, 'bye'))).toBeDefined();
  });

  it('what it prints later does not break it, and can be read', async () => {
    const { data } = await shell.bash(
      '(until [ -e go ]; do sleep 0.05; done; echo tick 1; sleep 0.1; echo tick 3) & echo fg',
    );
    await writeFile(join(shell.root, 'go'), '');
    await expect
      .poll(async () => (await shell.run('BashOutput', { bash_id: data.shellId })).text, {
        timeout: 5_000,
      })
      .toContain('tick 3');
  });
});

describe('BASH-03 timeout and abort end the whole tree', () => {
  it.each([
    ['children', "echo begun; bash -c 'sleep 1000 & sleep 1000'"],
    ['a child in a session of its own', 'echo begun; setsid sleep 1000 & sleep 1000'],
    [
      'a shell that ignores SIGTERM',
      'echo begun; sh -c \'trap "" TERM; while :; do sleep 1; done\'',
    ],
  ])('timeout: %s', async (_, command) => {
    const { text, isError, data } = await shell.bash(command, { timeout: 500 });
    expect(shell.alive()).toEqual([]);
    expect(isError).toBe(true);
    expect(text).toMatch(/^begun\n\nTimed out after 500 ms/);
    expect(data).toMatchObject({ ended: 'timedOut', interrupted: true });
  });

  it('abort', async () => {
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 300);
    const { text, data } = await shell.bash(
      "echo begun; setsid sleep 1000 & bash -c 'sleep 1000 & sleep 1000'",
      {},
      abort.signal,
    );
    expect(shell.alive()).toEqual([]);
    expect(text).toContain('begun');
    expect(data).toMatchObject({ ended: 'aborted' });
  });

  it('aborted before: nothing is started', async () => {
    const { data } = await shell.bash('touch ran', {}, AbortSignal.abort());
    expect(data).toMatchObject({ ended: 'aborted' });
    await expect(stat(join(shell.root, 'ran'))).rejects.toThrow();
  });

  it('a program that ends itself at SIGTERM may say goodbye', async () => {
    const { text } = await shell.bash(
      'trap "echo cleaned; exit" TERM; while :; do sleep 0.1; done',
      {
        timeout: 500,
      },
    );
    expect(text).toContain('cleaned');
  });
});

describe('BASH-05 output flood', () => {
  it('keeps memory bounded, head and tail, and the beginning of it in a file', async () => {
    const before = process.memoryUsage().rss;
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
    }, 20);
    const { text, isError } = await shell.bash('echo first; yes | head -c 300000000; echo last');
    clearInterval(watch);
    expect(isError).toBe(false);
    expect(peak - before).toBeLessThan(100_000_000);
    expect(text.length).toBeLessThan(31_000);
    expect(text.startsWith('first\ny\n')).toBe(true);
    expect(text.endsWith('y\nlast')).toBe(true);
    const [, dropped, total] = /(\d+) of (\d+) bytes left out/.exec(text) ?? [];
    expect(Number(total)).toBe(300_000_011);
    expect(Number(dropped)).toBe(300_000_011 - 30_000);
    const path = /the first 64 MB are in (\S+)/.exec(text)?.[1] ?? '';
    const file = await stat(path);
    expect(file.size).toBe(64 * 1024 * 1024);
    expect(file.mode & 0o777).toBe(0o600);
    expect((await stat(shell.resultsFolder)).mode & 0o777).toBe(0o700);
  });

  it('the timeout is on time although data floods', async () => {
    const { text } = await shell.bash('yes', { timeout: 1_000 });
    expect(text).toContain('Timed out after 1000 ms');
    expect(shell.alive()).toEqual([]);
  });

  it('what is a little too long is whole in the file', async () => {
    const { data } = await shell.bash('seq 1 20000');
    const whole = Array.from({ length: 20_000 }, (_, i) => `${i + 1}\n`).join('');
    expect(await readFile(String(data.savedTo), 'utf8')).toBe(whole);
  });

  it('what fits leaves no file', async () => {
    await shell.bash('seq 1 2000');
    await expect(stat(shell.resultsFolder)).rejects.toThrow();
  });
});

describe('BASH-07 commands that want a person', () => {
  it.each([
    ['cat', ''],
    ['read x; echo got:$x', 'got:'],
    ['head -1', ''],
  ])('%s sees the end of its input', async (command, expected) => {
    const { text } = await shell.bash(command);
    expect(text).toBe(expected);
  });

  it('git opens no pager, no editor, no prompt', async () => {
    await shell.bash(
      'git init -q . && git config user.email a@b.c && git config user.name n && ' +
        'for i in 1 2 3; do git commit -q --allow-empty -m "commit $i"; done',
    );
    expect((await shell.bash('git log')).text).toContain('commit 1');
    expect((await shell.bash('git commit --allow-empty', { timeout: 5_000 })).text).toMatch(
      /empty commit message/i,
    );
    const rebase = await shell.bash('git rebase -i HEAD~1', { timeout: 5_000 });
    expect(rebase.data).toMatchObject({ ended: 'exited' });
  });

  it("a command's own environment wins", async () => {
    expect((await shell.bash('PAGER=mine bash -c "echo \\$PAGER"')).text).toBe('mine');
  });

  it('one that waits ends at its deadline, with a hint', async () => {
    const asked = await shell.bash('printf "Overwrite? [y/N] "; sleep 60', { timeout: 300 });
    expect(asked.text).toContain('nobody to answer');
    const served = await shell.bash('tail -f /dev/null', { timeout: 300 });
    expect(served.text).toContain('run_in_background');
  });
});

describe('BASH-09 the working folder', () => {
  it('is carried to the next call, links resolved', async () => {
    await shell.bash('mkdir -p real/deep');
    await symlink(join(shell.root, 'real'), join(shell.root, 'link'));
    await shell.bash('cd link/deep');
    expect(shell.cwd).toBe(join(shell.root, 'real/deep'));
    expect((await shell.bash('pwd')).text).toBe(join(shell.root, 'real/deep'));
  });

  it('is carried also by a command that fails, not by a subshell', async () => {
    await shell.bash('mkdir a; (cd a); false');
    expect(shell.cwd).toBe(shell.root);
    const { text } = await shell.bash('cd a; exit 4');
    expect(shell.cwd).toBe(join(shell.root, 'a'));
    expect(text).toBe('Exit code 4');
  });

  it('stays as it was named when it is reached by a link', async () => {
    await shell.bash('mkdir real');
    await symlink(join(shell.root, 'real'), join(shell.root, 'link'));
    shell.cwd = join(shell.root, 'link');
    await shell.bash('true');
    expect(shell.cwd).toBe(join(shell.root, 'link'));
  });

  it.each([
    ['removed', 'rm -rf ROOT/t'],
    ['replaced by a file', 'rm -rf ROOT/t; touch ROOT/t'],
  ])('%s: the next command runs in the project, and says so', async (_, command) => {
    await shell.bash('mkdir t && cd t');
    expect(shell.cwd).toBe(join(shell.root, 't'));
    await shell.bash(command.replaceAll('ROOT', shell.root));
    const { text, isError } = await shell.bash('echo hello');
    expect(isError).toBe(false);
    expect(text).toMatch(/^hello\n\nThe working folder .* is gone/);
    expect(text).toContain(shell.root);
    expect((await shell.bash(`cd ${shell.root} && pwd`)).text).toBe(shell.root);
  });
});

describe('BASH-11 characters split over chunks', () => {
  const bytewise = (descriptor: number) =>
    `python3 -c "import os,time\nfor x in '日本語🎉'.encode(): os.write(${descriptor}, bytes([x])); time.sleep(0.01)"`;

  it.each([1, 2])('descriptor %i', async (descriptor) => {
    expect((await shell.bash(bytewise(descriptor))).text).toBe('日本語🎉');
  });

  it('bytes that are no UTF-8 become U+FFFD, and nothing else changes', async () => {
    expect((await shell.bash("printf '\\xff\\xfe ok'")).text).toBe('\ufffd\ufffd ok');
  });
});

describe('CONT-07 the limit of the output', () => {
  it.each([0, 1, 2, 3])('%i characters before it, an emoji is not cut', async (n) => {
    const before = 15_000 - n;
    const { text } = await shell.bash(
      `python3 -c "print('x' * ${before} + '🎉' * 10 + 'x' * 20000 + '🎉' * ${7_000 + n}, end='')"`,
    );
    expect(text).not.toMatch(/\p{Surrogate}/u);
    expect(text.startsWith('x'.repeat(before))).toBe(true);
    expect(text).not.toContain('\ufffd');
  });
});
