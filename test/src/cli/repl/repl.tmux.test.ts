/** The interactive mode in a real terminal: `dist/cli.mjs` in a pane of tmux. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  callTool,
  message,
  overloaded,
  say,
  text,
  toolUse,
} from '../../../../src/testing/index.ts';
import type { Script } from '../../../../src/testing/script.ts';
import { everything } from '../../../services/mcp/kit.ts';
import { type CliBox, cliPath, openCliBox } from '../../../tools/cli.ts';
import { Pane, tmuxProblem } from '../../../tools/tmux.ts';

if (tmuxProblem) console.error(`SKIPPED, the interactive mode in a terminal: ${tmuxProblem}`);

let box: CliBox;
let pane: Pane;
afterEach(async () => {
  await pane?.close();
  await box?.close();
});

interface Start {
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly columns?: number;
  readonly rows?: number;
}

async function start(script: Script, { args = [], env = {}, ...size }: Start = {}) {
  box = await openCliBox(script);
  pane = await openPane(args, env, size);
}

async function openPane(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}, size = {}) {
  const opened = await Pane.open({
    cwd: box.cwd,
    env: { ...box.env, TERM: 'screen-256color', LANG: 'C.UTF-8', ...env },
    command: [process.execPath, cliPath(), '--setting-sources=', ...args],
    ...size,
  });
  await opened.until(/\/help\n(> |\n> )/);
  return opened;
}

const sent = () => box.server.requests.map(({ body }) => JSON.stringify(body.messages));
/** Long enough for a busy machine to type into it; one that is stopped may take for ever. */
const slow = (words: string, deltaDelayMs = 500) =>
  message([text(words, { pieces: 8, deltaDelayMs })]);
const endless = (words: string) =>
  message([text(words)], { fault: { kind: 'stall', after: 'blocks' } });

