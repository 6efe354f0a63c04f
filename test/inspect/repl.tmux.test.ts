/** `--inspect` beside the interactive mode, in a real terminal: opened, seen, held, and left. */
import { afterEach, describe, expect, it } from 'vitest';
import type { CommandAnswer } from '../../src/inspect/protocol.ts';
import { callTool, say } from '../../src/testing/replies.ts';
import type { Script } from '../../src/testing/script.ts';
import { type CliBox, cliPath, openCliBox } from '../tools/cli.ts';
import { Pane, tmuxProblem } from '../tools/tmux.ts';
import { openPage, type Page } from './page.ts';

if (tmuxProblem) console.error(`SKIPPED, --inspect in a terminal: ${tmuxProblem}`);

const ADDRESS = /inspector: (http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/)/;
/** For a process and a terminal on a machine that has other work. */
const PATIENCE_MS = 60_000;

let box: CliBox;
let pane: Pane;
let page: Page;
afterEach(async () => {
  page?.close();
  await pane?.close();
  await box?.close();
});

/** @returns the page's address, as a person reads it. */
async function start(script: Script, args: readonly string[]): Promise<string> {
  box = await openCliBox(script);
  pane = await Pane.open({
    cwd: box.cwd,
    env: { ...box.env, TERM: 'screen-256color', LANG: 'C.UTF-8' },
    command: [process.execPath, cliPath(), '--setting-sources=', ...args],
  });
  const shown = await pane.until(/\/help\n(> |\n> )/);
  const [, url] = ADDRESS.exec(shown) ?? [];
  if (url === undefined) throw new Error(`no address is shown:\n${shown}`);
  page = openPage(url);
  await page.hello();
  return url;
}

async function command(url: string, body: object): Promise<CommandAnswer> {
  const { origin, pathname } = new URL(url);
  const answer = await fetch(`${url}command`, {
    method: 'POST',
    headers: {
      ...{ origin, 'content-type': 'application/json' },
      'x-inspector-token': pathname.split('/')[1] ?? '',
    },
    body: JSON.stringify(body),
  });
  return answer.json() as Promise<CommandAnswer>;
}

describe.skipIf(tmuxProblem)('--inspect and the interactive mode', () => {
  it(
    'says the address once, shows each turn as it is taken, and leaves with an open page',
    async () => {
      const url = await start({ replies: [say('First.'), say('Second.')] }, ['--inspect']);
      await pane.say('one');
      await pane.until(/First\.[\s\S]*\n> /);
      await pane.say('two');
      const shown = await pane.until(/Second\.[\s\S]*\n> /);
      await page.until(
        () => page.all('message').filter(({ effect }) => effect === 'ends').length === 2,
      );
      const turns = page.all('instance').filter(({ status }) => status === 'done');
      expect(turns.map(({ title, reason }) => [title, reason])).toEqual([
        ['one', 'completed'],
        ['two', 'completed'],
      ]);
      expect(shown.split(url)).toHaveLength(2); // the text around the one address
      expect((await page.hello()).charts).toHaveLength(1); // known before the first turn
      await pane.press('C-d');
      await pane.until('[exit 0]');
      await page.ended;
    },
    PATIENCE_MS,
  );

  it(
    'a breakpoint that is set before the first prompt holds it; an interrupt and leaving still work',
    async () => {
      const replies = [callTool('Glob', { pattern: '*' }), say('Found.'), say('Again.')];
      const url = await start({ replies }, ['--inspect', '--inspect-control']);
      const isHeld = () => page.controls.at(-1)?.held?.before === 'query.toolRun';
      expect(await command(url, { do: 'break', state: 'query.toolRun', on: true })).toEqual({
        ok: true,
      });
      await pane.say('look around');
      await page.until(isHeld);
      expect(await command(url, { do: 'go' })).toEqual({ ok: true });
      await pane.until(/Found\.[\s\S]*\n> /);
      await command(url, { do: 'break', state: 'query.preprocess.snip', on: true });
      await pane.say('once more');
      await page.until(() => page.controls.at(-1)?.held?.before === 'query.preprocess.snip');
      await pane.press('C-c');
      await page.until(() => page.controls.at(-1)?.held === null);
      await page.until(() => page.all('instance').at(-1)?.reason === 'aborted_streaming');
      await pane.press('C-d');
      await pane.until('[exit 0]');
      await page.ended;
    },
    PATIENCE_MS,
  );
});
