/** Machines that are not ours: drawn on demand, and of any length. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assign, createActor, setup } from 'xstate';
import { startInspector } from '../../src/inspect/start-inspector.ts';
import { chromiumPath, launch } from './chromium.ts';
import { open, position, tab } from './page.ts';
import { shows } from './waits.ts';

const hostile = '<img src=x onerror="hacked=1">';
const machine = setup({
  types: {} as { context: { ticks: number; log: readonly string[] }; events: { type: 'tick' } },
}).createMachine({
  id: 'clock',
  initial: 'tick',
  context: { ticks: 0, log: [] },
  states: {
    tick: {
      on: {
        tick: {
          target: hostile,
          actions: assign(({ context }) => ({
            ticks: context.ticks + 1,
            log: [...context.log, `tick ${context.ticks}`].slice(-50),
          })),
        },
      },
    },
    [hostile]: { initial: 'inner', states: { inner: {} }, on: { tick: 'tick' } },
  },
});

describe.skipIf(chromiumPath === undefined)('a machine that is not ours', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it('is drawn, and 5,000 steps of it are a list like any other', async () => {
    const inspector = await startInspector(undefined, { stepsMax: 6_000, keepAlive: true });
    const actor = createActor(machine, { inspect: inspector.inspect }).start();
    const { page, complaints } = await open(browser, inspector.url);
    for (let i = 0; i < 5_000; i += 1) actor.send({ type: 'tick' });
    await shows(page, 5_000);
    await expect.poll(() => page.locator('.chart').count(), { timeout: 30_000 }).toBe(1);
    await expect.poll(() => page.locator('.chart .name').allTextContents()).toContain(hostile);
    await tab(page, 'events');
    await expect.poll(() => page.locator('.event-row').count()).toBeGreaterThan(10);
    await expect.poll(() => page.locator('.event-row').count()).toBeLessThan(100);
    await page.keyboard.press('Home');
    await expect.poll(async () => (await position(page)).at).toBe(1);
    await page.keyboard.press('End');
    await expect.poll(async () => (await position(page)).at).toBeGreaterThan(4_999);
    await expect.poll(() => page.evaluate('window.hacked')).toBeUndefined();
    expect(complaints).toEqual([]);
    await page.context().close();
    await inspector.close();
  });

  it('is forgotten by the page as it is by the server, and still counted', async () => {
    const inspector = await startInspector(undefined, { stepsMax: 500, keepAlive: true });
    const actor = createActor(machine, { inspect: inspector.inspect }).start();
    const { page } = await open(browser, inspector.url);
    for (let ticks = 200; ticks <= 1_200; ticks += 200) {
      for (let i = 0; i < 200; i += 1) actor.send({ type: 'tick' });
      await shows(page, ticks);
      if (ticks === 400) await page.keyboard.press('Home');
    }
    await expect.poll(() => page.evaluate('inspector.view.run.trims')).toBeGreaterThan(0);
    await expect.poll(() => page.evaluate('inspector.view.steps.length')).toBeLessThanOrEqual(500);
    // where the reader stood is forgotten too: then at the oldest step that is known
    const { at, of } = await position(page);
    expect(at).toBeGreaterThan(of - 501);
    await page.keyboard.press('l');
    const counts = page.locator('.chart .count');
    await expect.poll(() => counts.allTextContents()).toContain('600×');
    await page.context().close();
    await inspector.close();
  });
});