describe.skipIf(tmuxProblem)('turns', () => {
  it('commands of the engine and of servers are called, completed and listed', async () => {
    const servers = JSON.stringify({ mcpServers: { srv: everything } });
    await start({ replies: [say('sunny')] }, { args: ['--mcp-config', servers] });
    await pane.say('/compact keep the numbers');
    await pane.until(/Not summed up: [\s\S]*completed/);
    await pane.type('/mcp__srv__ar');
    await pane.press('Tab');
    await pane.until('> /mcp__srv__args-prompt ');
    await pane.say('Oslo');
    await pane.until(/sunny[\s\S]*completed[\s\S]*\n> /);
    expect(sent()).toMatchObject([expect.stringContaining("What's weather in Oslo?")]);
    await pane.say('/help');
    await pane.until(/\/mcp__srv__args-prompt <city>/);
  });

  it('streams, shows the call, its result, the changes, and how it ended; then leaves', async () => {
    await start(
      {
        replies: [
          message([
            text('I will write it.'),
            toolUse('Write', { file_path: 'a.txt', content: 'one\n' }),
          ]),
          callTool('Edit', { file_path: 'a.txt', old_string: 'one', new_string: 'two' }),
          say('Written.'),
        ],
      },
      { args: ['--permission-mode=acceptEdits', 'write', 'a', 'file'] },
    );
    const shown = await pane.until(/completed · 3 model calls[\s\S]*\n> /);
    expect(shown).toContain('> write a file');
    expect(shown).toMatch(/I will write it\.\n● Write a\.txt\n {2}⎿ Made: .*a\.txt/);
    expect(shown).toMatch(/● Edit a\.txt\n {2}⎿ Edited: .*\n +- one\n +1 \+ two\n/);
    expect(shown).not.toContain('next_turn');
    expect(readFileSync(path.join(box.cwd, 'a.txt'), 'utf8')).toBe('two\n');
    await pane.press('C-d');
    const left = await pane.until('[exit 0]');
    // The terminal is as it was found: line editing and echo are on again.
    await pane.until(/\n(icanon\necho|echo\nicanon)\n/);
    expect(left).not.toContain('\n> \n[exit');
  });

  it('recovery: what was taken back is named, a wait is counted down, the reason is shown', async () => {
    const cut = { kind: 'cut', after: { block: 0, delta: 0 }, delayMs: 100 } as const;
    await start(
      {
        replies: [
          message([text('I begin to say something else', { pieces: 2 })], { fault: cut }),
          overloaded(),
          say('after all'),
        ],
      },
      { env: { ESCAPEMENT_RETRY_BASE_MS: '600' } },
    );
    await pane.say('go');
    await pane.until(/trying again in \d\.\d s/);
    const shown = await pane.until(/completed · /);
    expect(shown).toMatch(/I begin to say *\n[\s\S]*↩ taken back: “I begin to say” does not count/);
    expect(shown).toMatch(/⚠ 529 overloaded, again in \d\.\d s \(try 2 of 10\)\nafter all/);
  });

  it('Ctrl-C stops a turn, at an empty prompt it leaves at the second time', async () => {
    await start({
      replies: [endless('a very long answer that takes its time to come to its end')],
    });
    await pane.say('talk');
    await pane.until('a very');
    await pane.press('C-c');
    await pane.until(/✖ aborted_streaming · [\s\S]*\n> /);
    await pane.type('half a prompt');
    await pane.until('> half a prompt');
    await pane.press('C-c');
    await pane.until(/\n> *\n*$/);
    await pane.press('C-c');
    await pane.until('press Ctrl-C again to leave');
    await pane.press('C-c');
    await pane.until('[exit 0]');
  });

  it('what is sent while a turn runs waits in sight and becomes the next turn', async () => {
    await start({ replies: [slow('first answer, slowly'), say('second answer')] });
    await pane.say('one');
    await pane.until('first');
    await pane.say('two please');
    await pane.until('⧗ queued: two please');
    const shown = await pane.until(/second answer[\s\S]*completed/);
    expect(shown).toMatch(
      /first answer, slowly\n[\s\S]*completed[\s\S]*\n> two please\nsecond answer/,
    );
    expect(shown).not.toContain('⧗ queued');
    expect(sent()).toHaveLength(2);
  });

  it('what is sent while a call runs is taken into the turn', async () => {
    await start(
      { replies: [callTool('Bash', { command: 'sleep 1' }), say('seen')] },
      {
        args: ['--allowedTools=Bash'],
      },
    );
    await pane.say('one');
    await pane.until('running Bash');
    await pane.say('by the way');
    await pane.until('⧗ queued: by the way');
    const shown = await pane.until(/completed · 2[\s\S]*\n> /);
    expect(shown).toContain('⧗ was taken into this turn: by the way');
    expect(sent()[1]).toContain('by the way');
  });

  it('a stopped turn gives what waited back to the keyboard', async () => {
    await start({ replies: [endless('first answer, slowly'), say('never')] });
    await pane.say('one');
    await pane.until('first');
    await pane.say('two please');
    await pane.until('⧗ queued');
    await pane.press('Escape');
    await pane.until(/aborted_streaming[\s\S]*\n> two please/);
    expect(sent()).toHaveLength(1);
  });
});

describe.skipIf(tmuxProblem)('questions', () => {
  const twice = (command: string): Script => ({
    replies: [callTool('Bash', { command }), callTool('Bash', { command }), say('done')],
  });

  it('y allows once: the next call is asked about again; n and the model is told', async () => {
    await start(twice('touch made-it && echo ran'));
    await pane.say('go');
    const asked = await pane.until(/y {2}yes, once/);
    expect(asked).toMatch(/● Bash touch.*\n\? Bash wants to run:\n {2}touch made-it && echo ran\n/);
    expect(existsSync(path.join(box.cwd, 'made-it'))).toBe(false);
    await pane.say('y');
    await pane.until(/⎿ ran[\s\S]*y {2}yes, once/);
    expect(existsSync(path.join(box.cwd, 'made-it'))).toBe(true);
    await pane.say('n');
    await pane.until('completed · 3 model calls');
    expect(sent()[2]).toContain('did not allow');
  });

  it('a allows for the session, and says what', async () => {
    await start(twice('touch made-it'));
    await pane.say('go');
    await pane.until('a  yes, and in this session always: Bash(touch:*)');
    await pane.say('a');
    const shown = await pane.until('completed · 3 model calls');
    expect(shown.match(/wants to run/g)).toHaveLength(1);
    await pane.say('/permissions');
    await pane.until('allow Bash(touch:*)  (session)');
  });

  it('words deny with these words; a draft survives the question', async () => {
    await start({
      replies: [
        message([
          text('hm', { pieces: 2, deltaDelayMs: 300 }),
          toolUse('Bash', { command: 'rm x' }),
        ]),
        say('done'),
      ],
    });
    await pane.say('go');
    await pane.type('my draft');
    await pane.until(/wants to run[\s\S]*\n\? /);
    await pane.say('use git rm instead');
    await pane.until(/completed · 2[\s\S]*\n> my draft/);
    expect(sent()[1]).toContain('said: use git rm instead');
  });

  it('Esc denies and stops the turn; hidden characters of a command are made visible', async () => {
    await start({ replies: [callTool('Bash', { command: 'touch \u001b[2J\u202egnp' })] });
    await pane.say('go');
    const asked = await pane.until(/\n\? /);
    expect(asked).toContain('touch \\u001b[2J\\u202egnp');
    await pane.press('Escape');
    await pane.until(/aborted_tools[\s\S]*\n> /);
    expect(sent()).toHaveLength(1);
  });
});

