/** The page over a real run: what a person sees, and what the keyboard does. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool, message, say, text, toolUse } from '../../src/testing/index.ts';
import { chromiumPath, launch } from './chromium.ts';
import { demo, demoPrompts } from './demo.ts';
import { drop, lit, open, painted, position, tab } from './page.ts';
import { type Watched, watch } from './session.ts';
import { ended, shows, stands } from './waits.ts';

describe.skipIf(chromiumPath === undefined)('the inspector in a browser', () => {
  let browser: Browser;
  let session: Watched;
  beforeAll(async () => {
    browser = await launch();
    session = await watch(demo());
    for (const prompt of demoPrompts) await session.ask(prompt);
  });
  afterAll(async () => {
    await session?.close();
    await browser?.close();
  });
  /** The first turn of the session, which has most of the reasons. */
  const firstTurn = async () => {
    const seen = await open(browser, session.inspector.url);
    await shows(seen.page, 1);
    await seen.page.locator('#instance').selectOption({ index: 0 });
    await expect.poll(() => seen.page.locator('.chart').count()).toBe(1);
    await painted(seen.page);
    return seen;
  };

  it('shows a session that has already run, and complains of nothing', async () => {
    const { page, complaints, strangers } = await firstTurn();
    await ended(page, 'completed');
    const { at, of } = await position(page);
    expect(at).toBe(of);
    await expect
      .poll(() => page.locator('.chart .exit.is-hot text').first().textContent())
      .toBe('completed');
    await expect
      .poll(() => page.locator('#panel-step').textContent())
      .toContain('the model is done');
    expect({ complaints, strangers }).toEqual({ complaints: [], strangers: [] });
    await page.context().close();
  });

  it('goes back and forth with buttons, keys, the timeline and clicks on the chart', async () => {
    const { page } = await firstTurn();
    const { of } = await position(page);
    await page.keyboard.press('ArrowLeft');
    await stands(page, of - 1);
    await page.keyboard.press('Shift+ArrowLeft');
    await stands(page, of - 11);
    await page.keyboard.press('Home');
    await stands(page, 1);
    await expect.poll(() => lit(page)).toEqual(['toolResultBudget']);
    await page.locator('#next').click();
    await stands(page, 2);
    await expect.poll(() => lit(page)).toEqual(['snip']);
    await page.keyboard.press('End');
    await stands(page, of);
    const box = await page.locator('#timeline').boundingBox();
    if (!box) throw new Error('there is no timeline');
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await expect.poll(async () => (await position(page)).at).toBeLessThan(of * 0.6);
    await page.locator('.chart .exit', { hasText: 'stop_hook_blocking' }).click();
    await expect
      .poll(() => page.locator('#panel-step .why').first().textContent())
      .toContain('stop_hook_blocking');
    await page.keyboard.press('l');
    await stands(page, of);
    await page.context().close();
  });

  it('finds steps by words and by kind', async () => {
    const { page } = await firstTurn();
    await page.keyboard.press('/');
    await page.keyboard.type('escalate');
    await expect.poll(() => page.locator('.found').textContent()).toBe('1 found');
    await page.locator('.event-row').first().click();
    await expect
      .poll(() => page.locator('.event-row.is-selected .tag').textContent())
      .toBe('max_output_tokens_escalate');
    await page.locator('#search').fill('');
    await page.locator('.chip', { hasText: 'reasons' }).click();
    const tags = page.locator('.event-row .tag');
    await expect.poll(() => tags.allTextContents()).toContain('completed');
    await page.locator('#search').fill('no such thing anywhere');
    await expect.poll(() => page.locator('.event-row').count()).toBe(0);
    await page.context().close();
  });

  it('tells the conversation with what was taken back, and each request with its price', async () => {
    const { page } = await firstTurn();
    await tab(page, 'conversation');
    const gone = page.locator('.message.is-retracted');
    await expect.poll(() => gone.textContent()).toContain('so 80 comes bef');
    // at a time before that, nobody had taken it back
    await tab(page, 'events');
    await page.locator('#search').fill('escalate');
    await page.locator('.event-row').first().click();
    await page.keyboard.press('Escape');
    await page.locator('#previous').click();
    await tab(page, 'conversation');
    await expect.poll(() => gone.count()).toBe(0);
    await page.keyboard.press('l');
    await tab(page, 'requests');
    await page.locator('.request summary').first().click();
    await expect
      .poll(() => page.locator('.request .fold-body').first().textContent())
      .toContain('messages at the begin are the same');
    await expect.poll(() => page.locator('.tile').first().textContent()).toMatch(/\$\d/);
    await page.context().close();
  });

  it('counts reasons, also those that never were, and leads to the next one', async () => {
    const { page } = await firstTurn();
    await tab(page, 'reasons');
    const bar = (name: string) =>
      page.locator('.bar', { has: page.locator(`.bar-name:text-is("${name}")`) });
    await expect.poll(() => bar('stop_hook_blocking').textContent()).toContain('1×');
    await expect.poll(() => bar('refusal').textContent()).toContain('never');
    await bar('stop_hook_blocking').click();
    await tab(page, 'step');
    await expect
      .poll(() => page.locator('#panel-step .why').textContent())
      .toContain('stop_hook_blocking');
    await tab(page, 'services');
    await expect.poll(() => page.locator('.service-row').count()).toBeGreaterThan(3);
    await page.context().close();
  });

  it('opens the context and the event piece by piece', async () => {
    const { page } = await firstTurn();
    await page.locator('summary', { hasText: 'Whole context' }).click();
    const tree = page.locator('#panel-step .tree').last();
    await expect.poll(() => tree.textContent()).toContain('queryId');
    await tree.locator('summary', { hasText: 'limits' }).click();
    await expect.poll(() => tree.textContent()).toContain('turnsMax');
    await page.context().close();
  });

  it('says whose an agent is, both ways; and follows what happens to where it ends', async () => {
    const { page } = await firstTurn();
    const isIn = (name: string) =>
      page.evaluate(`(() => {
        const [exit, stage] = [
          [...document.querySelectorAll('.chart .exit')].find((one) => one.textContent.includes('${name}')),
          document.getElementById('stage'),
        ].map((one) => one.getBoundingClientRect());
        return exit.left >= stage.left && exit.right <= stage.right &&
          exit.top >= stage.top && exit.bottom <= stage.bottom;
      })()`);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.reload();
    await shows(page, 1);
    await page.locator('#instance').selectOption({ index: 1 });
    await expect.poll(() => isIn('completed')).toBe(true);
    await tab(page, 'conversation');
    await page.locator('.call .link').click();
    await expect
      .poll(() => page.locator('#instance option:checked').textContent())
      .toContain('check the notes');
    await tab(page, 'step');
    await page.locator('#panel-step .facts .link').click();
    await expect
      .poll(() => page.locator('#instance option:checked').textContent())
      .toContain('Thanks.');
    await page.context().close();
  });

  it('is the same after a reload', async () => {
    const { page } = await firstTurn();
    const before = await position(page);
    await page.reload();
    await shows(page, 1);
    await page.locator('#instance').selectOption({ index: 0 });
    await expect.poll(() => position(page)).toEqual(before);
    await page.context().close();
  });

  it('exports one file that opens without a server, and a recording that a page takes in', async () => {
    const { page } = await firstTurn();
    const before = await position(page);
    await page.locator('#export summary').click();
    const [html] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('#export-html').click(),
    ]);
    await page.locator('#export summary').click(); // it closes with each choice
    const [jsonl] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('#export-jsonl').click(),
    ]);
    const file = `${await html.path()}.html`;
    await html.saveAs(file);
    const alone = await open(browser, pathToFileURL(file).href);
    await shows(alone.page, 1);
    await alone.page.locator('#instance').selectOption({ index: 0 });
    await expect.poll(() => position(alone.page)).toEqual(before);
    await expect.poll(() => alone.page.locator('.chart').count()).toBe(1);
    expect(alone).toMatchObject({ complaints: [], strangers: [] });
    // the page of another, empty session takes the recording in
    const other = await watch({ script: { replies: [] } });
    const empty = await open(browser, other.inspector.url);
    const recording = await readFile(await jsonl.path(), 'utf8');
    await drop(empty.page, recording);
    await shows(empty.page, 1);
    await empty.page.locator('#instance').selectOption({ index: 0 });
    await expect.poll(() => position(empty.page)).toEqual(before);
    // also from the menu; what is whole of one that was cut is shown, and that it was cut
    await empty.page.locator('#export summary').click();
    const [chooser] = await Promise.all([
      empty.page.waitForEvent('filechooser'),
      empty.page.locator('#open').click(),
    ]);
    const cut = recording.slice(0, Math.floor(recording.length * 0.9));
    await chooser.setFiles({ name: 'cut.jsonl', mimeType: 'text/plain', buffer: Buffer.from(cut) });
    await expect
      .poll(() => empty.page.locator('#notice').textContent())
      .toContain('the recording was cut');
    await empty.page.locator('#notice-close').click();
    await expect.poll(() => empty.page.locator('#notice').isVisible()).toBe(false);
    await drop(empty.page, 'no recording at all');
    await expect.poll(() => empty.page.locator('#toast').textContent()).toContain('no recording');
    for (const seen of [alone, empty]) await seen.page.context().close();
    await other.close();
    await page.context().close();
  });

  it('shows its keys', async () => {
    const { page } = await firstTurn();
    await page.keyboard.press('?');
    await expect.poll(() => page.locator('#help').textContent()).toContain('follow the live run');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('#help').isVisible()).toBe(false);
    await page.locator('#tab-step').focus();
    await page.keyboard.press('ArrowRight');
    await expect
      .poll(() => page.locator('[role=tab][aria-selected=true]').textContent())
      .toContain('Messages');
    await page.keyboard.press('4');
    await expect.poll(() => page.locator('#panel-events').isVisible()).toBe(true);
    await page.context().close();
  });
});

