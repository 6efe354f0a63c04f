/** A server of tools asks the person at the terminal: `dist/cli.mjs` in a pane of tmux. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { callTool, callTools, say, toolResults } from '../../../../src/testing/index.ts';
import type { Script } from '../../../../src/testing/script.ts';
import { freshFolder, odd } from '../../../services/mcp/kit.ts';
import { type CliBox, cliPath, openCliBox } from '../../../tools/cli.ts';
import { Pane, tmuxProblem } from '../../../tools/tmux.ts';

if (tmuxProblem) console.error(`SKIPPED, questions of servers in a terminal: ${tmuxProblem}`);

let box: CliBox;
let pane: Pane;
afterEach(async () => {
  await pane?.close();
  await box?.close();
});

type Question = Readonly<Record<string, unknown>>;

const asking = (...questions: readonly Question[]): Script => ({
  replies: [
    ...questions.map((question) => callTool('mcp__srv__ask', { ...question })),
    say('done'),
  ],
});

async function start(script: Script, env: NodeJS.ProcessEnv = {}) {
  box = await openCliBox(script);
  writeFileSync(path.join(box.cwd, 's.json'), JSON.stringify({ mcpServers: { srv: odd() } }));
  const flags = ['--setting-sources=', '--mcp-config=s.json', '--allowedTools=mcp__srv'];
  pane = await Pane.open({
    cwd: box.cwd,
    env: { ...box.env, TERM: 'screen-256color', LANG: 'C.UTF-8', ...env },
    command: [process.execPath, cliPath(), ...flags],
  });
  await pane.until(/\/help\n(> |\n> )/);
  await pane.say('go');
}

/** What the server was answered, by the order of its questions. */
const answers = () =>
  box.server.requests
    .slice(1)
    .flatMap((request) => toolResults(request).slice(-1))
    .map(({ text }) => JSON.parse(text) as unknown);

const form = (properties: object, required: readonly string[] = []): Question => ({
  message: 'Tell me about the ship.',
  requestedSchema: { type: 'object', properties, required },
});