describe.skipIf(tmuxProblem)('the keyboard', () => {
  it('several lines by backslash, Alt-Enter, Ctrl-J and paste; wide characters', async () => {
    await start({ replies: [say('ok')] });
    await pane.type('first\\');
    await pane.press('Enter');
    await pane.type('漢字 👍');
    await pane.press('M-Enter');
    await pane.type('third');
    await pane.press('C-j');
    await pane.paste('pasted 1\npasted 2');
    await pane.until(/> first\n {2}漢字 👍\n {2}third\n {2}pasted 1\n {2}pasted 2/);
    await pane.press('Enter');
    await pane.until('completed');
    expect(sent()[0]).toContain('first\\n漢字 👍\\nthird\\npasted 1\\npasted 2');
  });

  it('ten thousand pasted lines and a line of 200 characters arrive whole', async () => {
    await start({ replies: [say('ok')] }, { columns: 60, rows: 20 });
    const lines = Array.from({ length: 10_000 }, (_, index) => `line ${index}`);
    await pane.type('w'.repeat(200));
    await pane.press('C-j');
    await pane.paste(lines.join('\n'));
    await pane.until(/line 9999\n.*10001 lines in all/);
    await pane.press('Enter');
    const shown = await pane.until('completed');
    expect(shown).toMatch(/… 9981 more lines/);
    expect(sent()[0]).toContain(`${'w'.repeat(200)}\\n${lines.join('\\n')}`);
  });

  it('the arrow keys find earlier prompts, also of earlier sessions', async () => {
    await start({ replies: [say('ok'), say('ok again')] });
    await pane.say('remember me');
    await pane.until('completed');
    await pane.press('C-d');
    await pane.until('[exit 0]');
    const file = path.join(box.home, '.escapement', 'history');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await pane.close();
    pane = await openPane();
    await pane.type('draft');
    await pane.press('Up');
    await pane.until('> remember me');
    await pane.press('Down');
    await pane.until('> draft');
    await pane.press('Up', 'Enter');
    await pane.until('ok again');
    expect(sent()[1]).toContain('remember me');
  });

  it('the commands; a slip is not sent, a path is', async () => {
    await start({ replies: [say('one'), say('two')] });
    await pane.say('/help');
    await pane.until(/Commands:\n[\s\S]*\/clear/);
    await pane.say('/hepl');
    await pane.until('There is no command /hepl');
    await pane.say('/etc/hosts is a file');
    await pane.until('completed');
    await pane.say('/cost');
    await pane.until(/This session: \$0\.\d+\n +claude-/);
    await pane.say('/model haiku');
    await pane.until(/Model: claude-haiku/);
    await pane.say('/clear');
    await pane.until('a new session');
    await pane.say('hello');
    await pane.until('two');
    const [first, second] = box.server.requests;
    expect(JSON.stringify(first?.body.messages)).toContain('/etc/hosts is a file');
    expect(second?.body.model).toMatch(/haiku/);
    expect(second?.body.messages).toHaveLength(1);
    await pane.say('/exit');
    await pane.until('[exit 0]');
  });

  it('a narrower terminal in the middle of an answer', async () => {
    const words = Array.from({ length: 40 }, (_, index) => `word${index}`).join(' ');
    await start({ replies: [message([text(words, { pieces: 40, deltaDelayMs: 25 })])] });
    await pane.say('go');
    await pane.until('word12');
    await pane.resize(50, 30);
    const shown = await pane.until(/completed[\s\S]*\n> /);
    expect(shown.replace(/\s+/g, '')).toContain(words.replace(/\s+/g, ''));
    expect(shown.match(/word12 /g)).toHaveLength(1);
  });
});