describe.skipIf(chromiumPath === undefined)('a run that is watched while it goes', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it('appears as it happens, and follows the newest turn', async () => {
    const session = await watch({ script: { replies: [say('One.'), say('Two.')] } });
    const { page, complaints } = await open(browser, session.inspector.url);
    await expect.poll(() => page.locator('#status').textContent()).toBe('idle');
    await expect
      .poll(() => page.locator('#panel-step').textContent())
      .toContain('Waiting for the first event');
    // what will run can be looked at before it does
    await expect.poll(() => page.locator('.chart').count()).toBe(1);
    await expect.poll(() => page.locator('#stage-empty').isVisible()).toBe(false);
    await session.ask('the first prompt');
    await ended(page, 'completed');
    await session.ask('the second prompt');
    await expect.poll(() => page.locator('#instance option').count()).toBe(2);
    await expect
      .poll(() => page.locator('#instance option:checked').textContent())
      .toContain('second');
    await session.engine.close();
    await expect.poll(() => page.locator('#status').textContent()).toBe('ended');
    await expect.poll(() => page.locator('#live').isVisible()).toBe(false);
    expect(complaints).toEqual([]);
    await page.context().close();
    await session.close();
  });

  it('says that nobody answers, keeps what it has, and goes on when somebody does again', async () => {
    const session = await watch({ script: { replies: [say('One.'), say('Two.')] } });
    const { port } = new URL(session.inspector.url);
    const sockets = new Set<Socket>();
    const note = (message: unknown) => {
      const { socket } = message as { socket: Socket };
      if (String(socket.localPort) === port) sockets.add(socket);
    };
    subscribe('net.server.socket', note);
    const { page } = await open(browser, session.inspector.url);
    await session.ask('the first prompt');
    await ended(page, 'completed');
    const { of } = await position(page);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => page.locator('#notice').textContent()).toContain('does not answer');
    expect(await position(page)).toMatchObject({ of });
    await session.ask('the second prompt');
    await expect.poll(() => page.locator('#notice').isVisible(), { timeout: 20_000 }).toBe(false);
    await expect.poll(() => page.locator('#instance option').count(), { timeout: 20_000 }).toBe(2);
    unsubscribe('net.server.socket', note);
    await page.context().close();
    await session.close();
  });

  it('is held before a state, stepped and let go; an event is sent', async () => {
    const session = await watch({
      script: { replies: [callTool('Grep', { pattern: 'sort' }), say('Done.')] },
      inspector: { hold: true, send: true },
    });
    const { page } = await open(browser, session.inspector.url);
    await expect.poll(() => page.locator('#status').textContent()).toBe('idle');
    await session.ask('so that there is a chart');
    await shows(page, 1);
    await page.locator('#break-state').selectOption('query.sampling');
    await expect.poll(() => page.locator('.has-breakpoint').count()).toBe(1);
    const turn = session.ask('again');
    await expect
      .poll(() => page.locator('#control-state').textContent(), { timeout: 15_000 })
      .toContain('Held before sampling');
    await page.locator('#step-on').click();
    await expect.poll(() => page.locator('#control-state').textContent()).toContain('Held');
    await page.locator('#break-state').selectOption('query.sampling');
    await expect.poll(() => page.locator('.has-breakpoint').count()).toBe(0);
    await page.locator('#send-open').click();
    await page.locator('#send-type').selectOption('abort');
    await page.locator('#send-form button[type=submit]').click();
    await turn;
    await ended(page, 'aborted');
    await page.context().close();
    await session.close();
  });

  it('never takes a text for markup', async () => {
    const hostile = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
    const session = await watch({
      script: {
        replies: [
          message([text(hostile), toolUse('Grep', { pattern: hostile, '</script><b>': hostile })]),
          say(`${hostile}</script><svg onload=window.hacked=1>`),
        ],
      },
    });
    await session.ask(`${hostile} \u202e𝕏 ${'長い'.repeat(300)} \ud800`);
    const { page, complaints } = await open(browser, session.inspector.url);
    await shows(page, 1);
    for (const name of ['step', 'conversation', 'requests', 'events', 'reasons', 'services'])
      await tab(page, name);
    await tab(page, 'conversation');
    await expect.poll(() => page.locator('.message').first().textContent()).toContain('<img src=x');
    const html = await session.inspector.html();
    expect(html).not.toContain('<img');
    await page.goto('about:blank');
    await page.setContent(html);
    await shows(page, 1);
    await expect.poll(() => page.evaluate('window.hacked')).toBeUndefined();
    expect(complaints).toEqual([]);
    await page.context().close();
    await session.close();
  });
});