describe.skipIf(tmuxProblem)('a form', () => {
  it('is offered, asked field by field, checked, shown again, and sent', async () => {
    const properties = {
      name: { type: 'string', title: 'Name', description: 'As it is painted on.', minLength: 2 },
      masts: { type: 'integer', minimum: 1, default: 3 },
      armed: { type: 'boolean' },
      colour: { type: 'string', enum: ['r', 'b'], enumNames: ['Red', 'Blue'] },
      note: { type: 'string' },
    };
    await start(asking(form(properties, ['name', 'armed', 'colour'])));
    const offer = await pane.until(/y {2}answer \(fields: 5\)[\s\S]*\n\? /);
    expect(offer).toMatch(/\? The server srv asks you:\n {2}Tell me about the ship\./);
    await pane.say('perhaps');
    await pane.until('one of the letters above');
    await pane.say('y');
    const first = await pane.until('1 of 5: text, at least 2 characters');
    expect(first).toMatch(/ {2}Name\n {4}As it is painted on\./);
    await pane.say('A');
    await pane.until('Name: text, at least 2 characters');
    await pane.say('Ada');
    await pane.until(/masts \(may be left out\)[\s\S]*2 of 5: a whole number at least 1; Enter: 3/);
    await pane.press('Enter');
    await pane.until('3 of 5: y or n');
    await pane.say('n');
    await pane.until(/ {4}1 {2}Red\n {4}2 {2}Blue[\s\S]*4 of 5/);
    await pane.say('2');
    await pane.until('5 of 5: text; Enter leaves it out');
    await pane.press('Enter');
    const review = await pane.until(/This goes to srv:[\s\S]*y {2}send it/);
    expect(review).toMatch(/ {2}name: Ada\n {2}masts: 3\n {2}armed: false\n {2}colour: b\n/);
    await pane.say('b');
    await pane.until('1 of 5: text, at least 2 characters; Enter: Ada');
    await pane.say('Beagle');
    for (const place of ['2 of 5', '3 of 5', '4 of 5', '5 of 5']) {
      await pane.until(place);
      await pane.press('Enter');
    }
    await pane.until(/name: Beagle[\s\S]*y {2}send it/);
    await pane.say('y');
    await pane.until(/✓ answered[\s\S]*completed · 2 model calls/);
    const content = { name: 'Beagle', masts: 3, armed: false, colour: 'b' };
    expect(answers()).toEqual([{ action: 'accept', content }]);
  });

  it('n declines, Esc and Ctrl-C cancel: the turn goes on, and what was typed is kept', async () => {
    const question = form({ it: { type: 'string' } });
    await start(asking(question, question, question));
    await pane.until(/\n\? /);
    await pane.say('n');
    await pane.until(/✗ declined[\s\S]*asks you[\s\S]*\n\? /);
    await pane.say('y');
    await pane.until('text; Enter leaves it out');
    await pane.type('half a wo');
    await pane.press('Escape');
    await pane.until(/✗ cancelled[\s\S]*asks you:[\s\S]*\n\? /);
    await pane.press('C-c');
    const shown = await pane.until(/completed · 4 model calls[\s\S]*\n> /);
    expect(shown).not.toContain('aborted');
    expect(shown.match(/✗ cancelled/g)).toHaveLength(2);
    expect(answers()).toEqual([{ action: 'decline' }, { action: 'cancel' }, { action: 'cancel' }]);
  });

  it('questions at once wait for each other; a person may think longer than a call may last', async () => {
    const question = (message: string) => ['mcp__srv__ask', { message }] as const;
    await start(
      { replies: [callTools([question('The first?'), question('The second?')]), say('done')] },
      { MCP_TOOL_TIMEOUT: '1500' },
    );
    const shown = await pane.until(/\? The server srv asks you:\n {2}The (first|second)\?/);
    expect(shown.match(/asks you/g)).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await pane.say('y');
    await pane.until(/✓ answered[\s\S]*asks you:[\s\S]*\n\? /);
    await pane.say('y');
    await pane.until('completed · 2 model calls');
    const accept = '{"action":"accept","content":{}}';
    const [, second] = box.server.requests;
    expect(second && toolResults(second).map(({ text }) => text)).toEqual([accept, accept]);
  });

  it('hidden characters of a server are made visible, and control nothing', async () => {
    const nasty = 'a\u001b[2Jb\u202ec';
    const properties = { [nasty]: { type: 'string', enum: [nasty], title: nasty } };
    await start(asking({ ...form(properties, [nasty]), message: nasty }));
    await pane.until('  a\\u001b[2Jb\\u202ec');
    await pane.say('y');
    await pane.until('1  a\\u001b[2Jb\\u202ec');
    await pane.say('1');
    await pane.until('completed · 2');
    expect(answers()).toEqual([{ action: 'accept', content: { [nasty]: nasty } }]);
  });

  it('that nobody can fill in is declined, and says why', async () => {
    const names = Array.from({ length: 51 }, (_, index) => `f${index}`);
    await start(asking(form(Object.fromEntries(names.map((name) => [name, { type: 'string' }])))));
    const shown = await pane.until('completed · 2');
    expect(shown).toContain('⚠ A question of srv was declined: it has 51 fields');
    expect(answers()).toEqual([{ action: 'decline' }]);
  });

  it('works without cursor movement, too', async () => {
    await start(asking(form({ it: { type: 'number' } }, ['it'])), { TERM: 'dumb' });
    await pane.until(/y {2}answer \(fields: 1\)\n.*\n\? /);
    await pane.say('y');
    await pane.until(/a number\n\? /);
    await pane.say('many');
    await pane.until('it: a number');
    await pane.say('7');
    await pane.until('completed · 2');
    expect(answers()).toEqual([{ action: 'accept', content: { it: 7 } }]);
    expect(pane.bytes()).not.toContain('\u001b');
  });
});

describe.skipIf(tmuxProblem)('a page', () => {
  const page = {
    ...{ mode: 'url', elicitationId: 'e1', message: 'Log in there.' },
    url: 'https://login.example.org/a?b=c',
  };

  it('is shown with its host, and opened only when that is wanted', async () => {
    const folder = freshFolder();
    const opener = path.join(folder, 'browser');
    const seen = path.join(folder, 'opened');
    writeFileSync(opener, `#!/bin/sh\nprintf '%s\\n' "$@" >> '${seen}'\n`, { mode: 0o755 });
    await start(asking(page, page), { BROWSER: opener });
    const asked = await pane.until(/o {2}yes, open it in the browser[\s\S]*\n\? /);
    expect(asked).toContain('  https://login.example.org/a?b=c\n  at login.example.org');
    await pane.say('y');
    await pane.until(/✓ answered[\s\S]*visit a page[\s\S]*\n\? /);
    expect(existsSync(seen)).toBe(false);
    await pane.say('o');
    await pane.until('completed · 3');
    await expect.poll(() => existsSync(seen) && readFileSync(seen, 'utf8')).toBe(`${page.url}\n`);
    expect(answers()).toEqual([{ action: 'accept' }, { action: 'accept' }]);
  });

  it('that is none of the web is declined; a browser that is missing is told', async () => {
    await start(asking({ ...page, url: 'file:///etc/passwd' }, page), { BROWSER: '/no/such' });
    await pane.until(/was declined: it wants a visit to file:\/\/\/etc\/passwd[\s\S]*\n\? /);
    await pane.say('o');
    await pane.until(/not opened \(.*ENOENT\): open it yourself/);
    await pane.until('completed · 3');
    expect(answers()).toEqual([{ action: 'decline' }, { action: 'accept' }]);
  });
});