describe.skipIf(tmuxProblem)('other terminals, other ends', () => {
  it('SIGTERM in the middle of an answer: the result, the terminal restored, 143', async () => {
    await start({ replies: [endless('a very long answer that takes its time')] });
    await pane.say('talk');
    await pane.until('a very');
    process.kill(await pane.pid(), 'SIGTERM');
    const left = await pane.until(/\[exit 143\]\n(icanon\necho|echo\nicanon)\n/);
    expect(left).toContain('✖ aborted_streaming');
  });

  it('Ctrl-Z puts it to sleep under a shell, and it goes on where it was', async () => {
    box = await openCliBox({ replies: [say('awake')] });
    pane = await Pane.open({
      cwd: box.cwd,
      env: { ...box.env, TERM: 'screen-256color', LANG: 'C.UTF-8', PS1: 'shell$ ' },
      command: ['bash', '--norc', '--noprofile', '-i'],
    });
    await pane.until('shell$ ');
    await pane.say(`${process.execPath} ${cliPath()}`);
    await pane.until(/\/help\n> /);
    await pane.type('half');
    await pane.until('> half');
    await pane.press('C-z');
    await pane.until(/Stopped[\s\S]*shell\$ /);
    await pane.say('fg');
    await pane.until(/fg\n[\s\S]*> half/);
    await pane.say(' done');
    await pane.until('awake');
    expect(sent()[0]).toContain('half done');
  });

  it('a dumb terminal: no escape sequences, the same session', async () => {
    await start(
      {
        replies: [
          message([text('I say'), toolUse('Bash', { command: 'touch made-it' })]),
          say('and done'),
        ],
      },
      { env: { TERM: 'dumb' } },
    );
    await pane.say('one\\');
    await pane.until('… ');
    await pane.say('two');
    await pane.until(/y {2}yes, once\n[\s\S]*\n\? /);
    await pane.say('y');
    await pane.until(/and done\n[\s\S]*completed · 2[\s\S]*\n> /);
    expect(existsSync(path.join(box.cwd, 'made-it'))).toBe(true);
    expect(sent()[0]).toContain('one\\ntwo');
    await pane.press('C-c');
    await pane.until('press Ctrl-C again to leave');
    expect(pane.bytes()).not.toContain('\u001b');
    await pane.press('C-d');
    await pane.until('[exit 0]');
  });

  it('NO_COLOR: the same keyboard, no colours; what the model says is never obeyed', async () => {
    const nasty = 'a\u001b]52;c;ZXZpbA==\u0007b\u001b[8mc\u009b31md\u001b';
    await start({ replies: [say(nasty)] }, { env: { NO_COLOR: '1' } });
    await pane.say('go');
    const shown = await pane.until('completed');
    expect(shown).toContain('a]52;c;ZXZpbA==b[8mc31md');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(pane.bytes()).not.toMatch(/\u001b\[[\d;]*m|\u001b\]|\u0007|\u009b/);
  });

  it('without a model: one line and 2, the terminal is not touched', async () => {
    box = await openCliBox({ replies: [] });
    const env = { ...box.env, TERM: 'screen', ANTHROPIC_API_KEY: '', ANTHROPIC_BASE_URL: '' };
    pane = await Pane.open({ cwd: box.cwd, env, command: [process.execPath, cliPath()] });
    const shown = await pane.until('[exit 2]');
    expect(shown).toMatch(/^escapement: no model to talk to/);
    expect(existsSync(path.join(box.home, '.escapement'))).toBe(false);
  });
});
